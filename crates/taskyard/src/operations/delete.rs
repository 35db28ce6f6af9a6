//! Removing tasks, and the edges that led to them.

use taskyard_core::{Revision, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// Tasks that were removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The tasks as they last were.
    pub tasks: Vec<Task>,
    /// The commit.
    pub revision: Revision,
}

impl Yard {
    /// Removes tasks and every edge to them, in one commit.
    pub fn delete(&self, _ids: &[TaskId]) -> Result<Outcome<Deleted>, Error> {
        todo!()
    }
}
