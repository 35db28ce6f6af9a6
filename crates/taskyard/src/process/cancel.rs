//! Telling work that it is no longer wanted.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::store::Subscription;

/// Tells work that it is no longer wanted. Clones are the same cancellation; once cancelled, it stays so.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_cancelled: AtomicBool,
    attending: AtomicUsize,
    wakers: Mutex<Wakers>,
    changed: Condvar,
}

#[derive(Default)]
struct Wakers {
    next: u64,
    members: Vec<(u64, Box<dyn FnOnce() + Send>)>,
}

/// Says that a caller will act on a cancellation and bring things in order, as long as it lives.
#[derive(Debug)]
#[must_use = "the attendance ends when this is dropped"]
pub struct Attendance(Cancel);

/// Cancels when it is dropped.
#[derive(Debug)]
#[must_use = "it cancels when this is dropped"]
pub struct CancelOnDrop(Cancel);

impl Cancel {
    /// Returns a cancellation that has not happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, and wakes every thread that waits.
    pub fn cancel(&self) {
        let woken = {
            let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.is_cancelled.store(true, Ordering::SeqCst);
            self.0.changed.notify_all();
            std::mem::take(&mut wakers.members)
        };
        for (_, wake) in woken {
            wake();
        }
    }

    /// Tells whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// Sleeps for this long, or until it is cancelled; returns whether it was.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_cancelled() {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return false;
            };
            wakers = self.0.changed.wait_timeout(wakers, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Calls this once when it is cancelled, at once where it is already; never after the subscription was dropped.
    ///
    /// It is called on the thread that cancels: let it wake a thread, and no more.
    pub fn on_cancel(&self, wake: impl FnOnce() + Send + 'static) -> Subscription {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_cancelled() {
            drop(wakers);
            wake();
            return Subscription::new(|| {});
        }
        let key = wakers.next;
        wakers.next += 1;
        wakers.members.push((key, Box::new(wake)));
        let shared = Arc::clone(&self.0);
        Subscription::new(move || {
            let mut wakers = shared.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            wakers.members.retain(|(member, _)| *member != key);
        })
    }

    /// Cancels when what is returned is dropped: when the caller that waits goes away.
    pub fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Says that the caller will act on a cancellation as long as it keeps what is returned.
    pub fn attend(&self) -> Attendance {
        self.0.attending.fetch_add(1, Ordering::SeqCst);
        Attendance(self.clone())
    }

    /// Tells whether a caller will act on a cancellation. The code that ends the process gives it the time for that.
    pub fn is_attended(&self) -> bool {
        self.0.attending.load(Ordering::SeqCst) > 0
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.0.0.attending.fetch_sub(1, Ordering::SeqCst);
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::Cancel;

    #[test]
    fn every_waker_is_called_once_even_one_that_comes_late() {
        let cancel = Cancel::new();
        let called = Arc::new(AtomicUsize::new(0));
        let count = || {
            let called = Arc::clone(&called);
            move || {
                called.fetch_add(1, Ordering::SeqCst);
            }
        };
        let _early = cancel.on_cancel(count());
        drop(cancel.on_cancel(count()));
        cancel.clone().cancel();
        cancel.cancel();
        let _late = cancel.on_cancel(count());
        assert!(cancel.is_cancelled());
        assert_eq!(called.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let cancel = Cancel::new();
        assert!(!cancel.sleep(Duration::from_millis(1)));
        let sleeper = thread::spawn({
            let cancel = cancel.clone();
            move || cancel.sleep(Duration::from_secs(600))
        });
        cancel.cancel();
        assert!(sleeper.join().unwrap());
    }

    #[test]
    fn attendance_lasts_as_long_as_it_is_kept() {
        let cancel = Cancel::new();
        let (one, two) = (cancel.attend(), cancel.attend());
        drop(one);
        assert!(cancel.is_attended());
        drop(two);
        assert!(!cancel.is_attended());
    }
}
