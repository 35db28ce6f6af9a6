//! Waking a sleeper from another thread, or by the end of a process.

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use taskyard_core::ProcessMark;

/// Wakes a sleeper from elsewhere.
#[derive(Clone, Debug)]
pub struct Bell(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The end of the pipe to which a byte is written to wake the sleeper.
    wake_writer: PipeWriter,
    /// Whether that byte was written and the sleeper has not read it yet.
    is_rung: AtomicBool,
    /// Whether a caller wants the sleeper to look again whatever has moved.
    is_asked: AtomicBool,
    /// Whether the sleeper is to stop waiting, for good.
    is_stopped: AtomicBool,
}

impl Bell {
    /// Lets the sleeper look again.
    pub fn ring(&self) {
        self.0.is_asked.store(true, Ordering::SeqCst);
        self.nudge();
    }

    /// Wakes the sleeper to see for itself whether anything has happened.
    pub(super) fn nudge(&self) {
        // One byte wakes it; more would only fill the pipe.
        if !self.0.is_rung.swap(true, Ordering::SeqCst) {
            // A sleeper that is gone needs no waking.
            let _ = (&self.0.wake_writer).write_all(b"!");
        }
    }

    /// Lets the sleeper stop waiting, for good.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Tells whether a caller wanted the sleeper to look again since this was last asked.
    pub(super) fn was_asked(&self) -> bool {
        self.0.is_asked.swap(false, Ordering::SeqCst)
    }

    /// Tells whether the sleeper was told to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::SeqCst)
    }
}

/// What woke a sleeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waker {
    /// Its bell.
    Bell,
    /// The end of a process, or a signal.
    Process,
    /// The time was over.
    Clock,
}

/// A thread that sleeps until a bell rings or a process ends.
#[derive(Debug)]
pub(super) struct Sleeper {
    bell: Bell,
    /// The end of the pipe that the sleeper polls.
    wake_reader: PipeReader,
    /// The processes whose end wakes it, each with its pidfd; none where the system gives us none.
    processes: HashMap<ProcessMark, Option<OwnedFd>>,
}

impl Sleeper {
    pub(super) fn new() -> io::Result<Self> {
        let (wake_reader, wake_writer) = io::pipe()?;
        let inner = Inner { wake_writer, is_rung: false.into(), is_asked: false.into(), is_stopped: false.into() };
        Ok(Self { bell: Bell(Arc::new(inner)), wake_reader, processes: HashMap::new() })
    }

    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Sleeps until the bell rings, one of the processes ends, or the time is over. Returns what it was that woke it.
    pub(super) fn sleep<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a ProcessMark>,
        longest: Duration,
    ) -> io::Result<Waker> {
        let mut watched = HashMap::new();
        for process in processes {
            let known = self.processes.remove(process);
            watched.insert(process.clone(), known.unwrap_or_else(|| open(process.pid)));
        }
        self.processes = watched;
        // A process that cannot be waited for is looked at now and then; one that has just ended is noticed at once.
        let cannot_wait = self.processes.values().any(Option::is_none);
        let longest = if cannot_wait { longest.min(Duration::from_secs(1)) } else { longest };
        let mut polled = vec![PollFd::new(&self.wake_reader, PollFlags::IN)];
        polled.extend(self.processes.values().flatten().map(|process| PollFd::new(process, PollFlags::IN)));
        let pause = Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: longest.subsec_nanos().into() };
        match poll(&mut polled, Some(&pause)) {
            Ok(0) => return Ok(Waker::Clock),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Waker::Process),
            Err(error) => return Err(error.into()),
        }
        let has_ended = polled[1..].iter().any(|process| !process.revents().is_empty());
        if !polled[0].revents().is_empty() {
            drop(polled);
            self.bell.0.is_rung.store(false, Ordering::SeqCst);
            // One byte is all that is ever there.
            self.wake_reader.read_exact(&mut [0])?;
        }
        Ok(if has_ended { Waker::Process } else { Waker::Bell })
    }
}

/// Returns what the end of a process can be waited for with.
#[cfg(target_os = "linux")]
fn open(pid: u32) -> Option<OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Returns nothing: this system has no way to wait for the end of a process that is not ours.
#[cfg(not(target_os = "linux"))]
fn open(_pid: u32) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{Sleeper, Waker};
    use crate::liveness::mark_of;

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_ring_wakes_once_and_a_ring_before_the_sleep_is_not_lost() {
        let mut sleeper = Sleeper::new().unwrap();
        sleeper.bell().ring();
        sleeper.bell().ring();
        assert_eq!(sleeper.sleep(std::iter::empty(), LONG).unwrap(), Waker::Bell);
        assert_eq!(sleeper.sleep(std::iter::empty(), Duration::from_millis(1)).unwrap(), Waker::Clock);
        let bell = sleeper.bell().clone();
        let ringer = std::thread::spawn(move || bell.stop());
        assert_eq!(sleeper.sleep(std::iter::empty(), LONG).unwrap(), Waker::Bell);
        ringer.join().unwrap();
        assert!(sleeper.bell().is_stopped());
    }

    #[test]
    fn the_end_of_a_process_wakes() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let mark = mark_of(child.id()).unwrap();
        let mut sleeper = Sleeper::new().unwrap();
        child.kill().unwrap();
        assert_eq!(sleeper.sleep(std::iter::once(&mark), LONG).unwrap(), Waker::Process);
        child.wait().unwrap();
    }
}
