//! The jobs of all machines that share a store.

use std::fmt;
use std::time::Duration;

use taskyard_core::{AgentName, Gap, Job, JobId, ListId, TaskId};

use crate::store::{Moved, StoreError};

/// The largest end of a job's output that is kept beside its record, in bytes.
pub const LONGEST_TAIL: u64 = 64 << 10;

/// What a store that many machines share keeps of the jobs that were started for its lists: what their supervisors reported last, and what
/// is asked of them from elsewhere.
///
/// The files on a job's own machine stay the truth, and a report may lag behind them. A job whose supervisor sends no heartbeat any more is
/// lost, for every reader and by the same rule as leases.
pub trait SharedJobs: fmt::Debug + Send + Sync {
    /// Records what a supervisor, which is this process, knows of its job, and that it is alive. Returns what is asked of it; `None`, and
    /// nothing recorded, if another machine has a job of the same id.
    fn report(&self, report: &JobReport<'_>) -> Result<Option<JobRequests>, StoreError>;

    /// Records that a supervisor, which is this process, is alive, and returns what is asked of it; `None` if its job is not recorded.
    fn requests(&self, job: &JobId) -> Result<Option<JobRequests>, StoreError>;

    /// Answers a request for output. It may be answered twice, with the same.
    fn answer(&self, job: &JobId, request: &OutputRequest, part: &OutputPart) -> Result<(), StoreError>;

    /// Returns jobs, oldest first, with the machines they run on.
    fn list(&self, which: &SharedJobsQuery<'_>) -> Result<Vec<Job>, StoreError>;

    /// Returns a job and what is kept of its output from an offset on; `None` if there is no such job.
    fn tail(&self, job: &JobId, offset: u64) -> Result<Option<SharedTail>, StoreError>;

    /// Asks the supervisor of a job to stop it. It obeys when it hears of it.
    fn request_stop(&self, job: &JobId, by: &AgentName) -> Result<(), StoreError>;

    /// Asks the supervisor of a job for a piece of its output, and returns the number of the request.
    fn request_output(&self, job: &JobId, offset: u64, length: u64) -> Result<i64, StoreError>;

    /// Returns the answer to a request for output, and forgets the request; `None` if it is not answered yet.
    fn take_output(&self, request: i64) -> Result<Option<OutputPart>, StoreError>;

    /// Forgets jobs of this machine.
    fn forget(&self, jobs: &[JobId]) -> Result<(), StoreError>;

    /// Calls `moved` whenever there may be news, until what is returned is dropped.
    fn follow(&self, job: &JobId, of: JobNews, moved: Moved) -> Box<dyn JobWatch>;
}

/// What is followed of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobNews {
    /// What its supervisor reports and answers.
    Reports,
    /// What is asked of its supervisor.
    Requests,
}

/// Watches a job for one follower, until it is dropped.
pub trait JobWatch: Send {
    /// Returns after how long the follower looks again without having been told.
    fn interval(&self) -> Duration;
}

/// Which jobs.
#[derive(Clone, Copy, Debug)]
pub enum SharedJobsQuery<'a> {
    /// All of the store.
    All,
    /// Those of a list.
    List(&'a ListId),
    /// Those of a task.
    Task(&'a ListId, &'a TaskId),
    /// The one with this id.
    Id(&'a JobId),
    /// Those with this name.
    Named(&'a str),
}

/// What a supervisor knows of its job.
#[derive(Clone, Debug)]
pub struct JobReport<'a> {
    /// The job.
    pub job: &'a Job,
    /// The host name of its machine.
    pub host: &'a str,
    /// The end of its output, [`LONGEST_TAIL`] bytes at most.
    pub tail: &'a [u8],
}

/// What is asked of a supervisor from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRequests {
    /// Whether its job is to be stopped.
    pub stop: bool,
    /// Pieces of its output.
    pub output: Vec<OutputRequest>,
}

/// A request for a piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRequest {
    /// The number of the request.
    pub number: i64,
    /// The first byte that is wanted.
    pub offset: u64,
    /// How many bytes are wanted.
    pub length: u64,
}

/// Bytes that a job wrote, without a break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPart {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where in everything it wrote they begin.
    pub from: u64,
    /// Where what follows them begins.
    pub next: u64,
    /// What was asked for and has been left out; the bytes begin behind it.
    pub gap: Option<Gap>,
}

/// What is kept of a job's output.
#[derive(Clone, Debug)]
pub struct SharedTail {
    /// The job.
    pub job: Job,
    /// Where the bytes begin: at the offset that was asked for, or behind it if less is kept.
    pub from: u64,
    /// The bytes up to the newest one.
    pub bytes: Vec<u8>,
}
