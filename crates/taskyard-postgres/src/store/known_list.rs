//! What this process knows of a list.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard::core::{AttemptId, ListId};
use taskyard::store::kit::{Home, ListState};

use super::turn::Queue;

/// A server that many lists are asked of forgets those that nobody has open when it knows so many.
const MOST: usize = 256;

/// A list as this process knows it, shared by all who read or write it here.
#[derive(Debug)]
pub(super) struct KnownList {
    pub(super) list: ListId,
    /// Those of this process who want to write to it.
    pub(super) queue: Queue,
    known: Mutex<Known>,
}

/// A list at a revision, and what tells whether the database is still the one it was read from.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The list's number in the database; none before it was found there.
    pub(super) id: Option<i64>,
    /// The list.
    pub(super) state: Arc<ListState>,
    /// The commit of its newest revision, where that is known.
    pub(super) head: Option<AttemptId>,
    /// How many changes of leases are in it.
    pub(super) lease_version: i64,
}

impl KnownList {
    fn new(list: ListId, shown: &str) -> Self {
        let home = Home::Images(PathBuf::from(shown).join(list.directory()));
        Self { list, queue: Queue::default(), known: Mutex::new(Known::nothing(home)) }
    }

    /// Locks what is known. Nothing is asked of the database meanwhile.
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn nothing(home: Home) -> Self {
        let state = Arc::new(ListState { home, ..ListState::default() });
        Self { id: None, state, head: None, lease_version: 0 }
    }

    /// Returns what is known before anything is.
    pub(super) fn emptied(&self) -> Self {
        Self::nothing(self.state.home.clone())
    }
}

/// Every list that this process has had to do with.
#[derive(Debug, Default)]
pub(super) struct KnownLists(Mutex<HashMap<String, Arc<KnownList>>>);

impl KnownLists {
    /// Returns a list.
    pub(super) fn get(&self, list: &ListId, shown: &str) -> Arc<KnownList> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MOST && !lists.contains_key(list.directory()) {
            // Whoever comes back to one of them reads it anew.
            lists.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let new = || Arc::new(KnownList::new(list.clone(), shown));
        Arc::clone(lists.entry(list.directory().to_owned()).or_insert_with(new))
    }
}
