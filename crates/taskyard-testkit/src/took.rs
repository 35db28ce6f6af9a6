//! How long a command took, and how much of that it waited.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::process::{Process, Program};
use crate::ran::Ran;

/// How long a command took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// From its start to its end. On a busy machine this is longer, never shorter.
    pub elapsed: Duration,
    /// The part of it in which the command neither worked nor stood in line for a processor. Other programs do not make it longer.
    pub waited: Duration,
    /// The part of it in which the command worked.
    pub worked: Duration,
}

impl Took {
    /// Runs a command that says little to its end.
    pub fn by(mut command: Program) -> (Ran, Self) {
        let started = Instant::now();
        let process = command.start();
        // What it used can be read until it is reaped.
        let ended = waitid(WaitId::Pid(process.pid()), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        ended.expect("a child can be waited for");
        let took = Self::until_now(&process, started);
        (process.end(), took)
    }

    /// Returns how long a process has taken that was started at that moment and is not reaped yet.
    pub fn until_now(process: &Process, started: Instant) -> Self {
        let elapsed = started.elapsed();
        // The nanoseconds on a processor, and those in line for one.
        let used = fs::read_to_string(format!("/proc/{}/schedstat", process.id())).unwrap_or_default();
        let mut used = used.split_whitespace().map(|time| Duration::from_nanos(time.parse().unwrap_or_default()));
        let [worked, in_line] = [used.next().unwrap_or_default(), used.next().unwrap_or_default()];
        Self { elapsed, waited: elapsed.saturating_sub(worked + in_line), worked }
    }
}
