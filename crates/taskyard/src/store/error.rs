//! Why a store could not find out, or could not do it: a list is busy, its journal is damaged, the system refused.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use taskyard_core::dialect::NewerVersion;
use taskyard_core::dialect::native::{TooLarge, Unreadable};
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;
use taskyard_core::{Event, SpecialFile, TaskId, Timestamp};

use crate::regular_file::NotRead;

/// What is behind an error, whatever store it comes from.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a store gave no answer. A refusal by a rule is not among these: that is an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence: "cannot read".
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store cannot be reached. Where a commit ends so, it may have happened: its attempt tells.
    #[error("{store} cannot be reached: {source}")]
    Unavailable {
        /// The store, in words that hold no secret.
        store: String,
        /// What came of trying.
        source: Cause,
    },
    /// Another process is at the list, and nothing has happened.
    #[error("{by}{}", gave_up(*.waited))]
    Busy {
        /// Who, as far as that can be told.
        by: Occupant,
        /// How long we waited; nothing where waiting is left to the caller.
        waited: Duration,
    },
    /// A store of another kind failed.
    #[error("cannot {doing}: {source}")]
    Failed {
        /// What we tried: "read the list `api`".
        doing: String,
        /// What came of it.
        source: Cause,
    },
    /// Something stands in the place of a lock that is none; nothing has happened.
    #[error("`{}` is {}, and no lock can be taken there", .path.display(), kind_in_words(*.found))]
    NoLock {
        /// The lock's place.
        path: PathBuf,
        /// What it is; none for a regular file.
        found: Option<SpecialFile>,
    },
    /// Another writer changed what the transaction read; nothing has happened.
    #[error("task {task} was changed by another program at the same moment")]
    Conflict {
        /// The task that changed.
        task: TaskId,
    },
    /// A new task would take the place of something that is there.
    #[error("there is something under the name of task {task} already, and it is not replaced")]
    Taken {
        /// The task.
        task: TaskId,
    },
    /// A list has used the highest number that the client can count to.
    #[error("no number is left for a new task: {LARGEST_NUMBER} is used")]
    NoNumberLeft,
    /// A transaction would overwrite something that is no task.
    #[error("`{}` is no task file and is left alone: {why}", .path.display())]
    NoTask {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: Unreadable,
    },
    /// A task is larger than we write.
    #[error("task {task}: {source}")]
    TooLarge {
        /// The task.
        task: TaskId,
        /// How large.
        source: TooLarge,
    },
    /// The journal could not be read or written.
    #[error("cannot {doing} the journal `{}`: {source}", .path.display())]
    Journal {
        /// What we tried: "open", "read", "write".
        doing: &'static str,
        /// The database.
        path: PathBuf,
        /// What the database said.
        source: Cause,
    },
    /// The journal holds what was never written to it, or no longer holds what was.
    #[error("the journal `{}` is damaged: {what}", .path.display())]
    JournalDamaged {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
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
    /// The list is no longer in this store, or is on its way to another one; nothing has happened.
    #[error("list `{list}` {} `{to}`", if *.has_left { "has moved to" } else { "is being moved to" })]
    Moved {
        /// The list.
        list: String,
        /// The address of the other store, without a password.
        to: String,
        /// Whether it has arrived there.
        has_left: bool,
    },
    /// The list is not empty, and another one of that name was to come here; nothing has happened.
    #[error("{store} has a list `{list}` already")]
    ListExists {
        /// The list.
        list: String,
        /// The store, in words that hold no secret.
        store: String,
    },
    /// A file of tasks states a version that this release does not know. It is neither read nor written.
    #[error("`{}` is left as it is: {source}", .path.display())]
    NewerFile {
        /// The file.
        path: PathBuf,
        /// The version it states.
        source: NewerVersion,
    },
    /// The change exists and stays, but a step after its commit failed: a flush, a file, the look that confirms it. The next command
    /// finishes it. A store never answers otherwise once a commit exists, and never so before.
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
    /// Returns a function that wraps an I/O error with what was tried, for `map_err`.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// Wraps what failed after a commit, so that it does not read as if there were none.
    pub(crate) fn unfinished(commit: Option<Event>, cause: Self) -> Self {
        let cause = match cause {
            Self::Unfinished { cause, .. } => cause,
            cause => Box::new(cause),
        };
        Self::Unfinished { commit: commit.map(Box::new), cause }
    }

    /// Returns the file or directory that is in the way, if one is.
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

    /// Tells whether our memory of a list is damaged or a newer Taskyard's: the tasks can be read without it.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Self::JournalDamaged { .. } | Self::NewerJournal { .. })
    }

    /// Says that two lists were wanted and one was named twice.
    pub(crate) fn one_list() -> Self {
        Self::Failed { doing: "change two lists at once".to_owned(), source: "it is one list, not two".into() }
    }

    /// Says why the file of a list was not read.
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

/// The program that keeps a list busy, as far as we can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occupant {
    /// The holder of a lock directory, which says nothing of who that is.
    LockHolder {
        /// The lock.
        lock: PathBuf,
        /// How long ago its holder last showed a sign of life.
        age: Duration,
    },
    /// A process that keeps a file locked.
    FileLocker {
        /// The file.
        file: PathBuf,
        /// The process, where the system tells.
        process: Option<i32>,
    },
    /// A process in the middle of writing the journal.
    JournalWriter {
        /// The database.
        journal: PathBuf,
        /// The process, where the system tells.
        process: Option<i32>,
    },
    /// A process at a store that is no file of ours.
    Elsewhere {
        /// Who it is, in the words of that store.
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
                write!(formatter, "{who} stays in the middle of writing the journal `{}`", journal.display())
            }
            Self::Elsewhere { who } => write!(formatter, "{who} is writing to the list"),
        }
    }
}

fn in_words(process: Option<i32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalDamage {
    /// A row does not match its checksum.
    #[error("a row of `{table}` does not match its checksum")]
    WrongSum {
        /// The table.
        table: &'static str,
    },
    /// A row holds a value that no release writes there.
    #[error("a row holds what was never written there ({why})")]
    WrongValue {
        /// What was found instead.
        why: String,
    },
    /// A file of the journal cannot be opened.
    #[error("`{file}` cannot be opened ({why})")]
    Unopenable {
        /// The file.
        file: &'static str,
        /// What the system says.
        why: String,
    },
    /// The journal ends before what was written to it: its log is lost.
    #[error(
        "it ends at revision {revision}, token {token} and number {number}, and revision {expected_revision}, token \
         {expected_token} and number {expected_number} were written"
    )]
    Older {
        /// The newest revision in it.
        revision: u64,
        /// The last token in it.
        token: u64,
        /// The highest number in it.
        number: u64,
        /// The newest revision that was written.
        expected_revision: u64,
        /// The last token that was given out.
        expected_token: u64,
        /// The highest number that was used.
        expected_number: u64,
    },
    /// The database is not there any more.
    #[error("the database was removed; a new one was begun")]
    Gone,
    /// The stamp beside the database, which tells how far it goes, is not there any more.
    #[error("the stamp that tells how far it goes was removed")]
    NoStamp,
    /// The stamp cannot be read.
    #[error("the stamp that tells how far it goes cannot be read")]
    BadStamp,
    /// An entry is missing between others.
    #[error("{missing} is missing")]
    Gap {
        /// Which one.
        missing: String,
    },
    /// It was found damaged before, and is not mended.
    #[error("{what}{}", found_at(*.at))]
    Found {
        /// When that was found, where that is known.
        at: Option<Timestamp>,
        /// What was found.
        what: String,
    },
    /// SQLite finds that the database is not whole.
    #[error("the database is not whole ({why})")]
    Malformed {
        /// What SQLite says.
        why: String,
    },
}

fn found_at(at: Option<Timestamp>) -> String {
    at.map(|at| format!(" (found {at})")).unwrap_or_default()
}

impl JournalDamage {
    /// Tells whether it is kept until `doctor` mends it. What only cannot be opened may be opened again tomorrow, and then nothing was
    /// lost.
    pub(in crate::store) fn is_kept(&self) -> bool {
        !matches!(self, Self::Unopenable { .. } | Self::Found { .. })
    }
}
