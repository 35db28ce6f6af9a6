//! Counting a list.

use taskyard_core::{Revision, TaskId};

use crate::{Error, Yard};

/// A list in numbers. Internal tasks are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many tasks are pending, in progress, completed.
    pub counts: [usize; 3],
    /// How many can start now.
    pub ready: usize,
    /// How many open tasks wait for others.
    pub blocked: usize,
    /// How many of the completed were cancelled.
    pub cancelled: usize,
    /// How many tasks each owner has, pending, in progress and completed; by name.
    pub owners: Vec<(String, [usize; 3])>,
    /// How many open tasks have each stated priority, the highest first.
    pub priorities: Vec<(String, usize)>,
    /// How many tasks have each tag, the most frequent first.
    pub tags: Vec<(String, usize)>,
    /// How many things among the tasks cannot be read.
    pub unreadable: usize,
    /// How many edges there are.
    pub edges: usize,
    /// The longest chain of open tasks, each waiting for the one before.
    pub longest_chain: Vec<TaskId>,
    /// The newest commit counted.
    pub revision: Revision,
}

impl Yard {
    /// Counts the list.
    pub fn stats(&self) -> Result<Stats, Error> {
        todo!()
    }
}
