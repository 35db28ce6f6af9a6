//! What only a store that many machines share needs.

use std::collections::HashSet;
use std::fmt::Debug;
use std::time::Duration;

use taskyard_core::rules::history::elapsed::ClockDoubt;
use taskyard_core::{ListId, Revision, TaskId, Timestamp};

use super::{ArrivingList, ListCopy, ListCopyTarget, StoreError};

/// The care for journals that are not beside files of a machine, beside the [`super::Store`] that keeps them.
pub trait SharedCare: Debug + Send + Sync {
    /// Returns the revision up to which the journal of a list was thinned out: of a revision up to it only a part is left.
    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError>;

    /// Thins out what is old in the journals of all lists, and forgets messages and notices that were heard long ago; or only says what
    /// that would be. What is promised to stay, stays (`docs/design/retention.md`). While the clock is in doubt it does nothing, and says
    /// so.
    fn thin_out(&self, terms: &ThinOut) -> Result<ThinnedOut, StoreError>;

    /// Looks the journal of a list over, changing nothing: at most [`MOST_FAULTS`] of each kind, oldest first. It also tells when the whole
    /// store went back to an earlier state in the last thirty days.
    fn examine(&self, list: &ListId) -> Result<Vec<SharedFault>, StoreError>;

    /// Copies a list as it is at one moment: its tasks as the client's files, and its history as a journal of its own.
    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError>;

    /// Takes a list in with its history, in one commit, if there is none of that name, or the list comes back after it moved away. Returns
    /// false, and does nothing, if there is one. If the commit's answer is lost, it is asked for; [`StoreError::Unavailable`] says that it
    /// could not be found out.
    fn take_in(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError>;

    /// Returns what this process has asked of servers since it began.
    fn traffic(&self) -> Traffic;
}

/// What a process has asked of servers since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How often it waited for an answer.
    pub round_trips: u64,
    /// How often it connected again after a connection or a server had failed.
    pub reconnects: u64,
}

/// How many faults of one kind are told.
pub const MOST_FAULTS: usize = 20;

/// What is wrong with the journal of a list, or has happened to its store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedFault {
    /// Revisions that are missing.
    Gap {
        /// The last one before them.
        after: Revision,
        /// The first one after them.
        before: Revision,
    },
    /// An entry that does not begin with what the entry before it left of the task.
    Mismatch {
        /// The revision of the entry.
        revision: Revision,
        /// The task.
        task: TaskId,
    },
    /// A task that is not as its last entry left it.
    Differs {
        /// The task.
        task: TaskId,
    },
    /// The store went back to an earlier state, or another server took over.
    WentBack {
        /// When that was noticed.
        at: Timestamp,
        /// The list on which it was noticed, with the revision that was known and the one that was found; `None` if another server took
        /// over.
        lost: Option<(String, Revision, Revision)>,
    },
}

/// By which terms a shared store is tidied.
#[derive(Clone, Debug, Default)]
pub struct ThinOut {
    /// For how long everything is kept.
    pub keep: Duration,
    /// The tasks of a list that may go although no agent deleted them on purpose.
    pub named: Option<(ListId, HashSet<TaskId>)>,
    /// Whether everything stays as it is.
    pub is_dry: bool,
    /// Whether someone vouches for the store's clock.
    pub is_confirmed: bool,
}

/// What was thinned out, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThinnedOut {
    /// The lists of which entries went, by name.
    pub lists: Vec<ThinnedList>,
    /// How many messages went that were acknowledged.
    pub messages: usize,
    /// How many notices went that were heard.
    pub notices: usize,
    /// Why nothing went: the store's clock is in doubt.
    pub doubt: Option<ClockDoubt>,
}

/// What went of the journal of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinnedList {
    /// The list.
    pub list: ListId,
    /// How many entries.
    pub entries: u64,
    /// The tasks that were named, and went.
    pub forgotten: Vec<TaskId>,
}
