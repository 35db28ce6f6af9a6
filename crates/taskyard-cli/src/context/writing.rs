//! Which lists a command wrote to, so that its answer can name one that is not the directory's own.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::Yard;
use taskyard::core::{Event, ListId, Op};
use taskyard::store::Subscription;

use super::Context;
use crate::output::OtherLists;

/// The lists that a command wrote to.
#[derive(Debug, Default)]
pub(super) struct Writes {
    lists: Arc<Mutex<Vec<ListId>>>,
    following: RefCell<Vec<Subscription>>,
}

impl Writes {
    /// Takes note of every commit that is made through a yard, and those made from it. That somebody's lease has ended is no
    /// doing of the command.
    pub(super) fn follow(&self, yard: &Yard) {
        let lists = Arc::clone(&self.lists);
        let is_own = |event: &Event| event.entries.iter().any(|entry| entry.op != Op::Expire);
        let listener = move |event: &Event| {
            if is_own(event) {
                note(&lists, &event.list);
            }
        };
        self.following.borrow_mut().push(yard.subscribe(Box::new(listener)));
    }
}

impl Context {
    /// Takes note that a command wrote to a list in a way that its journal does not tell of: a lease began anew.
    pub(crate) fn note_write(&self, list: &ListId) {
        note(&self.writes.lists, list);
    }

    /// Takes it that what was written so far was none of the command's doing.
    pub(crate) fn forget_writes(&self) {
        self.writes.lists.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Tells whether the command wrote to a list.
    pub(crate) fn has_written(&self) -> bool {
        !self.writes.lists.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns the lists that the command wrote to besides that of the directory; none where there are none, or where it cannot be
    /// told which list the directory has.
    pub(crate) fn other_lists_written(&self) -> Option<OtherLists> {
        let mut lists = self.writes.lists.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if lists.is_empty() {
            return None;
        }
        let own = self.list_of_directory().ok()?.list;
        lists.retain(|list| *list != own);
        (!lists.is_empty()).then_some(OtherLists { lists, own })
    }
}

fn note(lists: &Mutex<Vec<ListId>>, list: &ListId) {
    let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
    if !lists.contains(list) {
        lists.push(list.clone());
    }
}
