//! What can be wrong with a journal, and how that is told from an error that passes.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::{Error, ErrorCode};
use taskyard_core::Timestamp;

use super::opening::damaged;
use super::sums::WrongSum;
use crate::sqlite::DatabaseError;
use crate::store::{Occupant, StoreError};

/// SQLite's code for SQL that does not fit the tables. Ours always does, so the tables are not what they were.
const SQLITE_ERROR: i32 = 1;
/// SQLite's code for a file that ends before it should.
const SQLITE_IOERR_SHORT_READ: i32 = 522;

/// The files of the database.
const FILES: [&str; 3] = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"];

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// Tells whether it is kept until somebody mends it. What only cannot be opened may be opened again tomorrow, and then nothing
    /// was lost.
    pub(super) fn is_kept(&self) -> bool {
        !matches!(self, Self::Unopenable { .. } | Self::Found { .. })
    }
}

/// Returns what an error says of the journal: that it is damaged, which is kept, or only that something could not be done now.
pub(super) fn judge(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::Io { doing, path, source } => StoreError::Io { doing, path, source },
        DatabaseError::Busy { path, holder, waited } => {
            StoreError::Busy { by: Occupant::JournalWriter { journal: path, process: holder }, waited }
        }
        DatabaseError::Newer { path, format } => StoreError::NewerJournal { path, format },
        DatabaseError::Refused { doing, path, source } => {
            let said = source.downcast_ref::<Error>();
            match said.and_then(|error| damage(error).or_else(|| unopenable(error, &path))) {
                Some(what) => damaged(path.parent().unwrap_or(Path::new("")), what),
                None => StoreError::Journal { doing, path, source },
            }
        }
    }
}

fn damage(error: &Error) -> Option<JournalDamage> {
    let wrong_value = || Some(JournalDamage::WrongValue { why: error.to_string() });
    match error {
        Error::FromSqlConversionFailure(_, _, source) => match source.downcast_ref::<WrongSum>() {
            Some(wrong) => Some(JournalDamage::WrongSum { table: wrong.table }),
            None => wrong_value(),
        },
        // Whoever asks for what may be absent says so: an index led to a row that is not there.
        Error::QueryReturnedNoRows => {
            Some(JournalDamage::Malformed { why: "an index leads to a row that is not there".to_owned() })
        }
        Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) | Error::Utf8Error(..) => wrong_value(),
        Error::SqliteFailure(failure, _) => {
            // What does not fit a column, or is larger than anything may be, was never written.
            let is_damage = matches!(
                failure.code,
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::TooBig
                    | ErrorCode::TypeMismatch
                    | ErrorCode::ConstraintViolation
            ) || failure.extended_code == SQLITE_IOERR_SHORT_READ
                || (failure.extended_code == SQLITE_ERROR && is_of_other_tables(&error.to_string()));
            is_damage.then(|| JournalDamage::Malformed { why: error.to_string() })
        }
        Error::SqlInputError { msg, .. } if is_of_other_tables(msg) => {
            Some(JournalDamage::Malformed { why: msg.clone() })
        }
        _ => None,
    }
}

/// Tells whether SQLite complains that SQL of ours does not fit the tables.
fn is_of_other_tables(message: &str) -> bool {
    let complaints =
        ["no such", "has no column", "columns but", "already exists", "duplicate column", "malformed", "unsupported"];
    complaints.iter().any(|complaint| message.contains(complaint))
}

/// Returns which of the files cannot be opened, where SQLite could not.
fn unopenable(error: &Error, path: &Path) -> Option<JournalDamage> {
    let code = error.sqlite_error_code()?;
    // Where the index of the log is no file, SQLite only reads.
    matches!(code, ErrorCode::CannotOpen | ErrorCode::ReadOnly).then(|| first_unopenable(path)).flatten()
}

/// Returns the first of the files beside a database, itself included, that is there and cannot be opened.
pub(super) fn first_unopenable(path: &Path) -> Option<JournalDamage> {
    FILES.iter().find_map(|file| {
        let found = path.with_file_name(file);
        let why = match File::open(&found) {
            Ok(_) if found.is_dir() => "it is a directory".to_owned(),
            Ok(_) => return None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
        };
        Some(JournalDamage::Unopenable { file, why })
    })
}
