//! Waiting for several things at once, without asking again and again.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::Cancel;
use crate::store::Subscription;

/// Something that becomes readable when work is cancelled.
pub struct Wakeup {
    end: OwnedFd,
    _subscription: Subscription,
}

impl Wakeup {
    /// Returns one for a cancellation.
    pub fn on(cancel: &Cancel) -> io::Result<Self> {
        let (end, other) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Closing the other end is what is heard.
        let subscription = cancel.on_cancel(move || drop(other));
        Ok(Self { end, _subscription: subscription })
    }

    /// Returns what becomes readable.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
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
