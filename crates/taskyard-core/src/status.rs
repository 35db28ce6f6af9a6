//! The three states a task is stored in.

use std::fmt;
use std::str::FromStr;

/// The state of a task. Deleted is not a state: a deleted task has no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// No agent works on it.
    Pending,
    /// An agent works on it.
    InProgress,
    /// Done, or cancelled (then `metadata.cancelled` is set).
    Completed,
}

impl Status {
    /// Every status, in the order of a task's life.
    pub const ALL: [Self; 3] = [Self::Pending, Self::InProgress, Self::Completed];

    /// Returns the word in task files and JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }

    /// Tells whether a task in this state still blocks the tasks behind it.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Completed)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that names no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no status; use pending, in_progress or completed")]
pub struct UnknownStatus {
    /// What was given.
    pub(crate) word: String,
}

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| UnknownStatus { word: word.to_owned() })
    }
}
