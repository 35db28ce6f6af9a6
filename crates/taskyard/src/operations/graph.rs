//! The tasks of a list with their edges, to be drawn.

use taskyard_core::Task;

use crate::{Error, Yard};

/// Everything a drawing of the list needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The visible tasks, by number.
    pub tasks: Vec<Task>,
}

impl Yard {
    /// Returns the visible tasks of the list.
    pub fn graph(&self) -> Result<Graph, Error> {
        let mut tasks = self.look()?.tasks;
        tasks.retain(|task| !task.is_internal());
        Ok(Graph { tasks })
    }
}
