//! The todo list of one agent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::Todo;
use taskyard_core::rules::lists::todos::kept;

use super::{TodoError, TodoOwner, Todos};

/// The todo list of one agent. Calls on it happen one after the other.
#[derive(Debug)]
pub struct TodoList {
    todos: Arc<dyn Todos>,
    of: TodoOwner,
    turn: Mutex<()>,
}

/// What a replacement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The list before.
    pub before: Vec<Todo>,
    /// The list as it is now: empty where everything that was given is completed.
    pub after: Vec<Todo>,
}

impl TodoList {
    pub(super) fn new(todos: Arc<dyn Todos>, of: TodoOwner) -> Self {
        Self { todos, of, turn: Mutex::default() }
    }

    /// Returns the list.
    pub fn read(&self) -> Result<Vec<Todo>, TodoError> {
        let _turn = self.turn();
        Ok(self.todos.read(&self.of)?.unwrap_or_default())
    }

    /// Replaces the list.
    pub fn replace(&self, given: &[Todo]) -> Result<Replaced, TodoError> {
        let _turn = self.turn();
        let before = self.todos.read(&self.of)?.unwrap_or_default();
        let after = kept(given).to_vec();
        self.todos.write(&self.of, &after)?;
        Ok(Replaced { before, after })
    }

    /// Writes an empty list where there is none, as 2.1.34 does when it starts.
    pub fn begin(&self) -> Result<(), TodoError> {
        let _turn = self.turn();
        // What is there and cannot be read is the business of the caller.
        if matches!(self.todos.read(&self.of), Ok(None)) { self.todos.write(&self.of, &[]) } else { Ok(()) }
    }

    /// A call that panicked has changed nothing or everything, so what it left can be used.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
