//! How a task is named.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The name of a task within its list: the stem of its file, in nearly every case a number.
///
/// Ids that people and agents type go through [`TaskId::from_str`], which accepts only what the client can store.
/// An id found inside a file (in `blockedBy`, say) may hold anything; [`TaskId::file_stem`] is the only way from an id to a
/// file name, and it replaces what is unsafe exactly as the client does.
#[derive(Clone)]
pub struct TaskId {
    text: String,
    /// The number, read once: ids are compared far more often than they are made.
    number: Option<u64>,
}

/// Text that cannot name a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTaskId {
    /// Nothing was given.
    #[error("a task id cannot be empty")]
    Empty,
    /// A character that no task file name has.
    #[error("`{}` is no task id: it may hold letters, digits, `_` and `-` only", .text.escape_debug())]
    Character {
        /// What was given.
        text: String,
    },
    /// Longer than a file name can be.
    #[error("a task id of {length} bytes is too long (the limit is {})", TaskId::LONGEST)]
    TooLong {
        /// The length that was given.
        length: usize,
    },
}

impl TaskId {
    /// The longest id that leaves room for `.json.lock` in a file name.
    pub(crate) const LONGEST: usize = 240;

    /// Returns the id of a numbered task.
    pub fn number(number: u64) -> Self {
        Self { text: number.to_string(), number: Some(number) }
    }

    /// Takes an id as it stands in a file, whatever it holds.
    pub fn stored(text: impl Into<String>) -> Self {
        let text = text.into();
        let number = canonical_number(&text);
        Self { text, number }
    }

    /// Takes any text for an id the way the client does: unsafe characters become `-`.
    pub fn sanitized(text: &str) -> Self {
        Self::stored(crate::list::sanitize(text))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the id as a number, where it is the canonical form of one (`7`, not `07` or `7x`).
    pub const fn as_number(&self) -> Option<u64> {
        self.number
    }

    /// Returns the file name stem of this task, safe whatever the id holds.
    pub fn file_stem(&self) -> String {
        crate::list::sanitize(&self.text)
    }
}

fn canonical_number(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
}

impl fmt::Debug for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{}", self.text)
    }
}

impl PartialEq for TaskId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for TaskId {}

impl Hash for TaskId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl FromStr for TaskId {
    type Err = BadTaskId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // People copy ids with the mark that every display puts before them.
        let text = text.strip_prefix('#').unwrap_or(text);
        if text.is_empty() {
            return Err(BadTaskId::Empty);
        }
        if text.len() > Self::LONGEST {
            return Err(BadTaskId::TooLong { length: text.len() });
        }
        if !text.bytes().all(crate::list::is_safe_byte) {
            return Err(BadTaskId::Character { text: text.to_owned() });
        }
        Ok(Self::stored(text))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Ord for TaskId {
    /// Numbers rise; names that are no number come after them, by bytes.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_number(), other.as_number()) {
            (Some(one), Some(two)) => one.cmp(&two),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::{BadTaskId, TaskId};

    #[test]
    fn numbers_come_first_and_rise() {
        let mut ids: Vec<TaskId> = ["abc", "10", "2", "12x", "1"].map(TaskId::stored).to_vec();
        ids.sort();
        assert_eq!(ids, ["1", "2", "10", "12x", "abc"].map(TaskId::stored));
    }

    #[test]
    fn a_path_is_no_task_id() {
        assert!(matches!("../../x".parse::<TaskId>(), Err(BadTaskId::Character { .. })));
        assert_eq!(TaskId::stored("../L1/3").file_stem(), "---L1-3");
    }

    #[test]
    fn a_mark_before_the_number_is_taken_off() {
        assert_eq!("#7".parse::<TaskId>().unwrap(), TaskId::number(7));
    }
}
