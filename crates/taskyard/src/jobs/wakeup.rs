//! Waiting for several things at once, without asking again and again.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::process::Cancel;
use crate::store::Subscription;

/// Something that becomes readable when work is cancelled.
pub(super) struct Wakeup {
    end: OwnedFd,
    _subscription: Subscription,
}

impl Wakeup {
    /// Returns one for a cancellation.
    pub(super) fn on(cancel: &Cancel) -> io::Result<Self> {
        let (end, other) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Closing the other end is what is heard.
        let subscription = cancel.on_cancel(move || drop(other));
        Ok(Self { end, _subscription: subscription })
    }

    /// Returns what becomes readable.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

/// Waits until one of these can be read or was closed, or the time has come; returns which can be. A signal may end the
/// waiting early.
pub(super) fn wait_for<const N: usize>(
    things: [Option<BorrowedFd<'_>>; N],
    until: Option<Instant>,
) -> io::Result<[bool; N]> {
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
