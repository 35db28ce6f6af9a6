//! Our entry in a configuration file, the parts of the text that are ours, and why a file cannot be edited.

use std::ops::Range;

use serde_json::{Value, json};

/// Our entry: its path and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path to the member itself, or to the array that contains it.
    pub path: Vec<String>,
    /// What it is.
    pub what: What,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A member with this value.
    Member(Value),
    /// A member whose name other programs also use: it is ours only if we added it and it still has our value.
    Setting(Value),
    /// A word in an array.
    Word(String),
    /// A hook of Claude Code in an array of groups, known by its command.
    Hook {
        /// The command.
        command: String,
        /// The client's timeout for it in seconds.
        timeout: u32,
    },
}

/// The result of adding an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It already exists in the form that would be added.
    AlreadyThere,
    /// An entry with its name exists with a different value, and is not changed.
    ThereOtherwise,
    /// It was added.
    Now {
        /// The text with the entry.
        text: String,
        /// The added parts.
        additions: Additions,
        /// How many elements of its path existed before.
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

    /// Returns the full name of the entry, for messages.
    pub fn name(&self) -> String {
        match &self.what {
            What::Member(_) | What::Setting(_) => self.path.join("."),
            What::Word(word) => format!("{}: {word}", self.path.join(".")),
            What::Hook { command, .. } => format!("{}: {command}", self.path.join(".")),
        }
    }

    /// Returns whether it is a member of an object, not an element of an array.
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

/// The parts that were added to a shorter text, in order and not adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    ranges: Vec<Range<usize>>,
}

impl Additions {
    /// Accepts parts in any order; adjacent or overlapping parts are merged.
    pub fn new(mut ranges: Vec<Range<usize>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self { ranges: merged }
    }

    /// Inserts texts at positions of a text, in ascending order, and returns the longer text and the added parts.
    pub(crate) fn insert(text: &str, insertions: &[(usize, String)]) -> (String, Self) {
        let mut longer = String::with_capacity(text.len() + insertions.iter().map(|(_, new)| new.len()).sum::<usize>());
        let mut ranges = Vec::new();
        let mut done = 0;
        for (at, new) in insertions {
            longer.push_str(&text[done..*at]);
            ranges.push(longer.len()..longer.len() + new.len());
            longer.push_str(new);
            done = *at;
        }
        longer.push_str(&text[done..]);
        (longer, Self::new(ranges))
    }

    /// Returns the parts.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns the longer text without the added parts, or `None` if the parts do not fit the text.
    pub fn take_out(&self, longer: &str) -> Option<String> {
        let mut shorter = String::with_capacity(longer.len());
        let mut done = 0;
        for range in &self.ranges {
            shorter.push_str(longer.get(done..range.start)?);
            done = range.end;
        }
        shorter.push_str(longer.get(done..)?);
        Some(shorter)
    }

    /// Combines the parts added in two steps, relative to the text after the second step.
    #[must_use]
    pub fn then(self, later: &Self) -> Self {
        let moved = |place: usize| {
            later
                .ranges
                .iter()
                .fold(place, |place, range| if range.start <= place { place + range.len() } else { place })
        };
        let ranges = self.ranges.into_iter().map(|range| moved(range.start)..moved(range.end - 1) + 1);
        Self::new(ranges.chain(later.ranges.iter().cloned()).collect())
    }

    /// Returns the same parts, shifted by a number of bytes.
    #[must_use]
    pub(crate) fn shifted(self, by: usize) -> Self {
        Self { ranges: self.ranges.into_iter().map(|range| range.start + by..range.end + by).collect() }
    }
}

/// Returns the kind of line end that a text uses, judged by its first one.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the start of the line that contains a position.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the spaces and tabs that the line of a place begins with.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Tells whether nothing but spaces and tabs stands before a place on its line.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Why a configuration file is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It cannot be read.
    #[error("line {line}: {why}")]
    Unreadable {
        /// Where reading it failed.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// Something in it is not what its readers need.
    #[error("line {line}: `{key}` is not {expected}")]
    Shape {
        /// Where it stands.
        line: usize,
        /// Its name, with those around it; empty for the whole file.
        key: String,
        /// What it would have to be.
        expected: &'static str,
    },
    /// It is written in a way in which nothing can be added or taken out without touching the rest.
    #[error("line {line}: `{key}` is written in a way that cannot be edited safely")]
    Odd {
        /// Where it stands.
        line: usize,
        /// Its name, with those around it.
        key: String,
    },
}

/// Returns the line, counted from one, that a place of a text is in.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::Additions;

    #[test]
    fn what_was_inserted_can_be_taken_out() {
        let (longer, added) =
            Additions::insert("ab", &[(0, "1".into()), (1, "22".into()), (1, "3".into()), (2, "4".into())]);
        assert_eq!(longer, "1a223b4");
        assert_eq!(added.ranges(), [0..1, 2..5, 6..7]);
        assert_eq!(added.take_out(&longer).as_deref(), Some("ab"));
        assert_eq!(added.take_out("1a"), None);
    }

    #[test]
    fn two_steps_are_one_addition() {
        let (first, one) = Additions::insert("abc", &[(1, "[]".into()), (3, "!".into())]);
        let (second, two) = Additions::insert(&first, &[(0, "^".into()), (2, "xx".into()), (6, "?".into())]);
        assert_eq!(second, "^a[xx]bc!?");
        assert_eq!(one.then(&two).take_out(&second).as_deref(), Some("abc"));
    }
}
