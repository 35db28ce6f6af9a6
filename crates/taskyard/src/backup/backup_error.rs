//! Errors of making and restoring backups and of moving lists, and how they are shown to users.

use std::io;
use std::path::PathBuf;

use taskyard_core::TaskId;
use taskyard_core::problem::{Problem, ProblemKind};

use crate::machine::MachineError;
use crate::problems::advice;
use crate::sqlite::DatabaseError;
use crate::{Error, StoreError};

/// Why a backup or restore failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// An operating system call failed.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// The attempted operation, as the start of a sentence.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file name has the extension of an archive format that Taskyard does not write.
    #[error("`{}` names an archive format that taskyard cannot write", .path.display())]
    OtherArchive {
        /// The destination of the backup.
        path: PathBuf,
    },
    /// The destination is inside what is to be backed up.
    #[error("`{}` is inside `{}`, which is being backed up", .path.display(), .within.display())]
    Within {
        /// The destination of the backup.
        path: PathBuf,
        /// The directory that contains it.
        within: PathBuf,
    },
    /// The destination already exists.
    #[error("`{}` already exists, and is not overwritten", .path.display())]
    Exists {
        /// The destination of the backup.
        path: PathBuf,
    },
    /// Another process is making a backup at the same destination.
    #[error("another process is making a backup in `{}`", .path.display())]
    Busy {
        /// The destination of the backup.
        path: PathBuf,
    },
    /// The path is not a Taskyard backup.
    #[error("`{}` is not a taskyard backup: {why}", .path.display())]
    NotABackup {
        /// The file or folder that was given as a backup.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The contents of the backup do not match its checksums or manifest.
    #[error("the backup `{}` is damaged: {what}", .path.display())]
    Damaged {
        /// The file or folder of the backup.
        path: PathBuf,
        /// The damage.
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
    /// The store keeps its lists in a different form than the backup.
    #[error("the backup holds {found}, but this store keeps {wanted}")]
    OtherDialect {
        /// The form in the backup.
        found: String,
        /// The form in the store.
        wanted: String,
    },
    /// The store has no files to back up.
    #[error("this store has no files to back up")]
    NoFiles,
    /// The backup does not contain this list.
    #[error("the backup has no list `{list}`")]
    NoSuchList {
        /// The name of the list that was asked for.
        list: String,
    },
    /// The list in the backup does not contain this task.
    #[error("the backup has no task {task} in `{list}`")]
    NoSuchTask {
        /// The name of the list that was asked for.
        list: String,
        /// The task that was asked for.
        task: TaskId,
    },
    /// Lists in this store cannot be moved with their history.
    #[error("lists cannot be moved from or to `{store}`")]
    CannotMove {
        /// The address of the store, without a password.
        store: String,
    },
    /// The source and the destination of a move are the same store.
    #[error("the list is already in `{store}`")]
    SameStore {
        /// The address of the store, without a password.
        store: String,
    },
    /// The list is not moved, because its history cannot be copied.
    #[error("list `{list}` cannot be copied completely: {why}")]
    Incomplete {
        /// The list.
        list: String,
        /// The reason.
        why: String,
    },
    /// Another machine or data directory has begun to move the list; only there can it be determined whether the list
    /// has arrived.
    #[error("a move of list `{list}` was started elsewhere ({mover}) and not finished")]
    OtherMover {
        /// The list.
        list: String,
        /// The machine and data directory that began the move.
        mover: String,
    },
    /// The list has arrived, or may have, but a later step failed; repeating the move finishes it.
    #[error("the move is not finished: {cause}")]
    MoveUnfinished {
        /// The error.
        #[source]
        cause: Box<BackupError>,
    },
    /// Part of the restore succeeded and is kept, but the rest failed; repeating the restore does the rest.
    #[error("only a part of it was restored: {cause}")]
    Unfinished {
        /// The error that stopped the rest.
        #[source]
        cause: Box<BackupError>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An operation failed.
    #[error(transparent)]
    Yard(#[from] Error),
    /// A database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The machine's database failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl BackupError {
    /// Returns a closure for `map_err` that wraps an I/O error with the attempted operation.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        let message = error.to_string();
        let at = |problem: Self, path: std::path::PathBuf| problem.detail("path", path.display().to_string());
        match error {
            BackupError::Io { path, source, .. } => {
                let problem = Self::new(ProblemKind::CouldNot, "io", message);
                at(
                    match advice(&source) {
                        Some(hint) => problem.hint(hint),
                        None => problem,
                    },
                    path,
                )
            }
            BackupError::OtherArchive { path } => at(
                Self::usage("other_archive", message)
                    .hint("name an archive `….tar` and compress it afterwards, or give a folder"),
                path,
            ),
            BackupError::Within { path, .. } => {
                at(Self::usage("within", message).hint("choose another place, ideally on another disk"), path)
            }
            BackupError::Exists { path } => at(
                Self::new(ProblemKind::Refused, "exists", message)
                    .hint("choose another name, or replace the older backup with --replace"),
                path,
            ),
            BackupError::Busy { path } => at(
                Self::new(ProblemKind::GaveUp, "locked", message).hint("wait until it is done, or choose another name"),
                path,
            ),
            BackupError::NotABackup { path, .. } => at(
                Self::usage("not_a_backup", message)
                    .hint("name the folder or the `.tar` that `taskyard backup` wrote; import files of other programs with \
                        `taskyard import`"),
                path,
            ),
            BackupError::Damaged { path, .. } => at(
                Self::new(ProblemKind::CouldNot, "backup_damaged", message)
                    .hint("nothing was restored; use another backup, or unpack this one and inspect its files"),
                path,
            ),
            BackupError::Newer { path, format } => at(
                Self::new(ProblemKind::CouldNot, "newer_backup", message).hint("upgrade taskyard").detail("format", format),
                path,
            ),
            BackupError::OtherDialect { .. } => {
                Self::usage("wrong_store", message).hint("name a store of the same kind with --store")
            }
            BackupError::NoFiles => Self::usage("no_files", message).hint("name another store with --store"),
            BackupError::NoSuchList { list } => Self::new(ProblemKind::NotFound, "list_not_found", message)
                .hint("`taskyard restore --from PATH --dry-run` shows what the backup contains")
                .detail("list", list),
            BackupError::NoSuchTask { task, .. } => Self::new(ProblemKind::NotFound, "task_not_found", message)
                .hint("`taskyard restore --from PATH --dry-run` shows what the backup contains")
                .detail("task", task.as_str()),
            BackupError::CannotMove { store } => Self::usage("cannot_move", message)
                .hint("only lists in task files and in PostgreSQL can move with their history; copy the tasks with `taskyard \
                    export` and `taskyard import`")
                .detail("store", store),
            BackupError::SameStore { store } => {
                Self::usage("same_store", message).hint("name another store with --to").detail("store", store)
            }
            BackupError::Incomplete { list, .. } => Self::new(ProblemKind::CouldNot, "incomplete", message)
                .hint("nothing was moved; `taskyard doctor` shows what is wrong with the list")
                .detail("list", list),
            BackupError::OtherMover { list, mover } => Self::new(ProblemKind::Refused, "moving_elsewhere", message)
                .hint("run the same command there: it finishes or reverts the move")
                .detail("list", list)
                .detail("mover", mover),
            BackupError::MoveUnfinished { .. } => Self::new(ProblemKind::Unfinished, "move_unfinished", message)
                .hint("fix the cause and run the same command again: it finishes the move, or reverts it if the list has not \
                    arrived"),
            BackupError::Unfinished { .. } => Self::new(ProblemKind::Unfinished, "unfinished", message)
                .hint("what was restored stays; fix the cause and run the same command again to restore the rest"),
            BackupError::Store(error) => error.into(),
            BackupError::Yard(error) => error.into(),
            BackupError::Database(error) => error.into(),
            BackupError::Machine(error) => error.into(),
        }
    }
}
