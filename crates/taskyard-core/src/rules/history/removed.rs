//! A task that the journal knows and the list no longer holds.

use crate::{Entry, Image, Op, Revision, Task, Timestamp};

/// Why a task that the journal knows is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absence {
    /// Another program removed it, or an undo took away what a restore had brought back. No agent deleted it on purpose.
    Missing,
    /// An agent deleted it or cleared the list with Taskyard.
    Deleted,
    /// It moved to another list.
    Moved,
    /// It got another number.
    Renumbered,
    /// It was not there yet: its making was taken back.
    Unmade,
    /// Another program put a different task under its number.
    Replaced,
}

/// A task that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The task as it last was.
    pub task: Task,
    /// The exact form it had.
    pub image: Image,
    /// Why it is not there.
    pub absence: Absence,
    /// The entry by which it went. Where no reader has noticed that yet, the last one it was there in.
    pub entry: Entry,
    /// The first revision that has it no more.
    pub since: Revision,
    /// When it was last known to be there.
    pub(crate) last_seen: Timestamp,
}

impl Removed {
    /// Tells whether no agent meant the task to go, and its number is free.
    pub fn is_missing(&self) -> bool {
        self.absence == Absence::Missing
    }

    /// Tells whether the task went as Claude Code deletes: nothing is damaged, though no agent deleted it with Taskyard.
    pub fn is_deleted_elsewhere(&self) -> bool {
        self.is_missing() && self.entry.op == Op::DeletedElsewhere
    }

    /// Tells whether another task has its number.
    pub fn is_replaced(&self) -> bool {
        self.absence == Absence::Replaced
    }
}
