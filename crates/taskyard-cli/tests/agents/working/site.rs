//! A home with tasks in it, and workers that run a line of shell for each.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;
use taskyard_testkit::{Home, Process, Program, Ran, wait_until};

/// A home of a test's own. Commands run in it, and so do the lines of shell.
pub(crate) struct Site {
    pub(crate) home: Home,
}

impl Site {
    /// Returns a home with so many tasks, `one` being the first.
    pub(crate) fn with(tasks: &[&str]) -> Self {
        Self::on(Home::new(env!("CARGO_BIN_EXE_taskyard")), tasks)
    }

    /// Returns a home in which these tasks are created.
    pub(crate) fn on(home: Home, tasks: &[&str]) -> Self {
        for task in tasks {
            home.ask(&format!("create {task}"));
        }
        Self { home }
    }

    /// Writes the user's hooks.
    pub(crate) fn settings(self, settings: &Value) -> Self {
        let folder = self.path(".claude");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        self
    }

    /// Writes the user's configuration.
    pub(crate) fn configure(&self, text: &str) {
        let folder = self.path(".config/taskyard");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("taskyard.toml"), text).unwrap();
    }

    /// Returns `taskyard work` with these flags and a line of shell, which finds our binary as `$TASKYARD`.
    pub(crate) fn work(&self, flags: &str, line: &str) -> Program {
        let mut command = self.home.command(&format!("work {flags} -- sh -c"));
        command.arg(line).env("TASKYARD", env!("CARGO_BIN_EXE_taskyard"));
        command
    }

    /// Works to the end.
    pub(crate) fn worked(&self, flags: &str, line: &str) -> Ran {
        self.work(flags, line).run()
    }

    /// Starts to work.
    pub(crate) fn start(&self, flags: &str, line: &str) -> Worker {
        Worker(self.work(flags, line).start())
    }

    /// Returns a path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Waits until there is a file with something in it, and returns that.
    pub(crate) fn await_file(&self, name: &str) -> String {
        let mut contents = String::new();
        wait_until(name, || {
            contents = fs::read_to_string(self.path(name)).unwrap_or_default();
            contents.ends_with('\n')
        });
        contents.trim_end().to_owned()
    }

    /// Lets a line of shell go on that waits for a file.
    pub(crate) fn allow(&self, name: &str) {
        fs::write(self.path(name), "\n").unwrap();
    }

    /// Returns a task as it is.
    pub(crate) fn task(&self, id: &str) -> Value {
        self.home.ask(&format!("show {id}"))["task"].clone()
    }

    /// Returns what was noted about a task.
    pub(crate) fn notes(&self, id: &str) -> Vec<String> {
        let notes = self.task(id)["metadata"]["notes"].as_array().cloned().unwrap_or_default();
        notes.iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the verbs of a task's journal, each with who did it.
    pub(crate) fn history(&self, id: &str) -> Vec<String> {
        let entries = self.home.ask(&format!("history {id}"))["entries"].as_array().unwrap().clone();
        let told = |entry: &Value| format!("{} {}", entry["actor"].as_str().unwrap(), entry["op"].as_str().unwrap());
        entries.iter().map(told).collect()
    }
}

/// A `work` that runs. A test that fails leaves none behind.
pub(crate) struct Worker(Process);

impl Worker {
    pub(crate) fn of(process: Process) -> Self {
        Self(process)
    }

    /// Returns the id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn send(&self, signal: Signal) {
        self.0.signal(signal);
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Ran {
        taskyard_testkit::finishes(move || self.0.end())
    }
}

/// Waits until a process has ended.
pub(crate) fn await_end_of(pid: &str) {
    wait_until(&format!("the end of process {pid}"), || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
    });
}
