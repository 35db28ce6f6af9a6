//! What lies about in a list's place, as every store tells of it, and why a lock would last for ever.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use taskyard_core::{SpecialFile, TaskId};

/// Something a list's place would be better without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Litter {
    /// A lock whose holder showed no sign of life for longer than a lock lives.
    StaleLock {
        /// The lock directory.
        path: PathBuf,
        /// How long ago its holder showed a sign of life.
        age: Duration,
    },
    /// Something in the place of a lock that would last for ever: no directory, or one from the future.
    LockInTheWay {
        /// The lock's place.
        path: PathBuf,
        /// What is wrong with it.
        why: StuckLock,
    },
    /// Something that is no regular file where one should be.
    SpecialFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        found: SpecialFile,
    },
    /// A temporary file of ours whose writer is dead.
    Leftover {
        /// The file.
        path: PathBuf,
    },
    /// A `.highwatermark` that holds no number, which the client takes for zero, or one too large to count on from.
    BadMark {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
    },
    /// A `.highwatermark` that is no regular file, or a huge one.
    UnreadableMark {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A `.highwatermark`, there or not, below a number that was used and that no file holds any more.
    LowMark {
        /// The file.
        path: PathBuf,
        /// The number in it.
        mark: u64,
        /// The highest number that was used.
        used: u64,
    },
    /// A task that is hidden from the client beside one of the same number that is not: the hidden one does not count.
    Shadowed {
        /// The hidden file.
        path: PathBuf,
        /// The task.
        task: TaskId,
    },
    /// A file that holds a whole list, or what belongs to one, and from which nothing can be read.
    TornFile {
        /// The file.
        path: PathBuf,
    },
    /// A task that is hidden a second time, so that the program that hid it does not find it either.
    HiddenTwice {
        /// The hidden file.
        path: PathBuf,
        /// The task.
        task: TaskId,
    },
    /// A task that is hidden from the client though it is not done.
    HiddenWork {
        /// The hidden file.
        path: PathBuf,
        /// The task.
        task: TaskId,
    },
}

/// Why what stands in a lock's place keeps writers waiting, though no process works behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StuckLock {
    /// It is no directory, as every lock of the client is.
    NotADirectory {
        /// What it is; none for a regular file.
        found: Option<SpecialFile>,
    },
    /// Its time lies in the future, so that by it the lock never grows old.
    InTheFuture {
        /// How far.
        by: Duration,
    },
    /// Its holder showed no sign of life for longer than a lock lives.
    Silent {
        /// For how long.
        age: Duration,
    },
}

impl fmt::Display for StuckLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADirectory { found: Some(found) } => write!(formatter, "{found} in the place of a lock"),
            Self::NotADirectory { found: None } => formatter.write_str("a file in the place of a lock"),
            Self::InTheFuture { by } => write!(formatter, "a lock whose time lies {} s in the future", by.as_secs()),
            Self::Silent { age } => write!(formatter, "a lock whose holder has been silent for {} s", age.as_secs()),
        }
    }
}
