//! Why a todo list could not be read or written.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a todo list could not be read or written: what the place that keeps it said.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TodoError(Box<dyn Error + Send + Sync>);

/// Why the file of a todo list could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{doing} `{}`: {source}", .path.display())]
pub(crate) struct TodoFileError {
    /// What we tried, as the beginning of a sentence: "cannot read".
    pub doing: &'static str,
    /// On what.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl TodoError {
    /// Returns an error with its cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    /// Returns what the system said of a file, where the lists are files.
    pub(crate) fn of_file(&self) -> Option<&TodoFileError> {
        self.0.downcast_ref()
    }

    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::new(TodoFileError { doing, path, source })
    }
}
