//! Why a backup was not made, or not brought back.

use std::io;
use std::path::PathBuf;

use taskyard_core::TaskId;

use crate::machine::MachineError;
use crate::sqlite::DatabaseError;
use crate::{Error, StoreError};

/// Why a backup was not made, or nothing was brought back from one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The name says that it is an archive of another kind than those that are written.
    #[error("`{}` has the name of an archive that taskyard does not write", .path.display())]
    OtherArchive {
        /// Where the backup was to be made.
        path: PathBuf,
    },
    /// The place is within what is to be backed up.
    #[error("`{}` is within `{}`, which is backed up itself", .path.display(), .within.display())]
    Within {
        /// Where the backup was to be made.
        path: PathBuf,
        /// What it is within.
        within: PathBuf,
    },
    /// Something is there already.
    #[error("`{}` is there already, and is not overwritten", .path.display())]
    Exists {
        /// Where the backup was to be made.
        path: PathBuf,
    },
    /// Another process makes a backup in the same place.
    #[error("another process is making a backup in `{}`", .path.display())]
    Busy {
        /// Where the backup was to be made.
        path: PathBuf,
    },
    /// What is there is no backup of ours.
    #[error("`{}` is no backup of taskyard: {why}", .path.display())]
    NotABackup {
        /// The file or folder that was given as a backup.
        path: PathBuf,
        /// What tells.
        why: String,
    },
    /// The backup does not hold what was written into it.
    #[error("the backup `{}` is damaged: {what}", .path.display())]
    Damaged {
        /// The file or folder of the backup.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The backup was written by a newer Taskyard.
    #[error("the backup `{}` was written by a newer taskyard ({format})", .path.display())]
    Newer {
        /// The file or folder of the backup.
        path: PathBuf,
        /// The format that its manifest states.
        format: String,
    },
    /// The store keeps its lists in another form than those of the backup.
    #[error("the backup is of {found}, and this store keeps {wanted}")]
    OtherDialect {
        /// What the backup holds.
        found: String,
        /// What the store keeps.
        wanted: String,
    },
    /// The store has no files that could be backed up.
    #[error("this store keeps no files, and cannot be backed up so")]
    NoFiles,
    /// The backup has no such list.
    #[error("the backup has no list `{list}`")]
    NoSuchList {
        /// The name of the list that was asked for.
        list: String,
    },
    /// The backup's list has no such task.
    #[error("the backup has no task {task} in `{list}`")]
    NoSuchTask {
        /// The name of the list that was asked for.
        list: String,
        /// The task that was asked for.
        task: TaskId,
    },
    /// Lists of this store cannot be moved with their history.
    #[error("lists cannot be moved from or to `{store}`")]
    CannotMove {
        /// The address of the store, without a password.
        store: String,
    },
    /// A list was to be moved to where it is.
    #[error("the list is in `{store}` already")]
    SameStore {
        /// The address of the store, without a password.
        store: String,
    },
    /// A list is not moved whose history cannot be copied.
    #[error("list `{list}` cannot be copied whole: {why}")]
    Incomplete {
        /// The list.
        list: String,
        /// What is wrong.
        why: String,
    },
    /// Another machine, or another data directory, has begun to move the list: only there can it be found out whether it has arrived.
    #[error("a move of list `{list}` was begun elsewhere ({mover}) and not finished")]
    OtherMover {
        /// The list.
        list: String,
        /// The machine and the data directory.
        mover: String,
    },
    /// The list has arrived, or may have, and a step after that failed; moving it again does the rest.
    #[error("the move is not finished: {cause}")]
    MoveUnfinished {
        /// What failed.
        #[source]
        cause: Box<BackupError>,
    },
    /// A part came back and stays, and the rest could not; bringing back again does the rest.
    #[error("a part of it came back, and the rest could not: {cause}")]
    Unfinished {
        /// What kept the rest away.
        #[source]
        cause: Box<BackupError>,
    },
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An operation gave no answer.
    #[error(transparent)]
    Yard(#[from] Error),
    /// A database gave no answer.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The machine's database gave no answer.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl BackupError {
    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
