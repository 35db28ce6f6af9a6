//! Errors of the library, its stores and its teams as problems with a code, a message and a hint.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use serde_json::Value;
use taskyard_core::problem::{Problem, ProblemKind};
use taskyard_core::{Event, TaskId};

use crate::config::ConfigError;
use crate::notices::NoticeError;
#[cfg(feature = "teams")]
use crate::opening::AddressError;
use crate::store::Occupant;
use crate::teams::{TeamError, TeamFileError};
use crate::todos::TodoFileError;
use crate::{Error, StoreError, Yard};

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

/// Returns advice for an I/O error, if there is any.
pub fn advice(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::PermissionDenied => "check its owner and permissions (`ls -ld`)",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only; choose another place with --store",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space; nothing was changed",
        io::ErrorKind::FileTooLarge => "a file size limit is in force (`ulimit -f`); nothing was changed",
        _ => return None,
    })
}

/// Returns whether a lock failed because the file system does not support locks.
pub(super) fn has_no_locks(error: &io::Error) -> bool {
    let codes = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| codes.contains(&Errno::from_raw_os_error(code)))
}

/// Returns the problem that the file system of a path does not support locks.
pub(super) fn no_locks(path: &Path, error: &io::Error) -> Problem {
    let directory = path.parent().filter(|_| !path.is_dir()).unwrap_or(path);
    let message = format!("the file system of `{}` does not support locks ({error})", directory.display());
    Problem::new(ProblemKind::CouldNot, "no_locks", message)
        .hint(
            "set TASKYARD_HOME to a directory on a local file system, or mount this one with locking; `taskyard where` shows \
             the data directory and the list",
        )
        .detail("path", path.display().to_string())
}

/// Returns the problem that a suspended or hanging process holds a database's write lock.
pub(super) fn stuck(message: String, path: &Path, holder: Option<i32>, waited: Duration) -> Problem {
    Problem::new(ProblemKind::GaveUp, "locked", message)
        .hint("if that process is suspended or hangs, resume or end it; then try again")
        .detail("path", path.display().to_string())
        .detail("process", holder)
        .detail("waitedMs", u64::try_from(waited.as_millis()).unwrap_or(u64::MAX))
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Io { doing: "cannot lock", path, source } if has_no_locks(&source) => no_locks(&path, &source),
            StoreError::Io { path, source, .. } => {
                let problem = Self::new(ProblemKind::CouldNot, "io", message).detail("path", path.display().to_string());
                match advice(&source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            StoreError::Unavailable { .. } => Self::new(ProblemKind::CouldNot, "unavailable", message)
                .hint("check the list before you try again: a change in progress may have been made"),
            StoreError::Failed { .. } => Self::new(ProblemKind::CouldNot, "store_failed", message),
            StoreError::Busy { by, waited } => busy(message, by, waited),
            StoreError::NoLock { path, .. } => Self::new(ProblemKind::GaveUp, "locked", message)
                .hint(format!("no program can write here until it is gone: `taskyard doctor --fix` removes `{}`", path.display()))
                .detail("path", path.display().to_string()),
            StoreError::NewerJournal { path, format } => Self::new(ProblemKind::CouldNot, "newer_journal", message)
                .hint("upgrade taskyard")
                .detail("path", path.display().to_string())
                .detail("format", format),
            StoreError::NewerFile { path, source } => Self::new(ProblemKind::CouldNot, "newer_file", message)
                .hint("use the program that wrote it, or upgrade taskyard")
                .detail("path", path.display().to_string())
                .detail("version", source.stated),
            StoreError::Conflict { task } => {
                Self::new(ProblemKind::GaveUp, "conflict", message).hint("try again").detail("task", task.as_str())
            }
            StoreError::Taken { task } => Self::new(ProblemKind::Refused, "taken", message)
                .hint("nothing was changed; `taskyard doctor` shows what is wrong with the file")
                .detail("task", task.as_str()),
            StoreError::NoNumberLeft => Self::new(ProblemKind::Refused, "no_number_left", message)
                .hint("move the tasks to another list with `taskyard merge`, where they get new numbers"),
            StoreError::NoTask { path, .. } => Self::new(ProblemKind::Refused, "unreadable", message)
                .hint("correct the file by hand, or let `taskyard doctor --fix` set it aside")
                .detail("path", path.display().to_string()),
            StoreError::TooLarge { task, source } => Self::new(ProblemKind::Refused, "too_large", message)
                .hint("keep long texts in a file, and refer to the file in the task")
                .detail("task", task.as_str())
                .detail("size", source.size),
            StoreError::Journal { path, .. } => Self::new(ProblemKind::CouldNot, "journal", message)
                .hint("check that this path is writable and the disk has space, or set TASKYARD_HOME to another directory")
                .detail("path", path.display().to_string()),
            StoreError::JournalDamaged { path, .. } => Self::new(ProblemKind::CouldNot, "journal_damaged", message)
                .hint("`taskyard doctor --fix` sets it aside, saves what can be read from it and starts a new one")
                .detail("path", path.display().to_string()),
            StoreError::Moved { list, to, has_left } => moved(message, list, to, has_left),
            StoreError::ListExists { list, .. } => Self::new(ProblemKind::Refused, "list_exists", message)
                .hint("nothing was moved; rename or remove that list first, or move under another name and combine the two \
                    with `taskyard merge`")
                .detail("list", list),
            StoreError::Unfinished { commit, cause } => unfinished(message, commit.as_deref(), &cause),
        }
    }
}

/// Returns the problem that a list has moved, or that its move is unfinished.
fn moved(message: String, list: String, to: String, has_left: bool) -> Problem {
    let problem = match has_left {
        true => Problem::new(ProblemKind::NotFound, "moved", message)
            .hint(format!("use `--store {to}`, or set TASKYARD_STORE")),
        false => Problem::new(ProblemKind::GaveUp, "moving", message).hint(format!(
            "try again in a moment; if the move was abandoned, `taskyard move {list} --to {to}` finishes or reverts it"
        )),
    };
    problem.detail("list", list).detail("to", to)
}

/// Returns the problem that a change was recorded but not completed.
fn unfinished(message: String, commit: Option<&Event>, cause: &StoreError) -> Problem {
    let mut problem = Problem::new(ProblemKind::Unfinished, "unfinished", message)
        .hint("do not repeat it: fix the cause and run any command on this list, which finishes the change");
    if let Some(path) = cause.path() {
        problem = problem.detail("path", path.display().to_string());
    }
    if let Some(commit) = commit {
        let tasks: Vec<&str> = commit.entries.iter().map(|entry| entry.task.as_str()).collect();
        problem = problem.detail("revision", commit.revision.0).detail("tasks", tasks);
    }
    problem
}

/// Returns the problem that another process is in the way.
fn busy(message: String, by: Occupant, waited: Duration) -> Problem {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let problem = Problem::new(ProblemKind::GaveUp, "locked", message).detail("waitedMs", milliseconds(waited));
    match by {
        Occupant::LockHolder { lock, age } => problem
            .hint(format!(
                "another program is working there: try again; if none is, `taskyard doctor --fix` removes `{}`",
                lock.display()
            ))
            .detail("path", lock.display().to_string())
            .detail("ageMs", milliseconds(age)),
        Occupant::FileLocker { file, process } => problem
            .hint("if that process is suspended or hangs, resume or end it; then try again")
            .detail("path", file.display().to_string())
            .detail("process", process),
        Occupant::JournalWriter { journal, process } => {
            stuck(problem.report().message.clone(), &journal, process, waited)
        }
        Occupant::Elsewhere { .. } => problem.hint("try again"),
    }
}

impl From<TeamError> for Problem {
    fn from(error: TeamError) -> Self {
        let message = error.to_string();
        match error {
            TeamError::Store(error) => error.into(),
            TeamError::Files(error) => error.into(),
            TeamError::Unsent { to, source } => Self::from(*source).saying(message).detail("unsentTo", to),
            TeamError::StillInInbox { source } => Self::from(*source).saying(message),
        }
    }
}

impl From<TeamFileError> for Problem {
    fn from(error: TeamFileError) -> Self {
        let message = error.to_string();
        match error {
            TeamFileError::BadInbox { path, .. } => Self::new(ProblemKind::CouldNot, "bad_inbox", message)
                .hint("nothing is lost: `taskyard team mend` keeps what can be read and sets the damaged file aside")
                .detail("path", path.display().to_string()),
            TeamFileError::BadTeamFile { path, .. } => Self::new(ProblemKind::CouldNot, "bad_team_file", message)
                .hint("`taskyard team mend` keeps what can be read and sets the damaged file aside")
                .detail("path", path.display().to_string()),
            TeamFileError::TooManyConflicts { path, attempts } => Self::new(ProblemKind::GaveUp, "conflict", message)
                .hint("wait until the other program is done, then try again")
                .detail("path", path.display().to_string())
                .detail("attempts", attempts),
            #[cfg(feature = "teams")]
            TeamFileError::Memory(error) => Self::from(error).hint_where_none(
                "check that this path is writable and the disk has space, or set TASKYARD_HOME to another directory",
            ),
        }
    }
}

/// Adds to the problem of a nonexistent task how to restore it, if the task disappeared.
pub fn with_way_back(problem: Problem, yard: &Yard) -> Problem {
    let report = problem.report();
    let task = report.details.get("task").and_then(Value::as_str).filter(|_| report.code == "task_not_found");
    let Some(id) = task.and_then(|task| task.parse::<TaskId>().ok()) else { return problem };
    if yard.rules().is_client() || !yard.is_missing(&id).unwrap_or(false) {
        return problem;
    }
    let how = match yard.is_deleted_elsewhere(&id).unwrap_or(false) {
        true => "another program deleted it",
        false => "it is missing, and was not deleted on purpose",
    };
    problem.hint(format!("{how}: `taskyard restore {id}` brings it back"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use crate::StoreError;
    use crate::sqlite::DatabaseError;

    use taskyard_core::problem::{Problem, ProblemKind};

    #[test]
    fn file_system_without_locks_has_its_own_message() {
        let path = std::env::temp_dir().join("queue");
        for errno in [rustix::io::Errno::NOLCK, rustix::io::Errno::OPNOTSUPP] {
            let source = || io::Error::from(errno);
            let of_store = StoreError::Io { doing: "cannot lock", path: path.clone(), source: source() };
            let of_database = DatabaseError::Io { doing: "cannot lock", path: path.clone(), source: source() };
            for problem in [Problem::from(of_store), Problem::from(of_database)] {
                let report = problem.report();
                assert_eq!((report.code, report.kind), ("no_locks", ProblemKind::CouldNot));
                assert!(
                    report.message.contains(&format!("`{}` does not support locks", std::env::temp_dir().display()))
                );
                assert!(report.hint.as_deref().is_some_and(|hint| hint.contains("TASKYARD_HOME")), "{report:?}");
            }
        }
        let write = StoreError::Io { doing: "cannot write", path, source: rustix::io::Errno::OPNOTSUPP.into() };
        assert_eq!(Problem::from(write).report().code, "io");
    }
}
