//! Why a database of ours gave no answer.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;

/// Why a database of ours gave no answer. What SQLite said is inside, and no type of its crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence: "cannot use".
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("cannot {doing} `{}`: {source}", .path.display())]
    Refused {
        /// What we tried: "open", "read", "write".
        doing: &'static str,
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Another process stays in the middle of writing, and nothing has happened.
    #[error("{} the middle of writing `{}`; gave up after {} s", who_is_in(*.holder), .path.display(), .waited.as_secs())]
    Busy {
        /// The database.
        path: PathBuf,
        /// The process, where the system tells.
        holder: Option<i32>,
        /// How long we waited.
        waited: Duration,
    },
    /// The database was written by a newer Taskyard.
    #[error("`{}` was written by a newer taskyard (format {format})", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        format: i64,
    },
}

impl DatabaseError {
    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// Returns the database that a newer Taskyard wrote, and its format, where that is why.
    pub(crate) fn newer_database(&self) -> Option<(&Path, i64)> {
        match self {
            Self::Newer { path, format } => Some((path, *format)),
            _ => None,
        }
    }

    /// Tells whether the database may not be written, or SQLite may not make its files beside it.
    pub(crate) fn is_forbidden(&self) -> bool {
        let Self::Refused { source, .. } = self else { return false };
        let code = source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
    }
}

fn who_is_in(holder: Option<i32>) -> String {
    holder.map_or_else(|| "another process stays in".to_owned(), |process| format!("process {process} stays in"))
}
