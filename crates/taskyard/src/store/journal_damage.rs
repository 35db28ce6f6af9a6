//! What can be wrong with a journal.

use taskyard_core::Timestamp;

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
