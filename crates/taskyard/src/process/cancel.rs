//! Cancelling work, and waking threads that wait.

use std::fmt::Debug;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use crate::store::Subscription;

/// Signals that work is no longer wanted. Clones share the same state; a cancellation cannot be undone.
#[derive(Clone, Default)]
pub struct Cancel(Arc<CancelShared>);

#[derive(Default)]
struct CancelShared {
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

/// Announces that a caller will handle a cancellation and clean up, until this is dropped.
#[derive(Debug)]
#[must_use = "the attendance ends when this is dropped"]
pub struct Attendance(Cancel);

/// Cancels when it is dropped.
#[derive(Debug)]
#[must_use = "it cancels when this is dropped"]
pub struct CancelOnDrop(Cancel);

impl Cancel {
    /// Returns a cancellation that has not been triggered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, and wakes every waiting thread.
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

    /// Returns whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// Sleeps for this long, or until cancelled; returns whether it was cancelled.
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

    /// Calls `wake` once on cancellation, or immediately if already cancelled. It is never called after the
    /// subscription was dropped.
    ///
    /// It runs on the thread that cancels, so it should only wake another thread.
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

    /// Returns a guard that cancels when it is dropped.
    pub fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Announces that the caller will handle a cancellation until the returned guard is dropped.
    pub fn attend(&self) -> Attendance {
        self.0.attending.fetch_add(1, Ordering::SeqCst);
        Attendance(self.clone())
    }

    /// Returns whether a caller will handle a cancellation. The code that ends the process gives it time for that.
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

/// Wakes a thread from another one. The waiting thread may also wait for other file descriptors. Clones share the same
/// waker.
///
/// After waking up, a thread calls [`Self::reset`] before it checks what has changed, so that nothing is missed.
#[derive(Clone, Debug)]
pub struct Waker(Arc<WakerShared>);

#[derive(Debug)]
struct WakerShared {
    reader: OwnedFd,
    writer: OwnedFd,
    /// Whether there is an unread byte in the pipe.
    is_woken: AtomicBool,
    is_stopped: AtomicBool,
}

impl Waker {
    /// Returns a waker that has not been woken.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self(Arc::new(WakerShared { reader, writer, is_woken: false.into(), is_stopped: false.into() })))
    }

    /// Returns a waker that a cancellation wakes, until the subscription is dropped.
    pub fn on(cancel: &Cancel) -> io::Result<(Self, Subscription)> {
        let waker = Self::new()?;
        let woken = waker.clone();
        Ok((waker, cancel.on_cancel(move || woken.wake())))
    }

    /// Wakes the waiting thread, or the next one that waits.
    pub fn wake(&self) {
        if !self.0.is_woken.swap(true, Ordering::SeqCst) {
            // A full pipe is already readable.
            let _ = rustix::io::write(&self.0.writer, b"!");
        }
    }

    /// Wakes the thread permanently: it should stop waiting.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Returns whether [`Self::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::SeqCst)
    }

    /// Clears the woken state.
    pub fn reset(&self) {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.0.reader, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        self.0.is_woken.store(false, Ordering::SeqCst);
    }

    /// Waits until woken, or until `until`. May return early because of a signal.
    pub fn wait(&self, until: Option<Instant>) -> io::Result<()> {
        wait_for([Some(self.fd())], until).map(drop)
    }

    /// Returns the file descriptor that is readable while the waker is woken.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.reader.as_fd()
    }

    /// Returns a copy of the descriptor that wakes when written to, for signal handlers, which can do no more than
    /// that.
    pub fn writer(&self) -> io::Result<OwnedFd> {
        self.0.writer.try_clone()
    }
}

/// Returns a descriptor that becomes readable when the process that now has this pid ends; `None` if there is no such
/// process.
#[cfg(target_os = "linux")]
pub fn end_of(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

/// Returns `None`: this system has no descriptors for processes.
#[cfg(not(target_os = "linux"))]
pub fn end_of(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Waits until one of the descriptors is readable or closed, or until `until`; returns which ones are ready. May return
/// early, with none, because of a signal.
pub fn wait_for<const N: usize>(things: [Option<BorrowedFd<'_>>; N], until: Option<Instant>) -> io::Result<[bool; N]> {
    let mut polled: Vec<PollFd<'_>> =
        things.iter().flatten().map(|thing| PollFd::from_borrowed_fd(*thing, PollFlags::IN)).collect();
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.map(to_timespec).transpose()?;
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok([false; N]),
        Err(error) => return Err(error.into()),
    }
    let mut results = polled.iter().map(|thing| !thing.revents().is_empty());
    Ok(things.map(|thing| thing.is_some() && results.next().unwrap_or(false)))
}

fn to_timespec(span: Duration) -> io::Result<Timespec> {
    // Rounded up: waking too early would cause repeated polling.
    let span = span + Duration::from_millis(1);
    Timespec::try_from(span).map_err(io::Error::other)
}

/// A seat among the few workers of a server. A worker that waits for another program gives up its seat to other calls
/// in the meantime.
pub trait Workplace: Debug + Send + Sync {
    /// Calls `wait` once, with the seat free for other calls until it returns. The caller must hold no lock.
    fn leave_while(&self, wait: &mut dyn FnMut());
}

/// Waits for another program; the worker seat, if any, is free for other calls in the meantime.
pub fn wait_aside<T>(workplace: Option<&Arc<dyn Workplace>>, wait: impl FnOnce() -> T) -> T {
    let Some(workplace) = workplace else { return wait() };
    let (mut wait, mut came_of_it) = (Some(wait), None);
    workplace.leave_while(&mut || came_of_it = wait.take().map(|wait| wait()));
    came_of_it.unwrap_or_else(|| wait.take().expect("a workplace that did not wait has left it to us")())
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

#[cfg(test)]
mod waker_tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{Cancel, Waker, wait_for};

    fn is_woken(waker: &Waker) -> bool {
        wait_for([Some(waker.fd())], Some(Instant::now())).unwrap() == [true]
    }

    #[test]
    fn wake_before_the_wait_is_not_lost_and_wakes_once() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.wake();
        waker.wait(None).unwrap();
        waker.reset();
        assert!(!is_woken(&waker));
        let other = waker.clone();
        let thread = thread::spawn(move || other.stop());
        waker.wait(None).unwrap();
        thread.join().unwrap();
        assert!(waker.is_stopped());
    }

    #[test]
    fn wait_ends_at_its_time() {
        Waker::new().unwrap().wait(Some(Instant::now() + Duration::from_millis(1))).unwrap();
    }

    #[test]
    fn cancellation_wakes_until_its_subscription_is_dropped() {
        let (cancel, other) = (Cancel::new(), Cancel::new());
        let (waker, _subscription) = Waker::on(&cancel).unwrap();
        let (deaf, subscription) = Waker::on(&other).unwrap();
        drop(subscription);
        cancel.cancel();
        other.cancel();
        assert!(is_woken(&waker) && !is_woken(&deaf));
    }
}
