//! Commands that run in the background, each under a small process of its own that looks after it, and working a list off by such commands.
//!
//! [`Jobs`] starts them, finds them again, reads what they wrote, waits for them, stops them and tidies up. [`dispatch`] is that small process's
//! whole life, and the first moments of the command it starts: a program that starts jobs or calls [`work::work`] calls it before anything else.
//! What is recorded of jobs is [`taskyard::jobs`]; what is on disk is specified in `docs/formats/jobs.md`; why it is done so is
//! `docs/design/jobs.md` and `docs/design/work.md`.
//!
//! This crate knows nothing of tools, and of notices only that the end of a job queues one.

mod command_start;
mod dispatch;
mod ending_all;
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
mod registry;
mod reopening;
mod reporting;
mod shared_news;
mod shared_output;
pub mod signals;
mod starting;
mod stopping;
mod supervision;
mod supervisor;
mod tied_command;
mod tied_supervisor;
mod trailer;
mod trampoline;
mod usage;
pub mod work;

pub use dispatch::dispatch;
pub use following::Waited;
pub use housekeeping::Swept;
pub use job_options::JobOptions;
pub use new_job::NewJob;
pub use output_reader::OutputReader;
pub use registry::Jobs;
pub use stopping::Stopping;
pub use taskyard::process::{Cancel, Stop};
