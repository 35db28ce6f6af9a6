//! Looking at one task and what surrounds it.

use taskyard_core::{Entry, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// A task and what surrounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The task.
    pub task: Task,
    /// The open tasks it waits for.
    pub open_blockers: Vec<Task>,
    /// The tasks that wait for it.
    pub dependents: Vec<Task>,
    /// Its parts, by number.
    pub subtasks: Vec<Task>,
    /// Its newest journal entry.
    pub changed: Option<Entry>,
}

impl Yard {
    /// Returns one task in full.
    pub fn show(&self, _id: &TaskId) -> Result<Outcome<Shown>, Error> {
        todo!()
    }
}
