//! Moving tasks from one list to another.

use taskyard_core::{ListId, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// Which tasks move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWhich {
    /// Every task.
    All,
    /// Every visible task that is not completed.
    Open,
}

/// Tasks that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Each task's old and new id.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// The tasks as they are now, in the list they came to.
    pub tasks: Vec<Task>,
    /// The edges to tasks that stayed behind, each from the task that waited to the one it waited for, by their old ids.
    pub dropped_edges: Vec<(TaskId, TaskId)>,
}

impl Yard {
    /// Moves tasks between two lists with new numbers and rewritten edges, on both lists or on neither.
    pub fn merge(&self, _from: &ListId, _into: &ListId, _which: MergeWhich) -> Result<Outcome<Merged>, Error> {
        todo!()
    }
}
