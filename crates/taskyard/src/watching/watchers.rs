//! Callbacks for changes in this process or on disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Called from any thread when something may have changed. It must return at once and must not panic.
pub type Moved = Arc<dyn Fn() + Send + Sync>;

/// The callbacks of all watchers.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<Vec<Moved>>>);

/// A registered callback; dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Watching {
    watchers: Watchers,
    moved: Called,
}

struct Called(Moved);

impl Watchers {
    /// Registers a callback.
    pub(crate) fn add(&self, moved: Moved) -> Watching {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&moved));
        Watching { watchers: self.clone(), moved: Called(moved) }
    }

    /// Calls every watcher after a change.
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

/// What has happened in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// Nothing has happened.
    Nothing,
    /// The files with these names were changed.
    To(BTreeMap<OsString, Deed>),
    /// Unknown changes; the directory is still being watched.
    Anything,
    /// Unknown changes, and no further notifications: the directory was removed or moved.
    Gone,
}

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    /// A file was renamed to this name, and nothing else was done to it.
    MovedThere,
    /// Any other change.
    Touched,
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
