//! Everything that descends from a process of ours, and ending it.

use std::collections::HashSet;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use taskyard::core::{JobFate, JobId};
use taskyard::jobs::JobRecords;
use taskyard::liveness::{Process, sees_processes};

use super::processes;

/// How many looks in a row have to find no process, where only looking tells.
const ENOUGH_LOOKS: u32 = 3;
/// How often processes that became our children are killed at once.
const QUICK_LOOKS: u32 = 30;
/// How often we look for the processes that are to be asked: one look may miss a process beside which another one ends.
const LOOKS_TO_ASK: u32 = 2;

/// What descends from this process, which has adopted everything its descendants left behind.
///
/// A job that was started from within a job stands for itself: neither its supervisor nor what descends from it is counted.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    data: &'a Path,
    own: u32,
    /// The command that all other processes descend from, until it was reaped.
    command: Option<u32>,
    /// Whether there was a child left when we last looked.
    may_have_children: bool,
    /// How many looks in a row have found no process.
    empty_looks: u32,
}

impl<'a> Family<'a> {
    /// Returns the family of this process, which has started this command and nothing else.
    pub(crate) fn of_this_process(data: &'a Path, command: u32) -> Self {
        Self { data, own: std::process::id(), command: Some(command), may_have_children: true, empty_looks: 0 }
    }

    /// Takes notice of those that have ended; returns how the command ended, when it is among them.
    pub(crate) fn reap(&mut self) -> Option<WaitStatus> {
        let mut found = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    // Its number may be another process's from now on.
                    if self.command.take_if(|command| *command == pid.as_raw_pid().unsigned_abs()).is_some() {
                        found = Some(status);
                    }
                }
                Ok(None) => {
                    self.may_have_children = true;
                    return found;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.may_have_children = false;
                    return found;
                }
            }
        }
    }

    /// Tells whether no process of the job is alive.
    ///
    /// A process that loses its parent becomes our child: without a child we have no descendants, and that is certain. Where the supervisor
    /// of another job is our child, several looks that find no other process have to agree: one may miss a process that hands on to a child
    /// of its own that very moment.
    pub(crate) fn is_alone(&mut self) -> bool {
        if !self.may_have_children {
            return true;
        }
        self.empty_looks = if self.living().is_empty() { self.empty_looks + 1 } else { 0 };
        self.empty_looks >= ENOUGH_LOOKS
    }

    /// Asks every living process of the job to end. A process that begins later is not asked: it may be what brings things in order.
    pub(crate) fn ask(&self) {
        self.signal_unseen(&[Signal::TERM, Signal::CONT]);
        let mut asked = HashSet::new();
        for _ in 0..LOOKS_TO_ASK {
            for process in self.living() {
                if asked.insert((process.pid, process.started)) {
                    processes::signal(&process, Signal::TERM);
                    // One that is suspended could not hear it.
                    processes::signal(&process, Signal::CONT);
                }
            }
        }
    }

    /// Kills every living process of the job, and again and again those that became our children meanwhile: a program that hands on from
    /// process to process is faster than a look at all of them.
    pub(crate) fn kill(&self) {
        self.signal_unseen(&[Signal::KILL]);
        let kill = |process: &Process| {
            processes::signal(process, Signal::KILL);
        };
        self.living().iter().for_each(kill);
        for _ in 0..QUICK_LOOKS {
            let children = processes::children(self.own);
            children.iter().filter(|child| !self.is_supervisor(child)).for_each(kill);
        }
    }

    /// Signals the command's process group where processes cannot be seen: that is all that is known of them then.
    fn signal_unseen(&self, signals: &[Signal]) {
        if let Some(group) = self.command.filter(|_| !sees_processes()).and_then(processes::pid) {
            for signal in signals {
                // It may have ended this very moment.
                let _ = kill_process_group(group, *signal);
            }
        }
    }

    /// Returns every living process of the job.
    fn living(&self) -> Vec<Process> {
        if !self.may_have_children {
            return Vec::new();
        }
        processes::descendants(self.own, |process| self.is_supervisor(process))
    }

    /// Tells whether a process is the supervisor of another job. What it was started with says which; whether that is so, the
    /// record.
    fn is_supervisor(&self, process: &Process) -> bool {
        if process.session != process.pid {
            return false;
        }
        let Some(job) = supervised_by(process.pid) else { return false };
        let records = JobRecords::look(self.data).ok().flatten();
        let record = records.and_then(|records| records.find(&job).ok().flatten());
        record.is_some_and(|record| match record.job.fate {
            JobFate::Running { supervisor, .. } => {
                (supervisor.pid, supervisor.started) == (process.pid, process.started)
            }
            _ => false,
        })
    }
}

/// Returns the job that a process was started to look after.
fn supervised_by(pid: u32) -> Option<JobId> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).skip_while(|word| *word != b"supervise");
    // The word itself, the data directory, and then the job.
    std::str::from_utf8(words.nth(2)?).ok()?.parse().ok()
}

/// Has this process adopt those of its descendants that lose their parent.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    // Any number but zero means yes.
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// Does nothing: this system gives orphans to its first process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    let _ = Pid::INIT;
    Ok(())
}
