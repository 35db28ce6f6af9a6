//! What went wrong with a store, in words.

use std::time::Duration;

use crate::StoreError;
use crate::store::Occupant;
use taskyard_core::Event;

use taskyard_core::problem::{Problem, ProblemKind};

use super::advice;
use super::errors::{has_no_locks, no_locks, stuck};

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
                .hint("look before you try again: a change that was under way may have been made"),
            StoreError::Failed { .. } => Self::new(ProblemKind::CouldNot, "store_failed", message),
            StoreError::Busy { by, waited } => busy(message, by, waited),
            StoreError::NoLock { path, .. } => Self::new(ProblemKind::GaveUp, "locked", message)
                .hint(format!("no program can write here until it is gone: `taskyard doctor --fix` takes `{}` away", path.display()))
                .detail("path", path.display().to_string()),
            StoreError::NewerJournal { path, format } => Self::new(ProblemKind::CouldNot, "newer_journal", message)
                .hint("use the newer taskyard")
                .detail("path", path.display().to_string())
                .detail("format", format),
            StoreError::NewerFile { path, source } => Self::new(ProblemKind::CouldNot, "newer_file", message)
                .hint("use the program that wrote it, or a newer taskyard")
                .detail("path", path.display().to_string())
                .detail("version", source.stated),
            StoreError::Conflict { task } => {
                Self::new(ProblemKind::GaveUp, "conflict", message).hint("try again").detail("task", task.as_str())
            }
            StoreError::Taken { task } => Self::new(ProblemKind::Refused, "taken", message)
                .hint("nothing was changed; `taskyard doctor` shows what is wrong with what is there")
                .detail("task", task.as_str()),
            StoreError::NoNumberLeft => Self::new(ProblemKind::Refused, "no_number_left", message)
                .hint("move the tasks to another list with `taskyard merge`, where they get new numbers"),
            StoreError::NoTask { path, .. } => Self::new(ProblemKind::Refused, "unreadable", message)
                .hint("correct the file by hand, or let `taskyard doctor --fix` set it aside")
                .detail("path", path.display().to_string()),
            StoreError::TooLarge { task, source } => Self::new(ProblemKind::Refused, "too_large", message)
                .hint("keep long texts in a file and name the file in the task")
                .detail("task", task.as_str())
                .detail("size", source.size),
            StoreError::Journal { path, .. } => Self::new(ProblemKind::CouldNot, "journal", message)
                .hint("see that this path can be written and the disk has space, or set TASKYARD_HOME to another directory")
                .detail("path", path.display().to_string()),
            StoreError::JournalDamaged { path, .. } => Self::new(ProblemKind::CouldNot, "journal_damaged", message)
                .hint("`taskyard doctor --fix` keeps it aside, saves what can be read of it and begins a new one")
                .detail("path", path.display().to_string()),
            StoreError::Moved { list, to, has_left } => moved(message, list, to, has_left),
            StoreError::ListExists { list, .. } => Self::new(ProblemKind::Refused, "list_exists", message)
                .hint("nothing was moved; rename or remove that list first, or bring the tasks together with `taskyard merge` afterwards")
                .detail("list", list),
            StoreError::Unfinished { commit, cause } => unfinished(message, commit.as_deref(), &cause),
        }
    }
}

/// Says where a list is now, or how a move that was left in the middle is finished.
fn moved(message: String, list: String, to: String, has_left: bool) -> Problem {
    let problem = match has_left {
        true => Problem::new(ProblemKind::NotFound, "moved", message).hint(format!("use `--store {to}`, or set TASKYARD_STORE")),
        false => Problem::new(ProblemKind::GaveUp, "moving", message).hint(format!(
            "try again in a moment; if nobody moves it any more, `taskyard move {list} --to {to}` finishes the move or takes it back"
        )),
    };
    problem.detail("list", list).detail("to", to)
}

/// Says what is recorded, and what is left to do.
fn unfinished(message: String, commit: Option<&Event>, cause: &StoreError) -> Problem {
    let mut problem = Problem::new(ProblemKind::Unfinished, "unfinished", message)
        .hint("do not repeat it: remove the cause and run any command on this list, which finishes the change");
    if let Some(path) = cause.path() {
        problem = problem.detail("path", path.display().to_string());
    }
    if let Some(commit) = commit {
        let tasks: Vec<&str> = commit.entries.iter().map(|entry| entry.task.as_str()).collect();
        problem = problem.detail("revision", commit.revision.0).detail("tasks", tasks);
    }
    problem
}

/// Says who is in the way, and what to do about it.
fn busy(message: String, by: Occupant, waited: Duration) -> Problem {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let problem = Problem::new(ProblemKind::GaveUp, "locked", message).detail("waitedMs", milliseconds(waited));
    match by {
        Occupant::LockHolder { lock, age } => problem
            .hint(format!(
                "another program is working there: try again; if none is, `taskyard doctor --fix` takes `{}` away",
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
                assert!(report.message.contains(&format!("`{}` has no locks", std::env::temp_dir().display())));
                assert!(report.hint.as_deref().is_some_and(|hint| hint.contains("TASKYARD_HOME")), "{report:?}");
            }
        }
        let write = StoreError::Io { doing: "cannot write", path, source: rustix::io::Errno::OPNOTSUPP.into() };
        assert_eq!(Problem::from(write).report().code, "io");
    }
}
