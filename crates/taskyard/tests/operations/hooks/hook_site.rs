//! A home with hooks in it, and a yard over a memory store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use taskyard::config::{Config, Project};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, ListId, Rules, Status, Task, TaskId};
use taskyard::hooks::{HookSetup, HookWarning, Hooks};
use taskyard::operations::NewTask;
use taskyard::process::Cancel;
use taskyard::store::MemoryStore;
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::{list_builder, rules_under_test};
use tempfile::TempDir;

pub(crate) struct HookSite {
    folder: TempDir,
    pub(crate) cancel: Cancel,
    pub(crate) rules: Rules,
}

impl HookSite {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for inner in ["config", "project/.claude"] {
            fs::create_dir_all(folder.path().join(inner)).unwrap();
        }
        Self { folder, cancel: Cancel::new(), rules: rules_under_test() }
    }

    /// Registers commands in the user's settings.
    pub(crate) fn hooks(self, event: &str, commands: &[&str]) -> Self {
        let hooks: Vec<_> = commands.iter().map(|command| json!({"type": "command", "command": command})).collect();
        self.settings(&json!({"hooks": {event: [{"hooks": hooks}]}}).to_string())
    }

    /// Writes the user's settings.
    pub(crate) fn settings(self, text: &str) -> Self {
        fs::write(self.path("config/settings.json"), text).unwrap();
        self
    }

    /// Writes the user's `taskyard.toml`.
    pub(crate) fn config(self, text: &str) -> Self {
        fs::write(self.path("user.toml"), text).unwrap();
        self
    }

    /// Writes the project's `taskyard.toml`.
    pub(crate) fn project_config(self, text: &str) -> Self {
        fs::write(self.path("project/taskyard.toml"), text).unwrap();
        self
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what a command wrote to a file of the project.
    pub(crate) fn written(&self, name: &str) -> String {
        fs::read_to_string(self.path("project").join(name)).unwrap_or_default()
    }

    pub(crate) fn setup(&self) -> HookSetup {
        let (user, directory) = (self.path("user.toml"), self.path("project"));
        let project = Project { directory: &directory, below: None, names: &Vec::new, is_trusted: &|| Ok(false) };
        HookSetup {
            client_config: Some(self.path("config")),
            project: self.path("project"),
            directory: self.path("project"),
            config: Config::load(Some(&user), Some(&project)).unwrap(),
            data: Some(self.path("data")),
            environment: Vec::new(),
            session: Some("s-1".to_owned()),
            teammate: None,
            rules: self.rules,
            turn: None,
        }
    }

    /// Returns a yard over a list written in one line, with the hooks of this site.
    pub(crate) fn yard(&self, line: &str) -> Yard {
        let store = Arc::new(MemoryStore::new(self.rules));
        let list = ListId::new("L").unwrap();
        if !line.is_empty() {
            list_builder::fill(&*store, &list, line);
        }
        let hooks = Arc::new(Hooks::new(self.setup(), self.cancel.clone()));
        Yard::new(store, list, AgentName::new("ana").unwrap()).with_rules(self.rules).with_hooks(hooks)
    }
}

pub(crate) fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

pub(crate) fn new(subject: &str) -> NewTask {
    NewTask { subject: subject.to_owned(), ..NewTask::default() }
}

pub(crate) fn find(yard: &Yard, number: u64) -> Option<Task> {
    yard.store().read(yard.list_id()).unwrap().find(&id(number)).unwrap().task()
}

pub(crate) fn status(yard: &Yard, number: u64) -> Status {
    find(yard, number).unwrap().status
}

pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<Outcome<T>, Error>) -> Refusal {
    match outcome.unwrap() {
        Outcome::Refused(refusal) => refusal,
        Outcome::Done(done) => panic!("this should have been refused: {done:?}"),
    }
}

/// Returns the feedback of the hooks that refused.
pub(crate) fn feedback<T: std::fmt::Debug>(outcome: Result<Outcome<T>, Error>) -> String {
    match refused(outcome) {
        Refusal::HookBlocked { feedback, .. } => feedback,
        other => panic!("no hook refused this: {other}"),
    }
}

pub(crate) fn notices(yard: &Yard) -> Vec<HookWarning> {
    yard.hooks().unwrap().take_warnings()
}

/// Tells whether a process is there and no zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).is_some_and(|state| state != 'Z' && state != 'X')
}
