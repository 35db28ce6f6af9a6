//! Todo lists that live as long as the process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_core::Todo;

use super::{TodoError, TodoOwner, Todos};

/// Todo lists that live as long as the process, as those of 2.1.325 do.
#[derive(Debug, Default)]
pub struct MemoryTodos(Mutex<HashMap<TodoOwner, Vec<Todo>>>);

impl MemoryTodos {
    fn lists(&self) -> MutexGuard<'_, HashMap<TodoOwner, Vec<Todo>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Todos for MemoryTodos {
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError> {
        Ok(self.lists().get(of).cloned())
    }

    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError> {
        self.lists().insert(of.clone(), todos.to_vec());
        Ok(())
    }

    fn forget(&self, of: &TodoOwner) {
        self.lists().remove(of);
    }
}
