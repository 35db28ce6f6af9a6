//! Errors of the library as problems, apart from those with a file of their own, and advice about errors of the system.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use taskyard_core::problem::{Problem, ProblemKind};

use crate::Error;
use crate::config::ConfigError;
use crate::notices::NoticeError;
#[cfg(feature = "teams")]
use crate::opening::AddressError;
use crate::todos::TodoFileError;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Store(error) => error.into(),
            #[cfg(feature = "sqlite")]
            Error::Jobs(error) => error.into(),
            Error::Notices(error) => error.into(),
            Error::TooManyConflicts { task, attempts } => Self::new(ProblemKind::GaveUp, "conflict", message)
                .hint("wait until the other program is done, then try again")
                .detail("task", task.as_str())
                .detail("attempts", attempts),
            Error::Team(error) => error.into(),
            Error::Cancelled => Self::new(ProblemKind::Stopped, "cancelled", message),
            Error::Todos(error) => {
                let problem = Self::new(ProblemKind::CouldNot, "io", message);
                let Some(TodoFileError { path, source, .. }) = error.of_file() else { return problem };
                let problem = problem.detail("path", path.display().to_string());
                match advice(source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        let message = error.to_string();
        match error {
            ConfigError::Io { path, .. } => {
                Self::new(ProblemKind::CouldNot, "config", message).detail("path", path.display().to_string())
            }
            ConfigError::Wrong { path, line, .. } => Self::new(ProblemKind::Usage, "config", message)
                .hint("`taskyard help config` describes every key of this file")
                .detail("path", path.display().to_string())
                .detail("line", line),
        }
    }
}

impl From<NoticeError> for Problem {
    fn from(error: NoticeError) -> Self {
        #[cfg(feature = "sqlite")]
        let error = match error.into_machine() {
            Ok(error) => return error.into(),
            Err(error) => error,
        };
        Self::new(ProblemKind::CouldNot, "notices", error.to_string())
    }
}

#[cfg(feature = "teams")]
impl From<AddressError> for Problem {
    fn from(error: AddressError) -> Self {
        let hint = match &error {
            AddressError::Unknown { schemes, .. } => {
                let ours = "`claude:` (the default), `file:DIRECTORY`, `document:[FILE]`, `teaching:DIRECTORY`";
                let others: String = schemes.iter().map(|scheme| format!(", `{scheme}:…`")).collect();
                format!("use {ours}{others} or `memory:`")
            }
            AddressError::NoDirectory { scheme } if scheme == "teaching" => {
                "write `teaching:DIRECTORY`, `teaching:.tasks` say".to_owned()
            }
            AddressError::NoDirectory { scheme } => format!("write `{scheme}:DIRECTORY`"),
            AddressError::UnclearPassword { .. } => {
                "in a password write `@` as %40, `:` as %3A, `/` as %2F, `?` as %3F and `#` as %23".to_owned()
            }
            AddressError::Unusable { .. } => return Self::usage("bad_store", error.to_string()),
        };
        Self::usage("bad_store", error.to_string()).hint(hint)
    }
}

/// Returns what to do about an error of the system.
pub fn advice(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::PermissionDenied => "see who owns it and what its permissions are (`ls -ld`)",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only; choose another place with --store",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space; nothing has been changed",
        io::ErrorKind::FileTooLarge => "a limit on file sizes is in force (`ulimit -f`); nothing has been changed",
        _ => return None,
    })
}

/// Tells whether the system refused a lock because the file system has none.
pub(super) fn has_no_locks(error: &io::Error) -> bool {
    let codes = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| codes.contains(&Errno::from_raw_os_error(code)))
}

/// Says that the file system of a path has no locks, and what to do about it.
pub(super) fn no_locks(path: &Path, error: &io::Error) -> Problem {
    let directory = path.parent().filter(|_| !path.is_dir()).unwrap_or(path);
    let message = format!("the file system of `{}` has no locks ({error})", directory.display());
    Problem::new(ProblemKind::CouldNot, "no_locks", message)
        .hint(
            "set TASKYARD_HOME to a directory on a local file system, or mount this one with locks; `taskyard where` shows the \
             data directory and the list",
        )
        .detail("path", path.display().to_string())
}

/// Says that a process stays in the middle of writing a database.
pub(super) fn stuck(message: String, path: &Path, holder: Option<i32>, waited: Duration) -> Problem {
    Problem::new(ProblemKind::GaveUp, "locked", message)
        .hint("that process does not go on: if it is suspended or hangs, resume or end it; then try again")
        .detail("path", path.display().to_string())
        .detail("process", holder)
        .detail("waitedMs", u64::try_from(waited.as_millis()).unwrap_or(u64::MAX))
}
