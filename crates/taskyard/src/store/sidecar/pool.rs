//! The connections to one list's journal that a process keeps: so many and no more.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::database::Journal;

/// So many connections of one process are in use at once. Each costs three descriptors and up to some megabytes.
const CONNECTIONS: usize = 8;
/// How long one is waited for. Whoever still has none then opens one beyond the number: that is better than no answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// Lends connections to the journal of one list. Whoever needs one while all are in use waits for its turn.
#[derive(Debug, Default)]
pub(super) struct JournalPool(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Connections>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    idle: Vec<Journal>,
    /// The threads that were lent the connections in use.
    borrowers: Vec<ThreadId>,
}

/// The right to one connection, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    pool: Arc<Shared>,
    borrower: ThreadId,
}

impl JournalPool {
    /// Lends a connection that is idle, or one that is opened now.
    pub(super) fn take<E>(&self, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        let (seat, idle) = self.0.seat(PATIENCE);
        let mut journal = idle.map_or_else(open, Ok)?;
        journal.seat = Some(seat);
        Ok(journal)
    }

    /// Takes a connection back for the next one. One that is dropped instead is closed.
    pub(super) fn give_back(&self, mut journal: Journal) {
        let seat = journal.seat.take();
        let mut state = self.0.state();
        if state.idle.len() < CONNECTIONS {
            state.idle.push(journal);
        }
        drop(state);
        drop(seat);
    }

    /// Tells whether there is no connection at all, neither idle nor in use.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.0.state();
        state.idle.is_empty() && state.borrowers.is_empty()
    }

    /// Closes every connection that is idle.
    pub(super) fn clear(&self) {
        self.0.state().idle.clear();
    }
}

impl Shared {
    /// Waits for its turn. A thread that has a connection already never waits: whoever waits for a list's turn holds one, and the
    /// one that has the turn may need a second.
    fn seat(self: &Arc<Self>, patience: Duration) -> (Seat, Option<Journal>) {
        let borrower = thread::current().id();
        let mut state = self.state();
        let until = Instant::now() + patience;
        while state.borrowers.len() >= CONNECTIONS && !state.borrowers.contains(&borrower) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!("all connections to a journal are in use for long; another one is opened");
                break;
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.borrowers.push(borrower);
        // One whose database was replaced since leads nowhere.
        let idle = std::iter::from_fn(|| state.idle.pop()).find(Journal::was_current_lately);
        (Seat { pool: Arc::clone(self), borrower }, idle)
    }

    fn state(&self) -> MutexGuard<'_, Connections> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connections {
    /// Nobody of this process uses the journal any more: the last connection folds the log in, where it can.
    fn drop(&mut self) {
        let last = self.idle.pop();
        self.idle.clear();
        if let Some(last) = last {
            last.fold_at_close();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        if let Some(place) = state.borrowers.iter().position(|borrower| *borrower == self.borrower) {
            state.borrowers.swap_remove(place);
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::super::database::Journal;
    use super::{CONNECTIONS, JournalPool};
    use crate::store::StoreError;

    #[test]
    fn however_many_threads_want_one_there_are_only_so_many_and_each_gets_its_turn() {
        let place = tempfile::tempdir().unwrap();
        let (pool, opened) = (Arc::new(JournalPool::default()), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (0..100)
            .map(|_| {
                let (pool, opened, path) = (Arc::clone(&pool), Arc::clone(&opened), place.path().to_owned());
                thread::spawn(move || {
                    let journal = pool.take(|| {
                        opened.fetch_add(1, Ordering::Relaxed);
                        Journal::open(&path, &path)
                    });
                    let journal = journal.unwrap();
                    journal.newest().unwrap();
                    pool.give_back(journal);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(opened.load(Ordering::Relaxed) <= CONNECTIONS);
        assert!(pool.0.state().borrowers.is_empty());
    }

    #[test]
    fn a_thread_that_has_one_does_not_wait_for_another() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        let open = || Journal::open(place.path(), place.path());
        let held: Vec<Journal> = (0..=CONNECTIONS).map(|_| pool.take(open).unwrap()).collect();
        held.into_iter().for_each(|journal| pool.give_back(journal));
        assert_eq!(pool.0.state().idle.len(), CONNECTIONS);
    }

    #[test]
    fn one_that_is_dropped_or_cannot_be_opened_leaves_its_place_to_others() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        drop(pool.take(|| Journal::open(place.path(), place.path())).unwrap());
        let failed: Result<Journal, StoreError> =
            pool.take(|| Err(StoreError::io("cannot open", place.path())(std::io::ErrorKind::NotFound.into())));
        assert!(failed.is_err());
        assert!(pool.0.state().borrowers.is_empty() && pool.0.state().idle.is_empty());
    }
}
