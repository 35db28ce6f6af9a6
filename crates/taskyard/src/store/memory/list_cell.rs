//! One list in memory: its present state, its journal, and the turn its writers take.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use taskyard_core::{Entry, Event, Lease, ListId, Remark, Revision, Timestamp};

use crate::store::staged::{Home, Staging, State, key_of, number_of};
use crate::store::{HistoryQuery, Signature};

/// A list, shared by everybody who reads, writes or watches it.
#[derive(Debug)]
pub(super) struct ListCell {
    pub(super) list: ListId,
    book: Mutex<Book>,
    /// Told when the journal has grown, and when a watcher is to look whether it should end.
    pub(super) grown: Condvar,
    writing: Mutex<bool>,
    free: Condvar,
}

/// The present and the past of a list. It is locked for moments only, never for the length of a transaction.
#[derive(Debug)]
pub(super) struct Book {
    state: Arc<State>,
    journal: Vec<Event>,
}

impl ListCell {
    pub(super) fn new(list: ListId) -> Arc<Self> {
        let home = Home::Memory(PathBuf::from("memory:").join(list.directory()));
        let book = Book { state: Arc::new(State { home, ..State::default() }), journal: Vec::new() };
        Arc::new(Self {
            list,
            book: Mutex::new(book),
            grown: Condvar::new(),
            writing: Mutex::default(),
            free: Condvar::new(),
        })
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.book().state)
    }

    /// Waits until no other transaction is open on this list.
    pub(super) fn take_turn(self: &Arc<Self>) -> Turn {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        while *writing {
            writing = self.free.wait(writing).unwrap_or_else(PoisonError::into_inner);
        }
        *writing = true;
        Turn(Arc::clone(self))
    }

    /// Waits for nobody: the turn, where it is free.
    pub(super) fn try_turn(self: &Arc<Self>) -> Option<Turn> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (!std::mem::replace(&mut *writing, true)).then(|| Turn(Arc::clone(self)))
    }

    pub(super) fn history(&self, query: &HistoryQuery) -> Vec<Entry> {
        let book = self.book();
        let task = query.task.as_ref().map(key_of);
        let wanted = |entry: &&Entry| task.as_ref().is_none_or(|task| entry.task == *task);
        let in_range =
            book.after(query.since).iter().filter(|event| query.until.is_none_or(|end| event.revision <= end));
        let mut revisions: Vec<Vec<Entry>> = in_range
            .map(|event| event.entries.iter().filter(wanted).cloned().collect::<Vec<_>>())
            .filter(|entries| !entries.is_empty())
            .collect();
        if let Some(newest) = query.newest {
            revisions.drain(..revisions.len().saturating_sub(newest));
        }
        revisions.into_iter().flatten().collect()
    }

    /// Wakes everybody who waits for the journal to grow.
    pub(super) fn wake_watchers(&self) {
        // A watcher that has just looked and not yet begun to wait holds the book, so it cannot miss this.
        drop(self.book());
        self.grown.notify_all();
    }
}

impl Book {
    /// Returns the commits after a revision, oldest first.
    pub(super) fn after(&self, since: Revision) -> &[Event] {
        let first = self.journal.partition_point(|event| event.revision <= since);
        &self.journal[first..]
    }

    /// Makes what was staged happen, and returns it as its listeners learn of it.
    pub(super) fn apply(&mut self, list: &ListId, staging: Staging, signature: &Signature) -> Option<Event> {
        let changes = staging.changes();
        let Staging { base, mark, mut leases, .. } = staging;
        for (id, _, after) in &changes {
            leases.settle(id, after.as_ref().map(|kept| &kept.image));
        }
        // Only now may the state be changed in place: the transaction no longer shares it.
        drop(base);
        let state = Arc::make_mut(&mut self.state);
        state.mark = mark;
        state.last_token = leases.last_token();
        for (task, lease) in leases.changed() {
            match lease {
                Some(lease) => drop(state.leases.insert(task.clone(), lease.clone())),
                None => drop(state.leases.remove(task)),
            }
        }
        if changes.is_empty() {
            return None;
        }
        let at = now();
        state.exists = true;
        state.revision = state.revision.next();
        state.changed = Some(at);
        let mut entries = Vec::with_capacity(changes.len());
        for (place, (id, before, after)) in changes.into_iter().enumerate() {
            state.journaled = state.journaled.max(number_of(&id));
            entries.push(Entry {
                revision: state.revision,
                at,
                actor: signature.actor.clone(),
                op: signature.op,
                task: id.clone(),
                before,
                after: after.as_ref().map(|kept| kept.image.clone()),
                undoes: signature.undoes.clone(),
                remark: if place == 0 { signature.remark.clone() } else { Remark::default() },
            });
            match after {
                Some(kept) => drop(state.tasks.insert(id, kept)),
                None => drop(state.tasks.remove(&id)),
            }
        }
        let event = Event { list: list.clone(), revision: state.revision, entries };
        self.journal.push(event.clone());
        Some(event)
    }
}

impl Book {
    /// Gives leases new ends, those that are still the same.
    pub(super) fn renew(&mut self, leases: &[Lease]) {
        let state = Arc::make_mut(&mut self.state);
        for lease in leases {
            match state.leases.get_mut(&lease.task) {
                Some(there) if there.token == lease.token => there.ends.clone_from(&lease.ends),
                Some(_) | None => {}
            }
        }
    }
}

/// The right to write, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<ListCell>);

impl Turn {
    pub(super) fn cell(&self) -> &ListCell {
        &self.0
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.writing.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
