//! Why something about a team could not be found out or done.

use std::io;
use std::path::PathBuf;

use taskyard_core::dialect::inbox::BadInbox;
use taskyard_core::dialect::team_file::BadTeamFile;

use crate::sqlite::DatabaseError;
use crate::store::StoreError;

/// Why something about a team could not be found out or done.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A lock or a file gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An inbox holds something that is none. It is left alone.
    #[error("inbox `{}` cannot be read and is left alone: {why}", .path.display())]
    BadInbox {
        /// The inbox.
        path: PathBuf,
        /// What is wrong with it.
        why: BadInbox,
    },
    /// The file of a team holds something that is none. It is left alone.
    #[error("team file `{}` cannot be read and is left alone: {why}", .path.display())]
    BadTeamFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadTeamFile,
    },
    /// Other programs changed a file every time we tried to write it.
    #[error("`{}` was changed by other programs {attempts} times in a row while we tried to write it", .path.display())]
    TooManyConflicts {
        /// The file.
        path: PathBuf,
        /// How often we tried.
        attempts: u32,
    },
    /// Our memory of teams gave no answer.
    #[error(transparent)]
    Memory(DatabaseError),
    /// A message does not lie in the inbox of whoever it was for.
    #[error("nothing was sent to {to}: {source}")]
    Unsent {
        /// Who it was for.
        to: String,
        /// Why not.
        source: Box<TeamError>,
    },
    /// Messages count as read, and are still in the inbox, where nobody is shown them again.
    #[error("acknowledged, and still in the inbox: {source}")]
    StillInInbox {
        /// Why they are.
        source: Box<TeamError>,
    },
}

impl TeamError {
    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let wrap = StoreError::io(doing, path);
        move |source| Self::Store(wrap(source))
    }
}
