//! The callers that want to be called when something that lives in this process has moved.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Is called when something may have moved, from whatever thread. It returns at once and does not panic.
pub type Moved = Arc<dyn Fn() + Send + Sync>;

/// Calls every caller that wants to know that something has moved.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<Vec<Moved>>>);

/// A watcher that is called, until this is dropped.
#[derive(Debug)]
pub(crate) struct Watching {
    watchers: Watchers,
    moved: Called,
}

struct Called(Moved);

impl Watchers {
    /// Calls `moved` from now on.
    pub(crate) fn add(&self, moved: Moved) -> Watching {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&moved));
        Watching { watchers: self.clone(), moved: Called(moved) }
    }

    /// Calls every watcher, after something has moved.
    pub(crate) fn tell(&self) {
        let watchers = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        watchers.iter().for_each(|moved| moved());
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watchers = self.watchers.0.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|moved| !Arc::ptr_eq(moved, &self.moved.0));
    }
}

impl fmt::Debug for Watchers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        write!(formatter, "{count} watchers")
    }
}

impl fmt::Debug for Called {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Moved")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{Moved, Watchers};

    #[test]
    fn a_watcher_is_called_until_it_is_dropped() {
        let watchers = Watchers::default();
        let calls: [Arc<AtomicU32>; 2] = Default::default();
        let [one, two] = calls.each_ref().map(|calls| {
            let calls = Arc::clone(calls);
            let moved: Moved = Arc::new(move || {
                calls.fetch_add(1, Ordering::SeqCst);
            });
            watchers.add(moved)
        });
        watchers.tell();
        drop(one);
        watchers.tell();
        assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::SeqCst)), [1, 2]);
        drop(two);
        watchers.tell();
        assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::SeqCst)), [1, 2]);
    }
}
