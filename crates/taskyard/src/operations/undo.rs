//! Taking revisions back.

use taskyard_core::{Revision, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// Which revisions are to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoRange {
    /// The newest that is no undo and has not been taken back.
    Newest,
    /// This one.
    One(Revision),
    /// From the first to the second, both included.
    Range(Revision, Revision),
}

/// Revisions that were taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The revisions, newest first.
    pub revisions: Vec<Revision>,
    /// The commit that took them back.
    pub revision: Revision,
    /// The tasks that changed, as they are now; none where a task is gone.
    pub tasks: Vec<(TaskId, Option<Task>)>,
}

impl Yard {
    /// Takes revisions back, all of them in one commit or none.
    pub fn undo(&self, _range: UndoRange) -> Result<Outcome<Undone>, Error> {
        todo!()
    }
}
