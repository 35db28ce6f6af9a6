//! How many of a process may use something at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The seats there are, and the threads that have them.
#[derive(Debug)]
pub(super) struct Seats {
    count: usize,
    borrowers: Mutex<Vec<ThreadId>>,
    freed: Condvar,
}

/// The right to one of them, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    borrower: ThreadId,
}

impl Seats {
    /// Returns so many seats, all of them free.
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { count, borrowers: Mutex::default(), freed: Condvar::new() })
    }

    /// Waits for a seat; a thread that has waited for this long gets one beyond the number: that is better than no
    /// answer. A thread that has one already never waits: a thread that waits for a list's turn has one, and the one
    /// that has the turn may need a second.
    pub(super) fn take(self: &Arc<Self>, patience: Duration) -> Seat {
        let borrower = thread::current().id();
        let mut borrowers = self.borrowers();
        let until = Instant::now() + patience;
        while borrowers.len() >= self.count && !borrowers.contains(&borrower) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!("all connections to a journal are in use for long; another one is opened");
                break;
            }
            borrowers = self.freed.wait_timeout(borrowers, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        borrowers.push(borrower);
        Seat { seats: Arc::clone(self), borrower }
    }

    /// Tells whether no caller has a seat.
    pub(super) fn are_free(&self) -> bool {
        self.borrowers().is_empty()
    }

    fn borrowers(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.borrowers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut borrowers = self.seats.borrowers();
        if let Some(place) = borrowers.iter().position(|borrower| *borrower == self.borrower) {
            borrowers.swap_remove(place);
        }
        drop(borrowers);
        self.seats.freed.notify_one();
    }
}
