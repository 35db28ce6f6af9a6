//! What goes wrong with the files of teams alone.

use std::path::PathBuf;

use taskyard_core::dialect::inbox::BadInbox;
use taskyard_core::dialect::team_file::BadTeamFile;

#[cfg(feature = "teams")]
use crate::sqlite::DatabaseError;

/// Why the files of teams gave no answer, or not a good one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeamFileError {
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
    #[cfg(feature = "teams")]
    #[error(transparent)]
    Memory(#[from] DatabaseError),
}
