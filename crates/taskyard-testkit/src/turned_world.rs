//! A world whose clocks and processes a test moves by hand.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use taskyard::core::{Moment, ProcessMark, Timestamp};
use taskyard::leases::World;

/// Clocks that stand still until they are turned, and processes that run until they are told to end.
#[derive(Debug)]
pub struct TurnedWorld(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    wall: i64,
    since_boot: i64,
    boots: u32,
    processes: u32,
    running: HashSet<ProcessMark>,
}

impl Default for TurnedWorld {
    fn default() -> Self {
        let wall = 1_800_000_000_000;
        let (since_boot, boots, processes) = (1_000_000, 1, 0);
        Self(Mutex::new(Inner { wall, since_boot, boots, processes, running: HashSet::new() }))
    }
}

impl TurnedWorld {
    /// Lets time pass, by both clocks.
    pub fn pass(&self, time: Duration) {
        let time = i64::try_from(time.as_millis()).unwrap();
        let mut inner = self.inner();
        inner.wall += time;
        inner.since_boot += time;
    }

    /// Sets the clock that people read, by so many milliseconds.
    pub fn set_wall_clock(&self, by: i64) {
        self.inner().wall += by;
    }

    /// Turns the machine off and on: every process ends, and the clock since then begins at nothing.
    pub fn restart(&self, off: Duration) {
        let mut inner = self.inner();
        inner.wall += i64::try_from(off.as_millis()).unwrap();
        inner.since_boot = 0;
        inner.boots += 1;
        inner.running.clear();
    }

    /// Starts a process.
    pub fn start_process(&self) -> ProcessMark {
        let mut inner = self.inner();
        inner.processes += 1;
        let mark = ProcessMark { pid: inner.processes, started: 1, boot: boot(inner.boots) };
        inner.running.insert(mark.clone());
        mark
    }

    /// Ends a process.
    pub fn end_process(&self, process: &ProcessMark) {
        self.inner().running.remove(process);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }
}

impl World for TurnedWorld {
    fn now(&self) -> Moment {
        let inner = self.inner();
        Moment { wall: Timestamp(inner.wall), boot: boot(inner.boots), since_boot: inner.since_boot }
    }

    fn is_running(&self, process: &ProcessMark) -> bool {
        self.inner().running.contains(process)
    }
}

fn boot(number: u32) -> String {
    format!("boot {number}")
}
