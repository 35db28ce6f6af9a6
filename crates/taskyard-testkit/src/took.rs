//! How long a command took, and how much of that it waited.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{Process, Program};
use crate::ran::Ran;

/// How often is looked what a command does.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How long a command took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// From its start to its end. On a busy machine this is longer, never shorter.
    pub elapsed: Duration,
    /// The part of it in which the command was seen to wait for something that happens: a lock, a pipe, a moment. What else the machine does
    /// does not make it longer: standing in line for a processor or for the disk is no part of it.
    pub waited: Duration,
    /// The part of it in which the command worked.
    pub worked: Duration,
}

impl Took {
    /// Runs a command that says little to its end.
    pub fn by(command: Program) -> (Ran, Self) {
        Self::within(command, Duration::MAX)
    }

    /// Runs a command that says little to its end, and kills it once it has waited for longer than this.
    pub fn within(mut command: Program, longest: Duration) -> (Ran, Self) {
        let started = Instant::now();
        let process = command.start();
        let mut waited = Duration::ZERO;
        while !process.has_ended() {
            if is_asleep(&process) {
                waited += BETWEEN_LOOKS;
            }
            if waited > longest {
                process.signal(Signal::KILL);
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        // What it used can be read until it is reaped.
        let took = Self { elapsed: started.elapsed(), waited, worked: worked(&process) };
        (process.end(), took)
    }
}

/// Tells whether every thread of a process sleeps until something happens. The system has another word for those that wait for a disk.
fn is_asleep(process: &Process) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", process.id())) else { return false };
    let mut threads =
        threads.flatten().map(|thread| fs::read_to_string(thread.path().join("stat")).unwrap_or_default());
    threads.all(|stat| stat.rsplit_once(')').is_some_and(|(_, fields)| fields.trim_start().starts_with('S')))
}

/// Returns how long a process that is not reaped yet was on a processor.
fn worked(process: &Process) -> Duration {
    let used = fs::read_to_string(format!("/proc/{}/schedstat", process.id())).unwrap_or_default();
    Duration::from_nanos(used.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or_default())
}
