//! Errors of our SQLite databases.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;

/// Why a database operation failed. SQLite's error is boxed, so that no type of its crate is exposed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The operating system reported an error.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence, for example "cannot use".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// SQLite reported an error.
    #[error("cannot {doing} `{}`: {source}", .path.display())]
    Refused {
        /// What we tried: "open", "read", "write".
        doing: &'static str,
        /// The database file.
        path: PathBuf,
        /// SQLite's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Another process kept a write lock until the timeout. Nothing was changed.
    #[error("{} `{}`; gave up after {} s", who_is_in(*.holder), .path.display(), .waited.as_secs())]
    Busy {
        /// The database file.
        path: PathBuf,
        /// The id of the process, if the system reports it.
        holder: Option<i32>,
        /// How long we waited.
        waited: Duration,
    },
    /// A newer Taskyard wrote the database.
    #[error("`{}` was written by a newer taskyard (format {format})", .path.display())]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The format of the database.
        format: i64,
    },
}

impl DatabaseError {
    /// Returns a function for `map_err` that wraps an I/O error with what was tried.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// Returns the path and format of the database if the error is that a newer Taskyard wrote it.
    pub(crate) fn newer_database(&self) -> Option<(&Path, i64)> {
        match self {
            Self::Newer { path, format } => Some((path, *format)),
            _ => None,
        }
    }

    /// Returns whether the error is that the database cannot be written or SQLite cannot create its files beside it.
    pub(crate) fn is_forbidden(&self) -> bool {
        let Self::Refused { source, .. } = self else { return false };
        let code = source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
    }
}

fn who_is_in(holder: Option<i32>) -> String {
    holder.map_or_else(
        || "another process is still writing".to_owned(),
        |process| format!("process {process} is still writing"),
    )
}
