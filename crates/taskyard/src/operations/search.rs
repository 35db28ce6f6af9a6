//! Finding tasks by words.

use taskyard_core::Task;
use taskyard_core::rules::patching::Field;

use crate::{Error, Yard};

/// A task in which every word was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The task.
    pub task: Task,
    /// The field that answers best.
    pub field: Field,
    /// The part of that field around the first word found in it.
    pub excerpt: String,
}

impl Yard {
    /// Returns the visible tasks in which every word occurs somewhere, best first.
    pub fn search(&self, _words: &str, _internal: bool) -> Result<Vec<Hit>, Error> {
        todo!()
    }
}
