//! What there is to choose from.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap_complete::engine::CompletionCandidate;
use taskyard::core::render::{escaping, state_in_words};
use taskyard::core::rules::agents::naming::is_same_agent;
use taskyard::core::rules::changes::notes::participants;
use taskyard::core::{Entry, Task};
use taskyard::process::Cancel;
use taskyard::store::HistoryQuery;

use crate::arguments::Globals;
use crate::context::Context;
use crate::environment::Environment;
use crate::problem::Problem;

/// So many are offered at once.
const MOST: usize = 1000;

/// So many revisions are.
const REVISIONS: usize = 30;

/// Where candidates come from: the list that the line so far is about.
#[derive(Clone, Debug)]
pub(super) struct Source(Arc<(Globals, Environment)>);

/// Which tasks a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tasks {
    /// All of them, the open ones first.
    All,
    /// Those that are not completed.
    Open,
    /// Those that are.
    Completed,
}

impl Tasks {
    /// Returns the tasks that an argument of a command is about.
    pub(super) fn of(command: &str, argument: &str) -> Self {
        match (command, argument) {
            ("start" | "done" | "cancel" | "claim" | "release" | "renew", _) => Self::Open,
            ("reopen", _) => Self::Completed,
            _ => Self::All,
        }
    }
}

impl Source {
    pub(super) fn new(globals: Globals, environment: Environment) -> Self {
        Self(Arc::new((globals, environment)))
    }

    fn context(&self) -> Context {
        let (globals, environment) = &*self.0;
        Context::new(globals.clone(), environment.clone(), Cancel::new())
    }

    fn present(&self) -> Result<Vec<Task>, Problem> {
        let context = self.context();
        let list = context.choice()?.list;
        Ok(context.store()?.read(&list)?.tasks()?)
    }

    /// Returns tasks by their numbers, with their titles.
    pub(super) fn tasks(&self, which: Tasks) -> Vec<CompletionCandidate> {
        let mut tasks = self.present().unwrap_or_default();
        tasks.retain(|task| !task.is_internal());
        tasks.retain(|task| which == Tasks::All || task.status.is_open() == (which == Tasks::Open));
        tasks.sort_by_key(|task| !task.status.is_open());
        tasks.truncate(MOST);
        let about = |task: &Task| match task.status.is_open() && task.owner().is_none() {
            true => task.shown_subject().into_owned(),
            false => {
                let whose = task.owner().map(|owner| format!(", {owner}")).unwrap_or_default();
                format!("{} [{}{whose}]", task.shown_subject(), state_in_words(task))
            }
        };
        tasks.iter().map(|task| candidate(task.id.as_str(), Some(&about(task)))).collect()
    }

    /// Returns the tasks that could be restored.
    pub(super) fn missing(&self) -> Vec<CompletionCandidate> {
        let restorable = self.context().yard().and_then(|yard| Ok(yard.restorable()?)).unwrap_or_default();
        let tasks = restorable.iter().take(MOST).map(|restorable| &restorable.task);
        tasks.map(|task| candidate(task.id.as_str(), Some(&task.shown_subject()))).collect()
    }

    /// Returns the tags in use.
    pub(super) fn tags(&self) -> Vec<CompletionCandidate> {
        let tasks = self.present().unwrap_or_default();
        let tags: BTreeSet<&str> = tasks.iter().flat_map(Task::tags).collect();
        tags.into_iter().map(|tag| candidate(tag, None)).collect()
    }

    /// Returns the roles that tasks are for.
    pub(super) fn roles(&self) -> Vec<CompletionCandidate> {
        let tasks = self.present().unwrap_or_default();
        let allowed = tasks.iter().filter_map(|task| task.meta("assignable_to")?.as_array()).flatten();
        let roles: BTreeSet<&str> = allowed.filter_map(|name| name.as_str()?.strip_prefix("role:")).collect();
        roles.into_iter().map(|role| candidate(role, None)).collect()
    }

    /// Returns who owns tasks, noted on them, or is in a team.
    pub(super) fn agents(&self) -> Vec<CompletionCandidate> {
        let context = self.context();
        let tasks = self.present().unwrap_or_default();
        let mut names: BTreeSet<String> = tasks
            .iter()
            .flat_map(participants)
            .map(str::to_owned)
            .chain(context.actor().ok().map(|name| name.to_string()))
            .collect();
        let teams = context.teams().and_then(|teams| Ok(teams.list()?)).unwrap_or_default();
        for member in teams.iter().flat_map(|team| &team.members) {
            if !names.iter().any(|name| is_same_agent(name, &member.name)) {
                names.insert(member.name.clone());
            }
        }
        names.iter().map(|name| candidate(name, None)).collect()
    }

    /// Returns the lists of the store, with how many tasks are open in each.
    pub(super) fn lists(&self) -> Vec<CompletionCandidate> {
        let lists = self.context().store().and_then(|store| Ok(store.lists()?)).unwrap_or_default();
        let about = |[pending, in_progress, completed]: [usize; 3]| {
            format!("{} open, {completed} completed", pending + in_progress)
        };
        lists.iter().take(MOST).map(|info| candidate(info.list.as_str(), Some(&about(info.counts)))).collect()
    }

    /// Returns the teams, with who is in them.
    pub(super) fn teams(&self) -> Vec<CompletionCandidate> {
        let teams = self.context().teams().and_then(|teams| Ok(teams.list()?)).unwrap_or_default();
        let members = |team: &taskyard::core::Team| {
            team.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        teams.iter().map(|team| candidate(team.name.as_str(), Some(&members(team)))).collect()
    }

    /// Returns the jobs, those that run first.
    pub(super) fn jobs(&self) -> Vec<CompletionCandidate> {
        let mut jobs = self.context().jobs().and_then(|jobs| Ok(jobs.list()?)).unwrap_or_default();
        jobs.sort_by_key(|job| job.state().is_over());
        let about = |job: &taskyard::core::Job| format!("{} [{}]", job.description, job.state().as_str());
        jobs.iter().take(MOST).map(|job| candidate(job.id.as_str(), Some(&about(job)))).collect()
    }

    /// Returns the newest revisions, with what each did.
    pub(super) fn revisions(&self) -> Vec<CompletionCandidate> {
        let context = self.context();
        let query = HistoryQuery { newest: Some(REVISIONS), ..HistoryQuery::default() };
        let entries = context.yard().and_then(|yard| Ok(yard.history(&query)?)).unwrap_or_default();
        let about = |entry: &Entry| {
            format!("{} {} #{}", entry.actor, taskyard::core::render::op_in_words(entry.op), entry.task)
        };
        let mut entries: Vec<&Entry> =
            entries.chunk_by(|one, two| one.revision == two.revision).filter_map(<[_]>::first).collect();
        entries.reverse();
        entries.iter().map(|entry| candidate(&entry.revision.to_string(), Some(&about(entry)))).collect()
    }

    /// Returns what a query can be made of.
    pub(super) fn query_words(&self) -> Vec<CompletionCandidate> {
        let mut words: Vec<CompletionCandidate> =
            ["ready", "blocked", "overdue", "deferred", "not", "or", "older:2d", "changed:1h", "due:1w"]
                .map(CompletionCandidate::new)
                .into();
        for (key, values) in
            [("status", ["pending", "in_progress", "completed"]), ("priority", ["high", "medium", "low"])]
        {
            words.extend(values.map(|value| CompletionCandidate::new(format!("{key}:{value}"))));
        }
        for (key, found) in [("tag", self.tags()), ("owner", self.agents())] {
            words.extend(found.into_iter().map(|found| found.add_prefix(format!("{key}:"))));
        }
        words
    }
}

/// Returns a candidate; whatever could steer a terminal is escaped in what is shown.
fn candidate(value: &str, about: Option<&str>) -> CompletionCandidate {
    let about = about.map(|about| escaping::one_line(about).into_owned());
    CompletionCandidate::new(value).help(about.map(Into::into))
}
