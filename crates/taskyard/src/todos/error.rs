//! Why a todo list could not be read or written.

use std::io;
use std::path::PathBuf;

/// Why a todo list could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TodoError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence: "cannot read".
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl TodoError {
    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
