//! The todo lists of all agents of one session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::{ClientVersion, Rules};

use super::{MemoryTodos, TodoList, TodoOwner, Todos};

/// How many lists are kept ready for callers that come back.
const LISTS: usize = 1_024;

/// The todo lists of all agents of one session, made when they are first asked for.
#[derive(Debug)]
pub struct TodoLists {
    todos: Arc<dyn Todos>,
    session: String,
    lists: Mutex<HashMap<String, Arc<TodoList>>>,
}

impl TodoLists {
    /// Returns the lists of a session, wherever they are kept.
    pub fn new(todos: Arc<dyn Todos>, session: impl Into<String>) -> Self {
        Self { todos, session: session.into(), lists: Mutex::default() }
    }

    /// Returns the lists of a session as a server keeps them that agents call. Under the rules of 2.1.34 they are kept in `todos`, as that
    /// client keeps them; under all other rules they live as long as the process, and nothing is written.
    pub fn served(todos: Arc<dyn Todos>, session: &str, rules: Rules) -> Self {
        match rules {
            Rules::Client(ClientVersion::V2_1_34) => Self::new(todos, session),
            Rules::Client(ClientVersion::V2_1_325) | Rules::Strict => Self::in_memory(),
        }
    }

    /// Returns lists that live as long as the process.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(MemoryTodos::default()), "")
    }

    /// Returns the list of an agent; always the same one for the same name.
    pub fn of(&self, agent: &str) -> Arc<TodoList> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(agent) {
            return Arc::clone(list);
        }
        if lists.len() >= LISTS {
            lists.retain(|_, unused| Arc::strong_count(unused) > 1);
        }
        let list = Arc::new(TodoList::new(Arc::clone(&self.todos), self.owner(agent)));
        lists.insert(agent.to_owned(), Arc::clone(&list));
        list
    }

    /// Forgets the list of an agent that will not call again. What is in a file stays there.
    pub fn forget(&self, agent: &str) {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
        self.todos.forget(&self.owner(agent));
    }

    fn owner(&self, agent: &str) -> TodoOwner {
        TodoOwner { session: self.session.clone(), agent: agent.to_owned() }
    }
}
