//! Todo lists that live as long as the process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_core::Todo;

use super::{TodoError, TodoOwner, Todos};

/// The maximum number of lists. Above it the least recently written one is dropped, because callers choose the names.
const LISTS: usize = 1_024;

/// Todo lists that live as long as the process, as those of 2.1.325 do, the last 1,024 that were written.
#[derive(Debug, Default)]
pub struct MemoryTodos(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    /// Each with the number of the write that made it.
    by_owner: HashMap<TodoOwner, (u64, Vec<Todo>)>,
    writes: u64,
}

impl MemoryTodos {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Todos for MemoryTodos {
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError> {
        Ok(self.lists().by_owner.get(of).map(|(_, todos)| todos.clone()))
    }

    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError> {
        let mut lists = self.lists();
        lists.writes += 1;
        let write = lists.writes;
        lists.by_owner.insert(of.clone(), (write, todos.to_vec()));
        if lists.by_owner.len() > LISTS {
            let oldest = lists.by_owner.iter().min_by_key(|(_, (write, _))| *write).map(|(of, _)| of.clone());
            oldest.and_then(|oldest| lists.by_owner.remove(&oldest));
        }
        Ok(())
    }

    fn forget(&self, of: &TodoOwner) {
        self.lists().by_owner.remove(of);
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::Todo;

    use super::{LISTS, MemoryTodos};
    use crate::todos::{TodoOwner, Todos as _};

    #[test]
    fn the_list_not_written_for_longest_makes_room() {
        let (todos, none) = (MemoryTodos::default(), &[] as &[Todo]);
        let of = |agent: usize| TodoOwner { session: String::new(), agent: agent.to_string() };
        (0..LISTS).for_each(|agent| todos.write(&of(agent), none).unwrap());
        todos.write(&of(0), none).unwrap();
        todos.write(&of(LISTS), none).unwrap();
        assert_eq!([0, 1, 2, LISTS].map(|agent| todos.read(&of(agent)).unwrap().is_some()), [true, false, true, true]);
    }
}
