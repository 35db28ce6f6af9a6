//! The todo lists of all agents of one session.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::Todo;

use super::list::TodoList;

/// The todo lists of all agents of one session, made when they are first asked for.
#[derive(Debug)]
pub struct TodoLists {
    place: Option<Place>,
    lists: Mutex<HashMap<String, Arc<TodoList>>>,
}

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    session: String,
}

impl TodoLists {
    /// Returns lists that live as long as the process, as those of 2.1.325 do.
    pub fn in_memory() -> Self {
        Self { place: None, lists: Mutex::default() }
    }

    /// Returns lists that are kept in a folder, as 2.1.34 keeps them in `<config>/todos`.
    pub fn in_folder(folder: PathBuf, session: impl Into<String>) -> Self {
        Self { place: Some(Place { folder, session: session.into() }), lists: Mutex::default() }
    }

    /// Returns the list of an agent; always the same one for the same name.
    pub fn of(&self, agent: &str) -> Arc<TodoList> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(agent) {
            return Arc::clone(list);
        }
        let list = Arc::new(match &self.place {
            None => TodoList::in_memory(),
            Some(place) => TodoList::in_file(place.folder.join(Todo::file_name(&place.session, agent))),
        });
        lists.insert(agent.to_owned(), Arc::clone(&list));
        list
    }
    /// Forgets the list of an agent that will not call again. What is in a file stays there.
    pub fn forget(&self, agent: &str) {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
    }
}
