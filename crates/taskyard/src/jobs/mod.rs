//! The records of background commands, on this machine ([`JobRecords`]) and on others that share a store
//! ([`SharedJobs`]). Begin at `job_record.rs`; the format is specified in `docs/formats/jobs.md`. Jobs are started,
//! supervised and stopped by the crate `taskyard-jobs`.

mod job_record;
mod job_records;

pub use job_record::{JobError, JobRecord, JobSettings};
pub(crate) use job_record::{job_in, row_of};
pub use job_records::{
    JobNews, JobRecords, JobReport, JobRequests, JobWatch, LONGEST_TAIL, OutputPart, OutputRequest, SharedJobs,
    SharedJobsQuery, SharedTail,
};

pub use crate::machine::machine_jobs::JobQuery;
