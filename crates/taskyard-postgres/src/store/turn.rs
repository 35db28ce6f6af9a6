//! The turn among the writers of one process: a list has one connection that waits for it, however many threads want to write.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use taskyard::store::note_lock_wait;

use super::known_list::KnownList;

/// The right to ask the database for the list, given back when it is dropped.
#[derive(Debug)]
pub(super) struct WritersTurn(Arc<KnownList>);

impl WritersTurn {
    /// Waits until no other thread of this process writes to the list; none where that takes too long.
    pub(super) fn wait(list: &Arc<KnownList>, longest: Duration) -> Option<Self> {
        let started = Instant::now();
        let queue = &list.queue;
        let mut is_taken = queue.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_taken {
            let left = longest.checked_sub(started.elapsed())?;
            is_taken = queue.free.wait_timeout(is_taken, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_taken = true;
        note_lock_wait(started.elapsed());
        Some(Self(Arc::clone(list)))
    }

    /// Returns the list.
    pub(super) fn list(&self) -> &Arc<KnownList> {
        &self.0
    }
}

impl Drop for WritersTurn {
    fn drop(&mut self) {
        *self.0.queue.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.queue.free.notify_one();
    }
}
