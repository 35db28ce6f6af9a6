//! Which lists a yard wrote to.

use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::{Event, ListId, Op, Revision};

/// The lists that were written to through a yard and those made from it, in the order of the first time. That a lease has ended is no
/// agent's doing and does not count.
#[derive(Clone, Debug, Default)]
pub struct WrittenLists(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    lists: Vec<ListId>,
    /// The revisions that were made, if they are kept.
    revisions: Option<Vec<(ListId, Revision)>>,
}

impl WrittenLists {
    /// Also keeps the number of each revision: for the length of one call, since nothing limits how many there are.
    pub fn with_revisions() -> Self {
        Self(Arc::new(Mutex::new(Written { lists: Vec::new(), revisions: Some(Vec::new()) })))
    }

    /// Adds a list.
    pub fn add(&self, list: &ListId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(list);
    }

    /// Returns all of them.
    pub fn all(&self) -> Vec<ListId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lists.clone()
    }

    /// Returns the revisions of a list that the caller made, oldest first, if they are kept. What was put back without asking is not the
    /// caller's.
    pub fn revisions(&self, list: &ListId) -> Vec<Revision> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let revisions = written.revisions.iter().flatten().filter(|(written, _)| written == list);
        revisions.map(|(_, revision)| *revision).collect()
    }

    /// Takes it that none was written to so far.
    pub fn clear(&self) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.lists.clear();
        written.revisions.iter_mut().for_each(Vec::clear);
    }

    pub(crate) fn note(&self, commit: &Event) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = |op: Op| op != Op::Expire && op != Op::PutBack;
        if commit.entries.iter().any(|entry| entry.op != Op::Expire) {
            written.add(&commit.list);
        }
        if let Some(revisions) =
            written.revisions.as_mut().filter(|_| commit.entries.iter().any(|entry| is_own(entry.op)))
        {
            revisions.push((commit.list.clone(), commit.revision));
        }
    }
}

impl Written {
    fn add(&mut self, list: &ListId) {
        if !self.lists.contains(list) {
            self.lists.push(list.clone());
        }
    }
}
