//! Sleeping until another thread wakes us, or a process ends.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::Pid;
use taskyard_core::ProcessMark;

use crate::process::{Waker, end_of};

/// What ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WokenBy {
    /// Another thread.
    Waker,
    /// The end of a process, or a signal.
    Process,
    /// The time was over.
    Clock,
}

/// A thread that sleeps until another one wakes it or a process ends.
#[derive(Debug)]
pub(super) struct Sleeper {
    waker: Waker,
    /// The processes whose end wakes it, each with its pidfd; `None` where the system gives us none.
    processes: HashMap<ProcessMark, Option<OwnedFd>>,
}

impl Sleeper {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { waker: Waker::new()?, processes: HashMap::new() })
    }

    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Sleeps until it is woken, one of the processes ends, or the time is over.
    pub(super) fn sleep<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a ProcessMark>,
        longest: Duration,
    ) -> io::Result<WokenBy> {
        let mut watched = HashMap::new();
        for process in processes {
            let known = self.processes.remove(process);
            watched.insert(process.clone(), known.unwrap_or_else(|| open(process)));
        }
        self.processes = watched;
        // A process that cannot be waited for is looked at now and then; one that has just ended is noticed at once.
        let cannot_wait = self.processes.values().any(Option::is_none);
        let longest = if cannot_wait { longest.min(Duration::from_secs(1)) } else { longest };
        let mut polled = vec![PollFd::from_borrowed_fd(self.waker.fd(), PollFlags::IN)];
        polled.extend(self.processes.values().flatten().map(|process| PollFd::new(process, PollFlags::IN)));
        let pause = Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: longest.subsec_nanos().into() };
        match poll(&mut polled, Some(&pause)) {
            Ok(0) => return Ok(WokenBy::Clock),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(WokenBy::Process),
            Err(error) => return Err(error.into()),
        }
        let has_ended = polled[1..].iter().any(|process| !process.revents().is_empty());
        if !polled[0].revents().is_empty() {
            self.waker.reset();
        }
        Ok(if has_ended { WokenBy::Process } else { WokenBy::Waker })
    }
}

/// Returns what becomes readable when a process ends.
fn open(process: &ProcessMark) -> Option<OwnedFd> {
    i32::try_from(process.pid).ok().and_then(Pid::from_raw).and_then(end_of)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{Sleeper, WokenBy};
    use crate::liveness::mark_of;

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn waker_ends_one_sleep() {
        let mut sleeper = Sleeper::new().unwrap();
        sleeper.waker().wake();
        assert_eq!(sleeper.sleep(std::iter::empty(), LONG).unwrap(), WokenBy::Waker);
        assert_eq!(sleeper.sleep(std::iter::empty(), Duration::from_millis(1)).unwrap(), WokenBy::Clock);
    }

    #[test]
    fn the_end_of_a_process_wakes() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let mark = mark_of(child.id()).unwrap();
        let mut sleeper = Sleeper::new().unwrap();
        child.kill().unwrap();
        assert_eq!(sleeper.sleep(std::iter::once(&mark), LONG).unwrap(), WokenBy::Process);
        child.wait().unwrap();
    }
}
