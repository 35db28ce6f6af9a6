//! What the system refuses, and what to do about it.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use taskyard_core::problem::{Problem, ProblemKind};

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
