//! What is to happen to the files of an agent.

use std::path::{Path, PathBuf};

use crate::config_edit::ChangedLine;

use super::record::Record;

/// What is to happen to the files of an agent, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Each file, those that stay as they are included.
    pub changes: Vec<Change>,
}

/// What is to happen to one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file, as the agent knows it.
    pub path: PathBuf,
    /// What becomes of it.
    pub outcome: Outcome,
    /// The lines that change, with some around them.
    pub lines: Vec<ChangedLine>,
    /// The entries that were there already in another form, and are left so.
    pub otherwise: Vec<String>,
    /// The file itself, behind all symbolic links.
    pub(super) real: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// What is kept to take it back; none where there is nothing to take back any more.
    pub(super) record: Option<Record>,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is made.
    Created,
    /// It is edited.
    Changed,
    /// It is removed.
    Removed,
    /// It stays as it is.
    Unchanged,
}

impl Outcome {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Plan {
    /// Tells whether any file is to change.
    pub fn changes_anything(&self) -> bool {
        self.changes.iter().any(|change| change.outcome != Outcome::Unchanged)
    }
}

impl Change {
    /// Returns the file with a text before and after; either may be missing.
    pub(super) fn new(
        path: &Path,
        real: PathBuf,
        [before, after]: [Option<String>; 2],
        lines: Vec<ChangedLine>,
        record: Option<Record>,
    ) -> Self {
        let outcome = match (&before, &after) {
            (before, after) if before == after => Outcome::Unchanged,
            (None, _) => Outcome::Created,
            (_, None) => Outcome::Removed,
            _ => Outcome::Changed,
        };
        Self { path: path.to_owned(), outcome, lines, otherwise: Vec::new(), real, before, after, record }
    }
}
