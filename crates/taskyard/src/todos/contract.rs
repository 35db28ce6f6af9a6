//! What a place that keeps todo lists promises.

use std::fmt;

use taskyard_core::Todo;

use super::TodoError;

/// Whose todo list it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TodoOwner {
    /// The session.
    pub session: String,
    /// The agent in it.
    pub agent: String,
}

/// Keeps todo lists. A reader sees a whole list, the one before a write or the one after; no caller waits for another.
pub trait Todos: fmt::Debug + Send + Sync {
    /// Returns a list; none where no agent ever wrote it.
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError>;

    /// Puts a list in the place of the one before.
    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError>;

    /// Learns that an agent will not call again. What outlives this process stays.
    fn forget(&self, of: &TodoOwner);
}
