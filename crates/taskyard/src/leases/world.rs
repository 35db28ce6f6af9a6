//! The time, and which processes run.

use std::fmt::Debug;

use taskyard_core::rules::leasing::{LeaseState, judge_lease};
use taskyard_core::{Lease, Moment, ProcessMark, Timestamp};

use crate::clock;

/// Where leases live and end. Tests bring one whose time they turn themselves.
pub trait World: Debug + Send + Sync {
    /// Returns the moment it is.
    fn now(&self) -> Moment;

    /// Tells whether a process of this run of the machine still runs.
    fn is_running(&self, process: &ProcessMark) -> bool;

    /// Judges a lease by both.
    fn judge(&self, lease: &Lease) -> LeaseState {
        judge_lease(lease, &self.now(), |process| self.is_running(process))
    }
}

/// The machine we run on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl ThisMachine {
    /// Returns the mark of a process that runs now; none where there is no such process.
    pub fn mark(pid: u32) -> Option<ProcessMark> {
        let started = started(pid)?;
        Some(ProcessMark { pid, started, boot: clock::boot_id() })
    }

    /// Returns the mark of this process.
    pub fn own_mark() -> ProcessMark {
        let pid = std::process::id();
        Self::mark(pid).unwrap_or_else(|| ProcessMark { pid, started: 0, boot: clock::boot_id() })
    }
}

impl World for ThisMachine {
    fn now(&self) -> Moment {
        Moment {
            wall: Timestamp(clock::wall() / 1_000_000),
            boot: clock::boot_id(),
            since_boot: clock::since_boot() / 1_000_000,
        }
    }

    fn is_running(&self, process: &ProcessMark) -> bool {
        started(process.pid).is_some_and(|started| started == process.started)
    }
}

/// Returns when a living process started; none where it has ended. One that has ended and whose parent has not noticed yet is
/// no living process.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the command stands in parentheses and may hold anything, more parentheses included.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let is_alive = !matches!(state, "Z" | "X" | "x");
    // The state is the third field of the line, the start time the 22nd.
    is_alive.then(|| fields.nth(18)?.parse().ok()).flatten()
}

/// Returns 0 for a living process: this system does not tell when it started.
#[cfg(not(target_os = "linux"))]
fn started(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)?;
    (rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)).then_some(0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use taskyard_core::ProcessMark;

    use super::{ThisMachine, World};

    #[test]
    fn a_process_runs_until_it_ends_whether_or_not_its_parent_has_noticed() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mark = ThisMachine::mark(child.id()).unwrap();
        assert!(ThisMachine.is_running(&mark));
        assert!(!ThisMachine.is_running(&ProcessMark { started: mark.started + 1, ..mark.clone() }));
        child.kill().unwrap();
        // Not waited for: it stays in the process table.
        while ThisMachine.is_running(&mark) {
            std::thread::yield_now();
        }
        assert!(ThisMachine::mark(child.id()).is_none());
        child.wait().unwrap();
    }

    #[test]
    fn this_process_runs() {
        let own = ThisMachine::own_mark();
        assert!(ThisMachine.is_running(&own));
        assert_eq!(own.boot, ThisMachine.now().boot);
    }
}
