//! Why something about a team could not be found out or done.

use std::io;
use std::path::{Path, PathBuf};

use taskyard_core::dialect::inbox::BadInbox;
use taskyard_core::dialect::team_file::BadTeamFile;

use super::file_error::TeamFileError;
#[cfg(feature = "teams")]
use crate::sqlite::DatabaseError;
use crate::store::StoreError;

/// Why something about a team could not be found out or done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// The place gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files of teams gave no answer, or not a good one.
    #[error(transparent)]
    Files(#[from] TeamFileError),
    /// A message is not in the inbox of its recipient.
    #[error("nothing was sent to {to}: {source}")]
    Unsent {
        /// The recipient.
        to: String,
        /// Why not.
        source: Box<TeamError>,
    },
    /// Messages count as read, and are still in the inbox, where they are shown to no agent again.
    #[error("acknowledged, and still in the inbox: {source}")]
    StillInInbox {
        /// Why they are.
        source: Box<TeamError>,
    },
}

impl TeamError {
    /// Returns the database that a newer Taskyard wrote, and its format, where that is why.
    pub fn newer_database(&self) -> Option<(&Path, i64)> {
        match self {
            #[cfg(feature = "teams")]
            Self::Files(TeamFileError::Memory(error)) => error.newer_database(),
            Self::Unsent { source, .. } | Self::StillInInbox { source } => source.newer_database(),
            _ => None,
        }
    }

    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
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
