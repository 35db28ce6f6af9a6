//! Everything that descends from a supervisor, and ending it.

use std::collections::HashSet;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};
use taskyard_core::JobFate;

use super::processes::{self, Process};
use super::record::Record;
use crate::machine::{JobRows, Machine};

/// What descends from this process, which has adopted everything its descendants left behind.
#[derive(Debug)]
pub(super) struct Family<'a> {
    data: &'a std::path::Path,
    own: u32,
    /// Whether there was a child left when we last looked.
    may_have_children: bool,
}

impl<'a> Family<'a> {
    /// Returns the family of this process.
    pub(super) fn of_this_process(data: &'a std::path::Path) -> Self {
        Self { data, own: std::process::id(), may_have_children: true }
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

    /// Sends a signal to everybody who is alive, and returns how many there are.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        let living = self.living();
        for process in &living {
            processes::signal(process, signal);
        }
        living.len()
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
