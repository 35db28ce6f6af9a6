//! The records of jobs: on this machine, and those that machines share through a store.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use taskyard_core::{AgentName, Gap, Job, JobId, JobState, ListId, TaskId};

use super::{JobError, JobRecord};
use crate::machine::machine_jobs::JobQuery;
use crate::machine::{
    JobRow, Machine, find_job, has_been, insert_job, insert_reopening, queue_notice, remove_job, remove_reopening,
    replace_job,
};
use crate::private;
use crate::sqlite::Database;
use crate::store::{Moved, StoreError};
use crate::system::about_to_block;

/// The open job records of this machine. Every change is one transaction, which waits for those of other processes.
///
/// A record may be out of date: the record of a job whose supervisor was killed still says that the job is running. The
/// crate `taskyard-jobs` checks that, and starts and stops jobs.
#[derive(Debug)]
pub struct JobRecords {
    data: PathBuf,
    machine: Machine,
}

impl JobRecords {
    /// Reads the records of a data directory as they are now; `None` if nothing was ever recorded.
    pub fn look(data: &Path) -> Result<Option<Self>, JobError> {
        Ok(Machine::read(data)?.map(|machine| Self { data: data.to_owned(), machine }))
    }

    /// Opens the records of a data directory for writing, creating what is missing.
    pub fn open(data: &Path) -> Result<Self, JobError> {
        Ok(Self { data: data.to_owned(), machine: Machine::open(data)? })
    }

    /// Stops waiting for commits to reach the disk: after a power loss the last commits may be missing, but none is
    /// incomplete.
    pub fn hurry(&self) -> Result<(), JobError> {
        Ok(self.machine.hurry()?)
    }

    /// Makes commits wait until they have reached the disk.
    pub fn take_care(&self) -> Result<(), JobError> {
        Ok(self.machine.take_care()?)
    }

    /// Creates the directory for the files of jobs, inaccessible to other users.
    pub fn make_directory(data: &Path) -> Result<(), JobError> {
        let jobs = data.join("jobs");
        private::make_directory(&jobs).map_err(JobError::io("cannot create", jobs))
    }

    /// Returns whether a data directory may have jobs at all. Very cheap.
    pub fn may_be_any(data: &Path) -> bool {
        about_to_block("looking for jobs");
        data.join("jobs").exists()
    }

    /// Returns the record of a job, or `None` if there is none.
    pub fn find(&self, id: &JobId) -> Result<Option<JobRecord>, JobError> {
        self.machine.job_row(id.as_str())?.map(|row| JobRecord::from_row(&row)).transpose()
    }

    /// Returns the records that the query selects, in its order. Records of a newer Taskyard that cannot be read are
    /// skipped.
    pub fn select(&self, which: &JobQuery<'_>) -> Result<Vec<JobRecord>, JobError> {
        let rows: Vec<JobRow> = self.machine.job_rows(which)?;
        let readable = |row: &JobRow| {
            JobRecord::from_row(row).inspect_err(|error| tracing::warn!(job = row.id, %error, "passed over")).ok()
        };
        Ok(rows.iter().filter_map(readable).collect())
    }

    /// Returns how many bytes are reserved for the output of all jobs.
    pub fn reserved(&self) -> Result<u64, JobError> {
        Ok(self.machine.job_sizes()?)
    }

    /// Inserts the record of a new job; returns `false` without recording anything if the id has ever been used.
    pub fn insert(&mut self, record: &JobRecord) -> Result<bool, JobError> {
        let (data, job) = (&self.data, &record.job);
        let inserted = self.machine.alone(data, |transaction| {
            if has_been(transaction, job.id.as_str())? {
                return Ok(false);
            }
            if job.reopens_task {
                insert_reopening(transaction, job.id.as_str())?;
                // If the database can be written, so can this file; otherwise the commit that follows fails as well.
                let _ = Self::make_directory(data).map(|()| private::open(&reopening_mark(data)));
            }
            insert_job(transaction, &record.to_row()).map(|()| true)
        })?;
        Ok(inserted)
    }

    /// Saves the record of a job if `change` returns `true`; returns the record as it is afterwards, or `None` if there
    /// is none. If the change ends the job, the notice of its end is queued in the same transaction.
    pub fn change(
        &mut self,
        id: &JobId,
        change: impl FnOnce(&mut JobRecord) -> bool,
    ) -> Result<Option<JobRecord>, JobError> {
        self.machine.alone(&self.data, |transaction| {
            let Some(row) = find_job(transaction, id.as_str())? else { return Ok(Ok(None)) };
            let mut record = match JobRecord::from_row(&row) {
                Ok(record) => record,
                Err(error) => return Ok(Err(error)),
            };
            let was_over = record.job.state().is_over();
            if change(&mut record) {
                replace_job(transaction, &record.to_row())?;
                if !was_over && record.job.state().is_over() {
                    queue_notice(transaction, &record.job)?;
                }
            }
            Ok(Ok(Some(record)))
        })?
    }

    /// Removes the record of a job that is still pending; returns `false` if there is no such record.
    pub fn remove_pending(&mut self, id: &JobId) -> Result<bool, JobError> {
        self.remove(id, |row| row.state == JobState::Pending.as_str())
    }

    /// Removes the record of a job that has ended; returns `false` if there is none. Undelivered notices to its agent
    /// are kept.
    pub fn remove_ended(&mut self, id: &JobId) -> Result<bool, JobError> {
        self.remove(id, |row| row.ended.is_some())
    }

    fn remove(&mut self, id: &JobId, is_meant: impl FnOnce(&JobRow) -> bool) -> Result<bool, JobError> {
        let remove = |transaction: &Database| match find_job(transaction, id.as_str())? {
            Some(row) if is_meant(&row) => remove_job(transaction, id.as_str()).map(|()| true),
            _ => Ok(false),
        };
        Ok(self.machine.alone(&self.data, remove)?)
    }

    /// Returns whether the end of some job of a data directory may have to reopen a task. Very cheap.
    pub fn may_reopen_tasks(data: &Path) -> bool {
        about_to_block("looking for lost jobs");
        reopening_mark(data).exists()
    }

    /// Returns the jobs that were recorded with the request to reopen their task on failure and for which that is still
    /// pending.
    pub fn reopenings(&self) -> Result<Vec<JobId>, JobError> {
        Ok(self.machine.reopenings()?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Records that the task of a job was reopened, or need not be. Only the process that reopens tasks may call this.
    pub fn settle_reopening(&mut self, id: &JobId) -> Result<(), JobError> {
        let mark = reopening_mark(&self.data);
        let settled = self.machine.alone(&self.data, |transaction| {
            if remove_reopening(transaction, id.as_str())? {
                let _ = fs::remove_file(&mark);
            }
            Ok(())
        });
        if settled.is_err() {
            // The job is still in the table, so the mark has to exist.
            let _ = private::open(&mark);
        }
        Ok(settled?)
    }
}

/// Returns the path of a file that exists while the table of jobs that may reopen tasks is not empty.
fn reopening_mark(data: &Path) -> PathBuf {
    data.join("jobs").join("reopening")
}

/// The maximum length of the end of a job's output that is kept with its record, in bytes.
pub const LONGEST_TAIL: u64 = 64 << 10;

/// The jobs that a store shared by many machines has for its lists: the last reports of their supervisors, and the
/// requests to them from other machines.
///
/// The files on a job's own machine remain authoritative; a report may lag behind them. A job whose supervisor sends no
/// more heartbeats is lost, for every reader and by the same rule as leases.
pub trait SharedJobs: fmt::Debug + Send + Sync {
    /// Records a supervisor's report on its job, and that the supervisor (this process) is alive. Returns the requests
    /// to it; `None`, with nothing recorded, if another machine has a job of the same id.
    fn report(&self, report: &JobReport<'_>) -> Result<Option<JobRequests>, StoreError>;

    /// Records that a supervisor (this process) is alive, and returns the requests to it; `None` if its job is not
    /// recorded.
    fn requests(&self, job: &JobId) -> Result<Option<JobRequests>, StoreError>;

    /// Answers a request for output. Answering twice with the same part is harmless.
    fn answer(&self, job: &JobId, request: &OutputRequest, part: &OutputPart) -> Result<(), StoreError>;

    /// Returns jobs, oldest first, with the machines they run on.
    fn list(&self, which: &SharedJobsQuery<'_>) -> Result<Vec<Job>, StoreError>;

    /// Returns a job and the kept part of its output starting at `offset`; `None` if there is no such job.
    fn tail(&self, job: &JobId, offset: u64) -> Result<Option<SharedTail>, StoreError>;

    /// Asks the supervisor of a job to stop it. The supervisor does so when it receives the request.
    fn request_stop(&self, job: &JobId, by: &AgentName) -> Result<(), StoreError>;

    /// Asks the supervisor of a job for a part of its output, and returns the number of the request.
    fn request_output(&self, job: &JobId, offset: u64, length: u64) -> Result<i64, StoreError>;

    /// Takes the answer to a request for output, and deletes the request; `None` if it is not answered yet.
    fn take_output(&self, request: i64) -> Result<Option<OutputPart>, StoreError>;

    /// Deletes the records of jobs of this machine.
    fn forget(&self, jobs: &[JobId]) -> Result<(), StoreError>;

    /// Calls `moved` whenever there may be news, until the returned value is dropped.
    fn follow(&self, job: &JobId, of: JobNews, moved: Moved) -> Box<dyn JobWatch>;
}

/// What to follow of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobNews {
    /// The reports and answers of its supervisor.
    Reports,
    /// The requests to its supervisor.
    Requests,
}

/// Watches a job for one follower, until it is dropped.
pub trait JobWatch: Send {
    /// Returns how long the follower waits for a notification before it checks by itself.
    fn interval(&self) -> Duration;
}

/// Selects jobs.
#[derive(Clone, Copy, Debug)]
pub enum SharedJobsQuery<'a> {
    /// All jobs of the store.
    All,
    /// The jobs of a list.
    List(&'a ListId),
    /// The jobs of a task.
    Task(&'a ListId, &'a TaskId),
    /// The job with this id.
    Id(&'a JobId),
    /// The jobs with this name.
    Named(&'a str),
}

/// A supervisor's report on its job.
#[derive(Clone, Debug)]
pub struct JobReport<'a> {
    /// The job.
    pub job: &'a Job,
    /// The host name of its machine.
    pub host: &'a str,
    /// The end of its output, at most [`LONGEST_TAIL`] bytes.
    pub tail: &'a [u8],
}

/// The requests to a supervisor from other machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRequests {
    /// Whether to stop its job.
    pub stop: bool,
    /// The parts of its output that are requested.
    pub output: Vec<OutputRequest>,
}

/// A request for a part of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRequest {
    /// The number of the request.
    pub number: i64,
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// A contiguous part of a job's output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPart {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The offset of the first byte in the whole output.
    pub from: u64,
    /// The offset at which to continue reading.
    pub next: u64,
    /// The requested part that was omitted from the output; `bytes` begins after it.
    pub gap: Option<Gap>,
}

/// The kept part of a job's output.
#[derive(Clone, Debug)]
pub struct SharedTail {
    /// The job.
    pub job: Job,
    /// The offset of the first byte: the one that was asked for, or a later one if less is kept.
    pub from: u64,
    /// The bytes up to the newest one.
    pub bytes: Vec<u8>,
}
