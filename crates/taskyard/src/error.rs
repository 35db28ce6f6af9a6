//! Why an operation could not determine or do what was asked.

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

/// Why an operation failed. A refusal by a rule is not an error: see [`crate::Outcome`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Other writers changed what we read on every attempt.
    #[error("task {task} was changed by other programs {attempts} times in a row while taskyard tried to write it")]
    TooManyConflicts {
        /// The task that changed in the last attempt.
        task: TaskId,
        /// The number of attempts.
        attempts: u32,
    },
    /// The operation was cancelled while hooks or checks ran. Nothing has changed.
    #[error("stopped while hooks ran; nothing was changed")]
    Cancelled,
    /// A team could not be read or changed.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The notices about jobs could not be read or written.
    #[error(transparent)]
    Notices(#[from] NoticeError),
    /// A todo list could not be read or written.
    #[error(transparent)]
    Todos(#[from] TodoError),
    /// A job could not be read.
    #[cfg(feature = "sqlite")]
    #[error(transparent)]
    Jobs(#[from] JobError),
}

impl Error {
    /// Returns the path and format of the database, if the cause is that a newer Taskyard wrote it.
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
