//! Who is at a list when we find it busy.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

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
