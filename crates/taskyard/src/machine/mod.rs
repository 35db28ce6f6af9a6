//! What Taskyard remembers of this machine as a whole, in `<data>/machine.sqlite`: which list a directory is bound
//! to, which list a repository has, which directory a list's name means, which directories may run commands of their own, what was added to the configuration of agents, and the jobs.

mod bindings;
mod checkout;
mod copying;
mod database;
mod ended_jobs;
mod job_row;
pub(crate) mod jobs;
mod list_names;
mod notices;
mod reopenings;
mod repositories;
mod schema;
mod setups;
mod trust;

pub use crate::sqlite::DatabaseError;
pub use bindings::Binding;
pub use checkout::Checkout;
pub(crate) use copying::copy_machine;
pub use database::{Machine, MachineError};
pub(crate) use ended_jobs::queue_notice;
pub(crate) use job_row::JobRow;
pub(crate) use jobs::{find_job, has_been, insert_job, remove_job, replace_job};
pub use list_names::{ListNameError, Recording};
pub(crate) use notices::{NoticeRow, NoticeRows, keep_foreign};
pub(crate) use reopenings::{insert_reopening, remove_reopening};
pub use repositories::{ListUse, RepositoryList, UseRecorded};
