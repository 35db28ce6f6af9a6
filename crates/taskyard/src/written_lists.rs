//! Which lists a yard wrote to.

use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::{Event, ListId, Op};

/// The lists that were written to through a yard and those made from it, in the order of the first time. That a lease has ended is no
/// agent's doing and does not count.
#[derive(Clone, Debug, Default)]
pub struct WrittenLists(Arc<Mutex<Vec<ListId>>>);

impl WrittenLists {
    /// Adds a list.
    pub fn add(&self, list: &ListId) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !lists.contains(list) {
            lists.push(list.clone());
        }
    }

    /// Returns all of them.
    pub fn all(&self) -> Vec<ListId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes it that none was written to so far.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn note(&self, commit: &Event) {
        if commit.entries.iter().any(|entry| entry.op != Op::Expire) {
            self.add(&commit.list);
        }
    }
}
