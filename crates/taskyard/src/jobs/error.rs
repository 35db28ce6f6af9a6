//! Why nothing could be found out about a job, or done to it.

use std::io;
use std::path::PathBuf;

use taskyard_core::{JobId, ProcessMark};

use crate::liveness::standpoint;
use crate::machine::MachineError;
use crate::store::StoreError;

/// Why a job could not be started, found, read or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The machine's database gave no answer.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The store gave no answer that machines share their jobs in.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such job.
    #[error("there is no job `{}`", .name.escape_debug())]
    NoSuchJob {
        /// What was asked for.
        name: String,
    },
    /// What is recorded of a job cannot be read.
    #[error("what is recorded of job {job} cannot be read: {source}")]
    Record {
        /// The job.
        job: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// What lies where output belongs is no directory of ours, or every user may write there.
    #[error("`{}` is not a directory that only we can write to; output is not put there", .path.display())]
    ForeignDirectory {
        /// The directory that output was to be put in.
        path: PathBuf,
    },
    /// The output of all jobs together leaves no room for another.
    #[error("the output of all jobs may take {quota} bytes, {used} are taken, and another job needs {needed}")]
    NoRoom {
        /// How many bytes they take.
        used: u64,
        /// How many bytes they may take.
        quota: u64,
        /// How many bytes another job needs at least.
        needed: u64,
    },
    /// The process that looks after the job did not come up.
    #[error("the job's supervisor did not start: {why}")]
    NoSupervisor {
        /// What it said.
        why: String,
    },
    /// The job runs where its processes cannot be seen from here.
    #[error("job {job} runs {}, where its processes cannot be reached from here", place_of(.by))]
    RunsElsewhere {
        /// The job that cannot be reached.
        job: JobId,
        /// The process that looks after it.
        by: Box<ProcessMark>,
    },
    /// The supervisor of a job of another machine was asked for something and has not answered.
    #[error("job {job} runs on `{}`, and its supervisor there does not answer", .machine.escape_debug())]
    NoAnswer {
        /// The job.
        job: JobId,
        /// The host name of its machine.
        machine: String,
    },
    /// The job's processes could not be ended.
    #[error("job {job} was stopped, but {} of its processes would not end", .pids.len())]
    Unstoppable {
        /// The job that was stopped.
        job: JobId,
        /// The ids of the processes that still run.
        pids: Vec<u32>,
    },
}

/// Says where a process runs that cannot be seen.
fn place_of(process: &ProcessMark) -> String {
    let here = standpoint();
    if !process.machine.is_empty() && process.machine != here.machine {
        return format!("on the machine {}", process.machine);
    }
    if !process.pid_space.is_empty() && process.pid_space != here.pid_space {
        return format!("in another container ({})", process.pid_space);
    }
    "as a process that is hidden from us".to_owned()
}

impl JobError {
    /// Returns a function that wraps an error of the system with what was tried, as the beginning of a sentence, and on what.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
