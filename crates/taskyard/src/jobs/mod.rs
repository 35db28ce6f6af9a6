//! What is recorded of commands that run in the background, on this machine and on others that share a store.
//!
//! The database of the machine has a [`JobRecord`] for each, read and written through [`JobRecords`]; [`SharedJobs`] is what a store keeps of
//! them for other machines. What is on disk is specified in `docs/formats/jobs.md`. Starting, supervising and ending commands is not done here:
//! that is the crate `taskyard-jobs`.

mod error;
mod record;
mod records;
mod shared_jobs;

pub use error::JobError;
pub use record::{JobRecord, JobSettings};
pub use records::JobRecords;
pub use shared_jobs::{
    JobNews, JobReport, JobRequests, JobWatch, LONGEST_TAIL, OutputPart, OutputRequest, SharedJobs, SharedJobsQuery,
    SharedTail,
};

pub use crate::machine::jobs::JobQuery;

pub(crate) use record::{job_in, row_of};
