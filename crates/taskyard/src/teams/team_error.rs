//! Errors and refusals about teams.

use std::io;
use std::path::{Path, PathBuf};

use taskyard_core::dialect::inbox::BadInbox;
use taskyard_core::dialect::team_file::BadTeamFile;

#[cfg(feature = "teams")]
use crate::sqlite::DatabaseError;
use crate::store::StoreError;

/// Why an operation on a team failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files of a team could not be read or written, or are invalid.
    #[error(transparent)]
    Files(#[from] TeamFileError),
    /// A message could not be delivered.
    #[error("nothing was sent to {to}: {source}")]
    Unsent {
        /// The recipient.
        to: String,
        /// The reason.
        source: Box<TeamError>,
    },
    /// Messages count as acknowledged, but are still in the inbox. They are not shown again.
    #[error("acknowledged, but still in the inbox: {source}")]
    StillInInbox {
        /// The reason.
        source: Box<TeamError>,
    },
}

impl TeamError {
    /// Returns the database and its format if the error is that a newer Taskyard wrote it.
    pub fn newer_database(&self) -> Option<(&Path, i64)> {
        match self {
            #[cfg(feature = "teams")]
            Self::Files(TeamFileError::Memory(error)) => error.newer_database(),
            Self::Unsent { source, .. } | Self::StillInInbox { source } => source.newer_database(),
            _ => None,
        }
    }

    /// Returns a function that wraps an I/O error, for `map_err`.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let wrap = StoreError::io(doing, path);
        move |source| Self::Store(wrap(source))
    }
}

impl TeamError {
    pub(super) fn bad_inbox(path: impl Into<PathBuf>, why: BadInbox) -> Self {
        TeamFileError::BadInbox { path: path.into(), why }.into()
    }

    pub(super) fn bad_team_file(path: impl Into<PathBuf>, why: BadTeamFile) -> Self {
        TeamFileError::BadTeamFile { path: path.into(), why }.into()
    }

    pub(super) fn too_many_conflicts(path: impl Into<PathBuf>, attempts: u32) -> Self {
        TeamFileError::TooManyConflicts { path: path.into(), attempts }.into()
    }
}

#[cfg(feature = "teams")]
impl From<DatabaseError> for TeamError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Io { doing, path, source } => Self::io(doing, path)(source),
            error => Self::Files(TeamFileError::Memory(error)),
        }
    }
}

/// Why the files of a team could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamFileError {
    /// An inbox has invalid contents. It is left unchanged.
    #[error("inbox `{}` cannot be read and was not changed: {why}", .path.display())]
    BadInbox {
        /// The inbox.
        path: PathBuf,
        /// What is wrong with it.
        why: BadInbox,
    },
    /// A team file has invalid contents. It is left unchanged.
    #[error("team file `{}` cannot be read and was not changed: {why}", .path.display())]
    BadTeamFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadTeamFile,
    },
    /// Other programs changed a file during every attempt to write it.
    #[error("`{}` was changed by other programs {attempts} times in a row while taskyard tried to write it", .path.display())]
    TooManyConflicts {
        /// The file.
        path: PathBuf,
        /// The number of attempts.
        attempts: u32,
    },
    /// Our own database of teams failed.
    #[cfg(feature = "teams")]
    #[error(transparent)]
    Memory(#[from] DatabaseError),
}
