//! Why a lock would last for ever.

use std::fmt;
use std::time::Duration;

use taskyard_core::SpecialFile;

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
