//! What can start now.

use taskyard_core::{Task, TaskId};

use crate::{Error, Yard};

/// A task that can start now, and why it stands where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The task.
    pub task: Task,
    /// Why, in words: "high priority; unblocks 3 tasks (chain of 2)".
    pub why: String,
    /// How many open tasks stand in the longest chain behind it.
    pub chain: usize,
    /// The open tasks that wait for it directly.
    pub unblocks: Vec<TaskId>,
}

impl Yard {
    /// Returns what can start now, best first: by priority, then by the chain behind it, then by number.
    pub fn ready(&self, _limit: Option<usize>) -> Result<Vec<Ranked>, Error> {
        todo!()
    }
}
