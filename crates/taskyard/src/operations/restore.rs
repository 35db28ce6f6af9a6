//! Bringing removed tasks back.

use taskyard_core::{Entry, Revision, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// A removed task that can be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restorable {
    /// The task as it last was.
    pub task: Task,
    /// The entry that removed it.
    pub removed: Entry,
}

/// Which removed tasks are to be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreWhich {
    /// Every one there is.
    All,
    /// These.
    Some(Vec<TaskId>),
}

/// Tasks that were brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The tasks as they are now.
    pub tasks: Vec<Task>,
    /// The edges that could not come back, each from the task that waited to the one it waited for.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
    /// The commit; none where there was nothing to bring back.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Returns the tasks that were removed, here or elsewhere, by number.
    pub fn restorable(&self) -> Result<Vec<Restorable>, Error> {
        todo!()
    }

    /// Brings removed tasks back, with their numbers and edges, in one commit.
    pub fn restore(&self, _which: RestoreWhich) -> Result<Outcome<Restored>, Error> {
        todo!()
    }
}
