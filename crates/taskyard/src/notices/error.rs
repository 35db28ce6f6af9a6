//! Why notices could not be read or written.

use std::error::Error;
#[cfg(feature = "sqlite")]
use std::path::Path;

#[cfg(feature = "sqlite")]
use crate::machine::MachineError;

/// Why notices could not be read or written: what the place that keeps them said.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct NoticeError(Box<dyn Error + Send + Sync>);

impl NoticeError {
    /// Returns an error with its cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    /// Returns the database that a newer Taskyard wrote, and its format, where that is why.
    #[cfg(feature = "sqlite")]
    pub(crate) fn newer_database(&self) -> Option<(&Path, i64)> {
        match self.0.downcast_ref()? {
            MachineError::Database(error) => error.newer_database(),
            _ => None,
        }
    }

    /// Returns what this machine's database said, where that keeps them.
    #[cfg(feature = "sqlite")]
    pub(crate) fn into_machine(self) -> Result<MachineError, Self> {
        self.0.downcast().map(|error| *error).map_err(Self)
    }
}

#[cfg(feature = "sqlite")]
impl From<MachineError> for NoticeError {
    fn from(error: MachineError) -> Self {
        Self::new(error)
    }
}
