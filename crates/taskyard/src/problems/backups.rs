//! What to say when a backup was not made or not brought back.

use crate::backup::BackupError;

use taskyard_core::problem::{Problem, ProblemKind};

use super::advice;

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
                at(Self::usage("within", message).hint("give a place elsewhere, best on another disk"), path)
            }
            BackupError::Exists { path } => at(
                Self::new(ProblemKind::Refused, "exists", message)
                    .hint("give another name, or replace the older backup with --replace"),
                path,
            ),
            BackupError::Busy { path } => at(
                Self::new(ProblemKind::GaveUp, "locked", message).hint("wait until it is done, or give another name"),
                path,
            ),
            BackupError::NotABackup { path, .. } => at(
                Self::usage("not_a_backup", message)
                    .hint("give the folder or the `.tar` that `taskyard backup` wrote; import files of other programs with `taskyard import`"),
                path,
            ),
            BackupError::Damaged { path, .. } => at(
                Self::new(ProblemKind::CouldNot, "backup_damaged", message)
                    .hint("nothing was brought back; take another backup, or unpack this one and look at its files yourself"),
                path,
            ),
            BackupError::Newer { path, format } => at(
                Self::new(ProblemKind::CouldNot, "newer_backup", message).hint("use the newer taskyard").detail("format", format),
                path,
            ),
            BackupError::OtherDialect { .. } => {
                Self::usage("wrong_store", message).hint("name a store of the same kind with --store")
            }
            BackupError::NoFiles => Self::usage("no_files", message).hint("name another store with --store"),
            BackupError::NoSuchList { list } => Self::new(ProblemKind::NotFound, "list_not_found", message)
                .hint("`taskyard restore --from PATH --dry-run` shows what the backup has")
                .detail("list", list),
            BackupError::NoSuchTask { task, .. } => Self::new(ProblemKind::NotFound, "task_not_found", message)
                .hint("`taskyard restore --from PATH --dry-run` shows what the backup has")
                .detail("task", task.as_str()),
            BackupError::CannotMove { store } => Self::usage("cannot_move", message)
                .hint("only lists in task files and in PostgreSQL have a history that can be carried; copy the tasks with `taskyard export` and `taskyard import`")
                .detail("store", store),
            BackupError::SameStore { store } => {
                Self::usage("same_store", message).hint("name another store with --to").detail("store", store)
            }
            BackupError::Incomplete { list, .. } => Self::new(ProblemKind::CouldNot, "incomplete", message)
                .hint("nothing was moved; `taskyard doctor` shows what is wrong with the list")
                .detail("list", list),
            BackupError::OtherMover { list, mover } => Self::new(ProblemKind::Refused, "moving_elsewhere", message)
                .hint("run the same command there: it finishes the move, or takes it back")
                .detail("list", list)
                .detail("mover", mover),
            BackupError::MoveUnfinished { .. } => Self::new(ProblemKind::Unfinished, "move_unfinished", message)
                .hint("remove the cause and run the same command again: it finishes the move, or takes it back if the list has not arrived"),
            BackupError::Unfinished { .. } => Self::new(ProblemKind::Unfinished, "unfinished", message)
                .hint("what came back stays: remove the cause and run the same command again, which brings back the rest"),
            BackupError::Store(error) => error.into(),
            BackupError::Yard(error) => error.into(),
            BackupError::Database(error) => error.into(),
            BackupError::Machine(error) => error.into(),
        }
    }
}
