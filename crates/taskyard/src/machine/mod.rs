//! The machine's own records in `<data>/machine.sqlite`: the lists of directories and repositories, the directories of
//! list names, trusted directories, what setup added to agents' configuration, and the jobs. Begin with
//! `machine_database.rs`.

mod checkout;
mod list_bindings;
mod machine_database;
pub(crate) mod machine_jobs;
mod repositories;

pub use checkout::Checkout;
pub(crate) use list_bindings::copy_machine;
pub use list_bindings::{Binding, ListNameError, Recording};
pub use machine_database::{Machine, MachineError};
pub(crate) use machine_jobs::{
    JobRow, NoticeRow, NoticeRows, find_job, has_been, insert_job, insert_reopening, keep_foreign, queue_notice,
    remove_job, remove_reopening, replace_job,
};
pub use repositories::{ListUse, RepositoryList, UseRecorded};

pub use crate::sqlite::DatabaseError;
