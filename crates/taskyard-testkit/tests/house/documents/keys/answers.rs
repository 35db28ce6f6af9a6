//! What the program answered, from the snapshots that its tests compare.

use std::fs;

use serde_json::Value;

use crate::documents::page::{files, root};

const HIDDEN_NUMBERS: [&str; 4] = [":[pid]", ":[ms]", ":[bytes]", ":[moment]"];

/// One object that a command wrote.
pub(super) struct Answer {
    /// What was typed after `taskyard`.
    pub(super) line: String,
    pub(super) value: Value,
}

impl Answer {
    pub(super) fn all() -> Vec<Self> {
        let mut paths = Vec::new();
        files(&root().join("crates/taskyard-cli/tests/snapshots"), ".snap", &mut paths);
        let mut answers = Vec::new();
        for path in paths {
            let text = fs::read_to_string(root().join(&path)).unwrap();
            let mut line = "";
            for row in text.lines() {
                if let Some(typed) = row.strip_prefix("$ ") {
                    line = typed;
                } else if row.starts_with("{\"schema\":\"taskyard/1\"") {
                    // Snapshots hide what differs from run to run, numbers too.
                    let row = HIDDEN_NUMBERS.iter().fold(row.to_owned(), |row, hidden| row.replace(hidden, ":0"));
                    let value = serde_json::from_str(&row).unwrap_or_else(|error| panic!("{path}: {error}\n{row}"));
                    answers.push(Self { line: line.trim_start_matches("taskyard ").to_owned(), value });
                }
            }
        }
        answers
    }

    /// Tells whether this is an answer of a command as the page names it: its words, and its flags.
    pub(super) fn is_of(&self, command: &str) -> bool {
        let typed: Vec<&str> = self.line.split(' ').collect();
        let named: Vec<&str> = command.split(' ').collect();
        // Words come first, and flags anywhere.
        let (words, flags) = named.split_at(named.iter().position(|word| word.starts_with('-')).unwrap_or(named.len()));
        let first = typed.iter().position(|word| !word.starts_with('-')).unwrap_or(typed.len());
        let is_typed = |flag: &&str| {
            typed.iter().any(|word| word == flag || word.strip_prefix(*flag).is_some_and(|rest| rest.starts_with('=')))
        };
        typed[first..].starts_with(words) && flags.iter().all(is_typed)
    }
}
