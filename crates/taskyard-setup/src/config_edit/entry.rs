//! What is ours in a configuration file.

use serde_json::{Value, json};

use super::Additions;

/// An entry of ours: where it stands, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The names that lead to it: to the member itself, or to the array it stands in.
    pub path: Vec<String>,
    /// What it is.
    pub what: What,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A member with this value.
    Member(Value),
    /// A member whose name other programs use, too: it is ours only where we put it there, and as long as it has the value we gave it.
    Setting(Value),
    /// A word in an array.
    Word(String),
    /// A hook of Claude Code in an array of groups, known by its command.
    Hook {
        /// The command.
        command: String,
        /// After how many seconds the client gives up on it.
        timeout: u32,
    },
}

/// What came of adding an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there, as it would be added.
    AlreadyThere,
    /// Something of its name is there, with another value. It is left as it is.
    ThereOtherwise,
    /// It was added.
    Now {
        /// The text with the entry.
        text: String,
        /// What of it is new.
        additions: Additions,
        /// How many of the names that lead to it were there before.
        existing: usize,
    },
}

impl Entry {
    /// Returns a member.
    pub fn member(path: &[&str], value: Value) -> Self {
        Self { path: owned(path), what: What::Member(value) }
    }

    /// Returns a setting.
    pub fn setting(path: &[&str], value: Value) -> Self {
        Self { path: owned(path), what: What::Setting(value) }
    }

    /// Returns a word in an array.
    pub fn word(path: &[&str], word: &str) -> Self {
        Self { path: owned(path), what: What::Word(word.to_owned()) }
    }

    /// Returns a hook.
    pub fn hook(path: &[&str], command: &str, timeout: u32) -> Self {
        Self { path: owned(path), what: What::Hook { command: command.to_owned(), timeout } }
    }

    /// Returns the name of the entry, with those around it, to tell people of it.
    pub fn name(&self) -> String {
        match &self.what {
            What::Member(_) | What::Setting(_) => self.path.join("."),
            What::Word(word) => format!("{}: {word}", self.path.join(".")),
            What::Hook { command, .. } => format!("{}: {command}", self.path.join(".")),
        }
    }

    /// Tells whether it is a member of an object, not something in an array.
    pub fn is_member(&self) -> bool {
        matches!(self.what, What::Member(_) | What::Setting(_))
    }

    /// Returns what is written down.
    pub(super) fn value(&self) -> Value {
        match &self.what {
            What::Member(value) | What::Setting(value) => value.clone(),
            What::Word(word) => json!(word),
            What::Hook { command, timeout } => {
                json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]})
            }
        }
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|name| (*name).to_owned()).collect()
}
