//! Everything that descends from a supervisor, and ending it.

use std::collections::HashSet;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};
use taskyard_core::JobFate;

use super::processes::{self, Process};
use super::record::Record;
use crate::machine::{JobRows, Machine};

/// How many looks in a row have to find nobody, where only looking tells.
const ENOUGH_LOOKS: u32 = 3;
/// How often those who became our children are killed at once.
const QUICK_LOOKS: u32 = 30;

/// What descends from this process, which has adopted everything its descendants left behind.
#[derive(Debug)]
pub(super) struct Family<'a> {
    data: &'a std::path::Path,
    own: u32,
    /// Whether there was a child left when we last looked.
    may_have_children: bool,
    /// How many looks in a row have found nobody.
    empty_looks: u32,
}

impl<'a> Family<'a> {
    /// Returns the family of this process.
    pub(super) fn of_this_process(data: &'a std::path::Path) -> Self {
        Self { data, own: std::process::id(), may_have_children: true, empty_looks: 0 }
    }

    /// Takes notice of those that have ended; returns how one of them ended.
    pub(super) fn reap(&mut self, wanted: u32) -> Option<WaitStatus> {
        let mut found = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if pid.as_raw_pid().unsigned_abs() == wanted {
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

    /// Returns everybody who is alive. A job that was started from within a job stands for itself: neither its supervisor nor
    /// what descends from it is counted.
    pub(super) fn living(&self) -> Vec<Process> {
        // Whoever loses his parent becomes our child: without a child we have no descendants.
        if !self.may_have_children {
            return Vec::new();
        }
        let everybody = processes::descendants(self.own);
        if everybody.is_empty() {
            return everybody;
        }
        let supervisors = self.supervisors();
        let is_supervisor = |process: &Process| supervisors.contains(&(process.pid, process.started));
        if !everybody.iter().any(is_supervisor) {
            return everybody;
        }
        let mut apart: HashSet<u32> = everybody.iter().filter(|one| is_supervisor(one)).map(|one| one.pid).collect();
        // Parents come before their children, except that a family is not listed in order: repeat until nothing changes.
        loop {
            let more: Vec<u32> = everybody
                .iter()
                .filter(|one| apart.contains(&one.parent) && !apart.contains(&one.pid))
                .map(|one| one.pid)
                .collect();
            if more.is_empty() {
                return everybody.into_iter().filter(|one| !apart.contains(&one.pid)).collect();
            }
            apart.extend(more);
        }
    }

    /// Tells whether nobody is alive.
    ///
    /// A look at all processes may miss one that hands on to a child of its own that very moment. That we have no child is
    /// certain; where the supervisor of another job is our child, several looks have to agree.
    pub(super) fn is_alone(&mut self) -> bool {
        if !self.may_have_children {
            return true;
        }
        let supervisors = self.supervisors();
        let everybody = processes::descendants(self.own);
        let has_other_jobs = everybody.iter().any(|one| supervisors.contains(&(one.pid, one.started)));
        self.empty_looks = if has_other_jobs && self.living().is_empty() { self.empty_looks + 1 } else { 0 };
        self.empty_looks >= ENOUGH_LOOKS
    }

    /// Asks everybody who is alive to end.
    pub(super) fn ask(&self) {
        self.signal(Signal::TERM);
        // One that is suspended could not hear it.
        self.signal(Signal::CONT);
    }

    /// Sends a signal to everybody who is alive.
    fn signal(&self, signal: Signal) {
        for process in &self.living() {
            processes::signal(process, signal);
        }
    }

    /// Kills everybody who is alive, and again and again those who became our children meanwhile: who hands on from process to
    /// process is faster than a look at all of them.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
        let supervisors = self.supervisors();
        for _ in 0..QUICK_LOOKS {
            for child in processes::children(self.own).iter().filter_map(|pid| processes::look_at(*pid)) {
                if !supervisors.contains(&(child.pid, child.started)) {
                    processes::signal(&child, Signal::KILL);
                }
            }
        }
    }

    /// Returns the supervisors of other jobs.
    fn supervisors(&self) -> HashSet<(u32, u64)> {
        let rows = Machine::look(self.data).ok().flatten().and_then(|machine| machine.job_rows(&JobRows::Living).ok());
        let records = rows.unwrap_or_default().into_iter().filter_map(|row| Record::from_row(&row).ok());
        let marks = records.filter_map(|record| match record.job.fate {
            JobFate::Running { supervisor, .. } => Some((supervisor.pid, supervisor.started)),
            _ => None,
        });
        marks.filter(|(pid, _)| *pid != self.own).collect()
    }
}

/// Has this process adopt whoever loses his parent among its descendants.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() -> std::io::Result<()> {
    // Any number but zero means yes.
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// Does nothing: this system gives orphans to its first process.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() -> std::io::Result<()> {
    let _ = Pid::INIT;
    Ok(())
}
