//! Asking the journal of a list.

use taskyard_core::{AttemptId, Entry, Op, Revision, TaskId, Timestamp};

/// Which part of the journal is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only entries of this task.
    pub task: Option<TaskId>,
    /// Only entries after this revision.
    pub since: Revision,
    /// Only entries up to this revision.
    pub until: Option<Revision>,
    /// Only entries of these verbs; of every verb where none is named.
    pub ops: Vec<Op>,
    /// Only entries by which a task came that was not there before.
    pub only_arrivals: bool,
    /// Only the commit of this attempt.
    pub attempt: Option<AttemptId>,
    /// At most so many revisions of those, the newest.
    pub newest: Option<usize>,
    /// At most so many revisions of those, the oldest. A store may end earlier where they are large, though not before the first one:
    /// only an empty answer says that there are no more. [`super::HistoryPages`] asks for one page after the other.
    pub oldest: Option<usize>,
}

impl HistoryQuery {
    /// Tells whether an entry within a range of revisions may be none that is wanted.
    pub(in crate::store) fn is_choosy(&self) -> bool {
        self.task.is_some() || self.is_choosy_about_deeds()
    }

    /// Tells whether what an entry did decides whether it is wanted.
    pub(in crate::store) fn is_choosy_about_deeds(&self) -> bool {
        !self.ops.is_empty() || self.only_arrivals
    }

    /// Tells whether an entry of the task that is wanted did what is wanted.
    pub(in crate::store) fn wants_deed(&self, entry: &Entry) -> bool {
        let is_arrival = entry.before.is_none() && entry.after.is_some();
        (self.ops.is_empty() || self.ops.contains(&entry.op)) && (is_arrival || !self.only_arrivals)
    }
}

/// The last entry about a task, without what the task was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastEntry {
    /// The task the entry is about.
    pub task: TaskId,
    /// The commit it belongs to.
    pub revision: Revision,
    /// When the commit was made, by the clock of the store.
    pub at: Timestamp,
    /// What was done.
    pub op: Op,
    /// Whether the task was there after it.
    pub leaves_task: bool,
}

impl LastEntry {
    /// Returns an entry without what the task was.
    pub fn of(entry: &Entry) -> Self {
        Self {
            task: entry.task.clone(),
            revision: entry.revision,
            at: entry.at,
            op: entry.op,
            leaves_task: entry.after.is_some(),
        }
    }
}
