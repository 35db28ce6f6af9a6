//! Errors of a store: the list is busy, its journal is damaged, the operating system refused.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use taskyard_core::dialect::NewerVersion;
use taskyard_core::dialect::native::{TooLarge, Unreadable};
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;
use taskyard_core::{Event, SpecialFile, TaskId, Timestamp};

use crate::regular_file::NotRead;

/// The underlying cause of an error, independent of the store.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a store operation failed. A refusal by a rule is a regular result and not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An operating system call failed.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// The attempted operation, as the start of a sentence: "cannot read".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The store cannot be reached. If a commit fails this way, it may have happened; its attempt id tells.
    #[error("{store} cannot be reached: {source}")]
    Unavailable {
        /// The store's address, without secrets.
        store: String,
        /// The cause.
        source: Cause,
    },
    /// Another process is writing to the list; nothing has happened.
    #[error("{by}{}", gave_up(*.waited))]
    Busy {
        /// The other process, as far as it can be identified.
        by: Occupant,
        /// How long we waited; zero if the caller does the waiting.
        waited: Duration,
    },
    /// A store that is not file-backed failed.
    #[error("cannot {doing}: {source}")]
    Failed {
        /// The attempted operation: "read the list `api`".
        doing: String,
        /// The cause.
        source: Cause,
    },
    /// Something other than a lock exists at a lock's path; nothing has happened.
    #[error("`{}` is {}, and no lock can be taken there", .path.display(), kind_in_words(*.found))]
    NoLock {
        /// The lock's path.
        path: PathBuf,
        /// The kind of file found; `None` for a regular file.
        found: Option<SpecialFile>,
    },
    /// Another writer changed what the transaction read; nothing has happened.
    #[error("task {task} was changed by another program at the same moment")]
    Conflict {
        /// The task that changed.
        task: TaskId,
    },
    /// A new task would overwrite an existing entry.
    #[error("a file for task {task} already exists, and is not overwritten")]
    Taken {
        /// The task.
        task: TaskId,
    },
    /// The list has used the highest number that the client can represent.
    #[error("no number is left for a new task: {LARGEST_NUMBER} is taken")]
    NoNumberLeft,
    /// A transaction would overwrite something that is not a task.
    #[error("`{}` is not a task file and was not changed: {why}", .path.display())]
    NoTask {
        /// The file.
        path: PathBuf,
        /// Why it is not a task.
        why: Unreadable,
    },
    /// A task is larger than the limit for writing.
    #[error("task {task}: {source}")]
    TooLarge {
        /// The task.
        task: TaskId,
        /// Its size.
        source: TooLarge,
    },
    /// The journal could not be read or written.
    #[error("cannot {doing} the journal `{}`: {source}", .path.display())]
    Journal {
        /// The attempted operation: "open", "read", "write".
        doing: &'static str,
        /// The database.
        path: PathBuf,
        /// The database's error.
        source: Cause,
    },
    /// The journal contains data that was never written to it, or has lost data that was.
    #[error("the journal `{}` is damaged: {what}", .path.display())]
    JournalDamaged {
        /// The database.
        path: PathBuf,
        /// The kind of damage.
        what: JournalDamage,
    },
    /// The journal was written by a newer Taskyard.
    #[error("the journal `{}` was written by a newer taskyard (format {format})", .path.display())]
    NewerJournal {
        /// The database.
        path: PathBuf,
        /// Its format.
        format: i64,
    },
    /// The list has moved or is being moved to another store; nothing has happened.
    #[error("list `{list}` {} `{to}`", if *.has_left { "has moved to" } else { "is being moved to" })]
    Moved {
        /// The list.
        list: String,
        /// The address of the other store, without a password.
        to: String,
        /// Whether the move is complete.
        has_left: bool,
    },
    /// A list cannot arrive here because a non-empty list of that name exists; nothing has happened.
    #[error("{store} already has a list `{list}`")]
    ListExists {
        /// The list.
        list: String,
        /// The store's address, without secrets.
        store: String,
    },
    /// A task file states a format version that this release does not know. It is neither read nor written.
    #[error("`{}` is not changed: {source}", .path.display())]
    NewerFile {
        /// The file.
        path: PathBuf,
        /// The version it states.
        source: NewerVersion,
    },
    /// The change is committed, but a later step failed: a flush, a file write, or the final check. The next command
    /// finishes it. Once a commit exists, a store returns no other error, and it never returns this one before.
    #[error("the change is recorded{} but could not be finished ({cause})", as_revision(.commit.as_deref()))]
    Unfinished {
        /// The commit; `None` if only leases changed.
        commit: Option<Box<Event>>,
        /// The step that failed.
        #[source]
        cause: Box<StoreError>,
    },
}

impl StoreError {
    /// Returns a closure for `map_err` that wraps an I/O error with the attempted operation.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// Wraps an error that occurred after a commit, so that it is not mistaken for a failed commit.
    pub(crate) fn unfinished(commit: Option<Event>, cause: Self) -> Self {
        let cause = match cause {
            Self::Unfinished { cause, .. } => cause,
            cause => Box::new(cause),
        };
        Self::Unfinished { commit: commit.map(Box::new), cause }
    }

    /// Returns the file or directory that caused the error, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::NoLock { path, .. }
            | Self::NoTask { path, .. }
            | Self::Journal { path, .. }
            | Self::JournalDamaged { path, .. }
            | Self::NewerJournal { path, .. }
            | Self::NewerFile { path, .. } => Some(path),
            Self::Unfinished { cause, .. } => cause.path(),
            Self::Unavailable { .. }
            | Self::Busy { .. }
            | Self::Failed { .. }
            | Self::Conflict { .. }
            | Self::Taken { .. }
            | Self::NoNumberLeft
            | Self::TooLarge { .. }
            | Self::Moved { .. }
            | Self::ListExists { .. } => None,
        }
    }

    /// Returns whether our journal of a list is damaged or from a newer Taskyard; tasks can still be read without it.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Self::JournalDamaged { .. } | Self::NewerJournal { .. })
    }

    /// The error for naming the same list twice where two lists are needed.
    pub(crate) fn one_list() -> Self {
        Self::Failed { doing: "change two lists at once".to_owned(), source: "both names mean the same list".into() }
    }

    /// The error for a list's file that was not read.
    pub(crate) fn not_read(path: &Path, why: NotRead) -> Self {
        match why.of_a_task() {
            Ok(why) => Self::NoTask { path: path.to_owned(), why },
            Err(source) => Self::io("cannot read", path)(source),
        }
    }
}

fn kind_in_words(found: Option<SpecialFile>) -> String {
    found.map_or_else(|| "a file".to_owned(), |found| found.to_string())
}

fn as_revision(commit: Option<&Event>) -> String {
    commit.map_or_else(String::new, |commit| format!(" as revision {}", commit.revision.0))
}

fn gave_up(waited: Duration) -> String {
    if waited.is_zero() { String::new() } else { format!("; gave up after {} s", waited.as_secs()) }
}

/// The program that keeps a list busy, as far as it can be identified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occupant {
    /// The holder of a lock directory, which does not identify its owner.
    LockHolder {
        /// The lock.
        lock: PathBuf,
        /// Time since its holder last refreshed it.
        age: Duration,
    },
    /// A process that holds a lock on a file.
    FileLocker {
        /// The file.
        file: PathBuf,
        /// The process id, if the operating system reports it.
        process: Option<i32>,
    },
    /// A process that holds the write lock on the journal.
    JournalWriter {
        /// The database.
        journal: PathBuf,
        /// The process id, if the operating system reports it.
        process: Option<i32>,
    },
    /// A writer to a store that is not file-backed.
    Elsewhere {
        /// A description of the writer, provided by that store.
        who: String,
    },
}

impl fmt::Display for Occupant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LockHolder { lock, age } => {
                let (seconds, tenths) = (age.as_secs(), age.subsec_millis() / 100);
                write!(formatter, "lock `{}` is held by another process ({seconds}.{tenths} s old)", lock.display())
            }
            Self::FileLocker { file, process } => {
                write!(formatter, "`{}` is locked by {}", file.display(), in_words(*process))
            }
            Self::JournalWriter { journal, process } => {
                let who = in_words(*process);
                write!(formatter, "{who} is still writing the journal `{}`", journal.display())
            }
            Self::Elsewhere { who } => write!(formatter, "{who} is writing to the list"),
        }
    }
}

fn in_words(process: Option<i32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}

/// The kind of damage to a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalDamage {
    /// A row does not match its checksum.
    #[error("a row of `{table}` does not match its checksum")]
    WrongSum {
        /// The table.
        table: &'static str,
    },
    /// A row contains a value that no release writes.
    #[error("a row holds an invalid value ({why})")]
    WrongValue {
        /// The value found.
        why: String,
    },
    /// A journal file cannot be opened.
    #[error("`{file}` cannot be opened ({why})")]
    Unopenable {
        /// The file.
        file: &'static str,
        /// The operating system's error.
        why: String,
    },
    /// The journal ends before its recorded end: its log was lost.
    #[error(
        "it ends at revision {revision}, token {token} and number {number}, but revision {expected_revision}, token \
         {expected_token} and number {expected_number} were written"
    )]
    Older {
        /// The newest revision it contains.
        revision: u64,
        /// The last token it contains.
        token: u64,
        /// The highest task number it contains.
        number: u64,
        /// The newest revision that was written.
        expected_revision: u64,
        /// The last token that was issued.
        expected_token: u64,
        /// The highest task number that was used.
        expected_number: u64,
    },
    /// The database has been deleted.
    #[error("the database was removed; a new one was started")]
    Gone,
    /// The stamp file next to the database, which records the journal's end, has been deleted.
    #[error("the stamp that records its end was removed")]
    NoStamp,
    /// The stamp cannot be read.
    #[error("the stamp that records its end cannot be read")]
    BadStamp,
    /// An entry is missing from the sequence.
    #[error("{missing} is missing")]
    Gap {
        /// The missing entry.
        missing: String,
    },
    /// Damage that was found earlier and has not been repaired.
    #[error("{what}{}", found_at(*.at))]
    Found {
        /// When it was found, if known.
        at: Option<Timestamp>,
        /// The damage that was found.
        what: String,
    },
    /// SQLite reports that the database is corrupt.
    #[error("the database is corrupt ({why})")]
    Malformed {
        /// SQLite's message.
        why: String,
    },
}

fn found_at(at: Option<Timestamp>) -> String {
    at.map(|at| format!(" (found {at})")).unwrap_or_default()
}

impl JournalDamage {
    /// Returns whether the damage is recorded until `doctor` repairs it. A file that merely cannot be opened may open
    /// again later, and then nothing was lost.
    pub(in crate::store) fn is_kept(&self) -> bool {
        !matches!(self, Self::Unopenable { .. } | Self::Found { .. })
    }
}
