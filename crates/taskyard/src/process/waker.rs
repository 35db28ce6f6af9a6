//! Waking a thread that waits, and waiting for file descriptors.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::Cancel;
use crate::store::Subscription;

/// Wakes a thread from another one. The waiting thread may wait for other file descriptors, too. Clones are the same waker.
///
/// A thread that was woken calls [`Self::reset`] before it looks at what may have changed, so that nothing is missed.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    reader: OwnedFd,
    writer: OwnedFd,
    /// Whether there is a byte of ours in the pipe.
    is_woken: AtomicBool,
    is_stopped: AtomicBool,
}

impl Waker {
    /// Returns a waker that has not been woken.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Shared { reader, writer, is_woken: false.into(), is_stopped: false.into() })))
    }

    /// Returns a waker that a cancellation wakes until the subscription is dropped.
    pub fn on(cancel: &Cancel) -> io::Result<(Self, Subscription)> {
        let waker = Self::new()?;
        let woken = waker.clone();
        Ok((waker, cancel.on_cancel(move || woken.wake())))
    }

    /// Wakes the thread that waits, or the next one that will.
    pub fn wake(&self) {
        if !self.0.is_woken.swap(true, Ordering::SeqCst) {
            // A pipe that is full wakes it already.
            let _ = rustix::io::write(&self.0.writer, b"!");
        }
    }

    /// Wakes the thread for good: it is to stop waiting.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Tells whether [`Self::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::SeqCst)
    }

    /// Forgets that it was woken.
    pub fn reset(&self) {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.0.reader, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        self.0.is_woken.store(false, Ordering::SeqCst);
    }

    /// Waits until it is woken, or until `until`. A signal may end the waiting early.
    pub fn wait(&self, until: Option<Instant>) -> io::Result<()> {
        wait_for([Some(self.fd())], until).map(drop)
    }

    /// Returns the file descriptor that is readable while it is woken.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.reader.as_fd()
    }

    /// Returns a copy of the file descriptor that wakes it when something is written to it: a signal handler can do no more than that.
    pub fn writer(&self) -> io::Result<OwnedFd> {
        self.0.writer.try_clone()
    }
}

/// Returns what becomes readable when the process that has this number now ends; none where there is none.
#[cfg(target_os = "linux")]
pub fn end_of(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

/// Returns none: this system has nothing that becomes readable when a process ends.
#[cfg(not(target_os = "linux"))]
pub fn end_of(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Waits until one of these can be read or was closed, or the time has come; returns which can be. A signal may end the
/// waiting early.
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
    // Rounded up: waking a moment too early would mean to ask again and again.
    let span = span + Duration::from_millis(1);
    Timespec::try_from(span).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
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
