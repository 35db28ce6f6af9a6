//! Commands that run in the background, each under a small process of its own that looks after it.
//!
//! [`Jobs`] starts them, finds them again, reads what they wrote, waits for them, stops them and tidies up. [`dispatch`]
//! is that small process's whole life, and the first moments of the command it starts. What is on disk is specified in
//! `docs/formats/jobs.md`; why it is done so is `docs/design/jobs.md`.
//!
//! This module knows nothing of tools, and of notices only where to put one.

mod command_start;
mod dispatch;
mod ending_all;
mod error;
mod following;
mod housekeeping;
mod inherited_files;
mod job_options;
mod leftovers;
mod new_job;
mod output_layout;
mod output_map;
mod output_reader;
mod output_writer;
mod own_supervisors;
mod processes;
mod quota;
mod reconciling;
mod record;
mod records;
mod registry;
mod reopening;
mod reporting;
mod settings;
mod shared_jobs;
mod shared_news;
mod shared_output;
mod starting;
mod stopping;
mod supervision;
mod supervisor;
mod tied_command;
mod tied_supervisor;
mod trailer;
mod trampoline;
mod usage;

pub use dispatch::dispatch;
pub use error::JobError;
pub use following::Waited;
pub use housekeeping::Swept;
pub use job_options::JobOptions;
pub use new_job::NewJob;
pub use output_reader::OutputReader;
pub use record::JobRecord;
pub use records::JobRecords;
pub use registry::Jobs;
pub use settings::JobSettings;
pub use shared_jobs::{
    JobNews, JobReport, JobRequests, JobWatch, LONGEST_TAIL, OutputPart, OutputRequest, SharedJobs, SharedJobsQuery,
    SharedTail,
};
pub use stopping::Stopping;

pub use crate::machine::JobQuery;

pub(crate) use record::{job_in, row_of};
