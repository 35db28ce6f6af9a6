//! How long a command took, and how much of that it waited.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::ran::Ran;

/// How long a command took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// From its start to its end. On a busy machine this is longer, never shorter.
    pub elapsed: Duration,
    /// The part of it in which the command neither worked nor stood in line for a processor. Other programs do not make it longer.
    pub waited: Duration,
}

impl Took {
    /// Runs a command that says little to its end.
    pub fn by(mut command: Command) -> (Ran, Self) {
        let started = Instant::now();
        let child = command.spawn().expect("the binary can be started");
        // What it used can be read until somebody takes notice of its end.
        let ended = waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        ended.expect("a child can be waited for");
        let elapsed = started.elapsed();
        // The nanoseconds on a processor, and those in line for one.
        let used = fs::read_to_string(format!("/proc/{}/schedstat", child.id())).unwrap_or_default();
        let used: u64 = used.split_whitespace().take(2).filter_map(|time| time.parse::<u64>().ok()).sum();
        (Ran::wait(child), Self { elapsed, waited: elapsed.saturating_sub(Duration::from_nanos(used)) })
    }
}
