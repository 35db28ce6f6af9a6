//! What went wrong with a database of ours, in words.

use crate::machine::{ListNameError, MachineError};
use crate::sqlite::DatabaseError;
use taskyard_core::problem::{Problem, ProblemKind};

use super::errors::{has_no_locks, no_locks, stuck};

impl From<ListNameError> for Problem {
    fn from(error: ListNameError) -> Self {
        match error {
            ListNameError::Bad(error) => error.into(),
            ListNameError::Machine(error) => error.into(),
        }
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        let message = error.to_string();
        let problem = match error {
            MachineError::Io { path, .. } => {
                Self::new(ProblemKind::CouldNot, "data_directory", message).detail("path", path.display().to_string())
            }
            MachineError::Database(error) => error.into(),
        };
        problem.hint_where_none("name the list with --list to do without it, or set TASKYARD_HOME to another directory")
    }
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        let message = error.to_string();
        match error {
            DatabaseError::Io { doing: "cannot lock", path, source } if has_no_locks(&source) => {
                no_locks(&path, &source)
            }
            DatabaseError::Io { path, .. } | DatabaseError::Refused { path, .. } => {
                Self::new(ProblemKind::CouldNot, "data_directory", message).detail("path", path.display().to_string())
            }
            DatabaseError::Busy { path, holder, waited } => stuck(message, &path, holder, waited),
            DatabaseError::Newer { path, format } => Self::new(ProblemKind::CouldNot, "newer_database", message)
                .hint("use the newer taskyard")
                .detail("path", path.display().to_string())
                .detail("format", format),
        }
    }
}
