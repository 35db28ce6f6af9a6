//! Why an operation could not find out.

use std::path::Path;

use taskyard_core::TaskId;

#[cfg(feature = "sqlite")]
use crate::jobs::JobError;
#[cfg(feature = "sqlite")]
use crate::machine::MachineError;
use crate::notices::NoticeError;
use crate::store::StoreError;
use crate::teams::TeamError;
use crate::todos::TodoError;

/// Why an operation gave no answer. A refusal by a rule is not an error: see [`crate::Outcome`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Other writers changed what we read, every time we tried.
    #[error("task {task} was changed by other programs {attempts} times in a row while we tried to write it")]
    TooManyConflicts {
        /// The task that changed last.
        task: TaskId,
        /// How often we tried.
        attempts: u32,
    },
    /// The operation was cancelled while hooks or checks ran. Nothing has changed.
    #[error("stopped while hooks ran; nothing was changed")]
    Cancelled,
    /// Something about a team could not be found out or done.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// What agents are told of their jobs could not be read or written.
    #[error(transparent)]
    Notices(#[from] NoticeError),
    /// A todo list could not be read or written.
    #[error(transparent)]
    Todos(#[from] TodoError),
    /// Nothing could be found out about a job.
    #[cfg(feature = "sqlite")]
    #[error(transparent)]
    Jobs(#[from] JobError),
}

impl Error {
    /// Returns the database that a newer Taskyard wrote, and its format, where that is why.
    pub fn newer_database(&self) -> Option<(&Path, i64)> {
        match self {
            Self::Store(StoreError::NewerJournal { path, format }) => Some((path, *format)),
            Self::Team(error) => error.newer_database(),
            #[cfg(feature = "sqlite")]
            Self::Notices(error) => error.newer_database(),
            #[cfg(feature = "sqlite")]
            Self::Jobs(JobError::Machine(MachineError::Database(error))) => error.newer_database(),
            _ => None,
        }
    }
}
