//! The connections to one list's journal that a process keeps: so many and no more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::database::Journal;
use super::seats::Seats;

/// So many connections of one process are in use at once. Each costs three descriptors and up to some megabytes.
const CONNECTIONS: usize = 8;
/// How long one is waited for. A thread that still has none then opens one beyond the number: that is better than no
/// answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// Lends connections to the journal of one list. A thread that needs one while all are in use waits for its turn.
#[derive(Debug)]
pub(super) struct JournalPool {
    seats: Arc<Seats>,
    idle: Mutex<IdleJournals>,
}

/// The connections that no caller uses just now.
#[derive(Debug, Default)]
struct IdleJournals(Vec<Journal>);

impl Default for JournalPool {
    fn default() -> Self {
        Self { seats: Seats::new(CONNECTIONS), idle: Mutex::default() }
    }
}

impl JournalPool {
    /// Lends a connection that is idle, or one that is opened now.
    pub(super) fn take<E>(&self, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        self.take_within(PATIENCE, open)
    }

    fn take_within<E>(&self, patience: Duration, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        let seat = self.seats.take(patience);
        let idle = {
            let mut idle = self.idle();
            // One whose database was replaced since leads nowhere.
            std::iter::from_fn(|| idle.0.pop()).find(Journal::was_current_lately)
        };
        let mut journal = idle.map_or_else(open, Ok)?;
        journal.seat = Some(seat);
        Ok(journal)
    }

    /// Takes a connection back for the next one. One that is dropped instead is closed.
    pub(super) fn give_back(&self, mut journal: Journal) {
        let seat = journal.seat.take();
        let mut idle = self.idle();
        if idle.0.len() < CONNECTIONS {
            idle.0.push(journal);
        }
        drop(idle);
        // The next thread that waits for the seat finds the connection.
        drop(seat);
    }

    /// Tells whether there is no connection at all, neither idle nor in use.
    pub(super) fn is_empty(&self) -> bool {
        self.seats.are_free() && self.idle().0.is_empty()
    }

    /// Closes every connection that is idle.
    pub(super) fn clear(&self) {
        self.idle().0.clear();
    }

    fn idle(&self) -> MutexGuard<'_, IdleJournals> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IdleJournals {
    /// No thread of this process uses the journal any more: the last connection folds the log in, where it can.
    fn drop(&mut self) {
        let last = self.0.pop();
        self.0.clear();
        if let Some(last) = last {
            last.fold_at_close();
        }
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
        assert!(pool.seats.are_free());
    }

    #[test]
    fn a_thread_that_has_one_does_not_wait_for_another() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        let open = || Journal::open(place.path(), place.path());
        let held: Vec<Journal> = (0..=CONNECTIONS).map(|_| pool.take(open).unwrap()).collect();
        held.into_iter().for_each(|journal| pool.give_back(journal));
        assert_eq!(pool.idle().0.len(), CONNECTIONS);
    }

    #[test]
    fn one_that_is_dropped_or_cannot_be_opened_leaves_its_place_to_others() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        drop(pool.take(|| Journal::open(place.path(), place.path())).unwrap());
        let failed: Result<Journal, StoreError> =
            pool.take(|| Err(StoreError::io("cannot open", place.path())(std::io::ErrorKind::NotFound.into())));
        assert!(failed.is_err());
        assert!(pool.is_empty());
    }
}
