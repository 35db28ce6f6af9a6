//! A home of a test's own, in which commands and servers run.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Program};

use crate::stdio::Piped;

/// The flags for the rules of both recorded releases of the client.
pub(crate) const CLIENTS: [&str; 2] =
    ["--rules client --client-version 2.1.34", "--rules client --client-version 2.1.325"];

/// The flags for each of the three rule sets.
pub(crate) const RULES: [&str; 3] = ["--rules strict", CLIENTS[0], CLIENTS[1]];

/// The directory of the list `L`, in the home.
pub(crate) const FOLDER: &str = ".claude/tasks/L";

/// A home with the binary. Commands work on the list `L` unless a test says otherwise.
pub(crate) struct Site {
    pub(crate) home: Home,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { home: Home::new(env!("CARGO_BIN_EXE_taskyard")) }
    }

    /// Has commands that name no rules follow the strict ones.
    pub(crate) fn strict(self) -> Self {
        Self { home: self.home.strict() }
    }

    /// Returns a command; words are divided at spaces, the last ones are taken as they are.
    pub(crate) fn command(&self, words: &str, last: &[&str]) -> Program {
        let mut command = self.home.command(words);
        command.args(last);
        command
    }

    /// Runs a command that has to succeed and returns what it printed.
    pub(crate) fn told(&self, words: &str, last: &[&str]) -> String {
        printed(&self.command(words, last).output())
    }

    /// Runs a command that has to succeed and returns its JSON.
    pub(crate) fn json(&self, words: &str, last: &[&str]) -> Value {
        serde_json::from_str(&self.told(&format!("{words} --json"), last)).unwrap()
    }

    /// Starts a server on pipes.
    pub(crate) fn server(&self, flags: &str) -> Piped {
        Piped::start(&self.home, flags).initialized()
    }

    /// Returns a path in the home.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Writes a file and the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Writes task files of the list `L`, each on one line as no client writes it.
    pub(crate) fn put_tasks(&self, ids: &[&str]) {
        for id in ids {
            let task = json!({"id": id, "subject": format!("task {id}"), "description": "d", "status": "pending", "blocks": [], "blockedBy": []});
            self.write(&format!("{FOLDER}/{id}.json"), &task.to_string());
        }
    }

    /// Returns a task file of the list `L`, parsed.
    pub(crate) fn task(&self, id: &str) -> Value {
        serde_json::from_str(&self.read(&format!("{FOLDER}/{id}.json"))).unwrap()
    }

    /// Returns the names in a directory, in order.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns what a command printed that has succeeded.
pub(crate) fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}
