//! What this program does for a job when no user typed the command: it looks after it, and becomes its command.

use std::ffi::OsString;
use std::process::ExitCode;

use taskyard::core::Job;
use taskyard::failpoint;
use taskyard::jobs::JobSettings;
use taskyard_jobs::dispatch;

use crate::environment::Environment;
use crate::places;
use crate::reopening::{settle_end_of, shared_jobs_of};

/// Does what a job needs of this program; none where something was typed. The tree of commands is not built for it, because it
/// is started twice for every job and every command of `work`.
pub(crate) fn background(typed: &[OsString], environment: &Environment) -> Option<ExitCode> {
    let place = || {
        if let Some(plan) = &environment.failpoints {
            failpoint::arm(plan).ok()?;
        }
        places::jobs(environment, JobSettings::default()).ok()
    };
    let there = environment.clone();
    let share = move |job: &Job| shared_jobs_of(job, &there);
    dispatch(typed.iter().cloned(), place, share, |jobs, job| settle_end_of(jobs, job, environment))
}
