//! What can be wrong with a journal, and how that is told from an error that passes.
//!
//! One look proves nothing: a disk or its memory may give a wrong answer once. So no verdict is recorded before a second look at everything,
//! through descriptors of its own, has found the journal damaged too.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::{Error, ErrorCode};

use super::departure_note::departure_in;
use super::schema::{DATABASE, MOVED};
use super::stamp::{FoundStamp, Stamp, is_lasting, look_at_stamp};
use super::verdict;
use super::verifying::look_again;
use super::wrong_sum::WrongSum;
use crate::sqlite::DatabaseError;
use crate::store::journal_damage::JournalDamage;
use crate::store::{Occupant, StoreError};

/// SQLite's code for SQL that does not fit the tables. Ours always does, so the tables are not what they were.
const SQLITE_ERROR: i32 = 1;
/// SQLite's code for a file that ends before it should.
const SQLITE_IOERR_SHORT_READ: i32 = 522;

/// The files of the database.
const FILES: [&str; 3] = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"];

/// Returns what an error says of the journal: that it is damaged, which is kept, or only that something could not be done now.
pub(super) fn judge(error: DatabaseError) -> StoreError {
    match sign_of_damage(&error) {
        Some((what, path)) => damaged(path.parent().unwrap_or(Path::new("")), what),
        None => not_done(error),
    }
}

/// Returns an error of a database of which no verdict is kept, or that says nothing of damage.
pub(super) fn not_done(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::Io { doing, path, source } => StoreError::Io { doing, path, source },
        DatabaseError::Busy { path, holder, waited } => {
            StoreError::Busy { by: Occupant::JournalWriter { journal: path, process: holder }, waited }
        }
        DatabaseError::Newer { path, format: MOVED } => match departure_in(path.parent().unwrap_or(Path::new(""))) {
            Ok(Some(departure)) => departure.refusal(),
            Ok(None) => StoreError::NewerJournal { path, format: MOVED },
            Err(error) => error,
        },
        DatabaseError::Newer { path, format } => StoreError::NewerJournal { path, format },
        DatabaseError::Refused { doing, path, source } => StoreError::Journal { doing, path, source },
    }
}

/// Keeps what was found wrong with the journal in a sidecar if a second look finds it damaged too, and returns it as an error. What a newer
/// Taskyard writes makes no sense to an older one, and is not damaged by that.
pub(super) fn damaged(sidecar: &Path, what: JournalDamage) -> StoreError {
    if let Ok(FoundStamp::Whole(_, stamp)) = look_at_stamp(sidecar)
        && stamp.is_newer()
    {
        return newer(sidecar, &stamp);
    }
    let path = sidecar.join(DATABASE);
    if what.is_kept() {
        match look_again(sidecar) {
            Ok(None) => return StoreError::io("cannot read", path)(io::Error::other(Misread { what })),
            Ok(Some(_)) => verdict::keep(sidecar, &what),
            Err(error) if sign_of_damage(&error).is_some() => verdict::keep(sidecar, &what),
            Err(error) => tracing::debug!(%error, "no verdict on a journal that cannot be looked over"),
        }
    }
    StoreError::JournalDamaged { path, what }
}

/// Says that a newer Taskyard has the journal in a sidecar.
pub(super) fn newer(sidecar: &Path, stamp: &Stamp) -> StoreError {
    StoreError::NewerJournal { path: sidecar.join(DATABASE), format: stamp.newer_format() }
}

/// What one look at a journal found and the next one did not.
#[derive(Debug, thiserror::Error)]
#[error("it was read wrong once ({what}), and a second look at all of it found nothing wrong")]
struct Misread {
    what: JournalDamage,
}

/// Returns the damage that an error is a sign of, and the database.
fn sign_of_damage(error: &DatabaseError) -> Option<(JournalDamage, &Path)> {
    let DatabaseError::Refused { path, source, .. } = error else { return None };
    let said = source.downcast_ref::<Error>()?;
    damage(said).or_else(|| unopenable(said, path)).map(|what| (what, path.as_path()))
}

fn damage(error: &Error) -> Option<JournalDamage> {
    let wrong_value = || Some(JournalDamage::WrongValue { why: error.to_string() });
    match error {
        Error::FromSqlConversionFailure(_, _, source) => match source.downcast_ref::<WrongSum>() {
            Some(wrong) => Some(JournalDamage::WrongSum { table: wrong.table }),
            None => wrong_value(),
        },
        // A caller that asks for what may be absent says so: an index led to a row that is not there.
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

/// Returns the first of the files beside a database, itself included, that is there and cannot be opened because of what or whose it is.
pub(super) fn first_unopenable(path: &Path) -> Option<JournalDamage> {
    FILES.iter().find_map(|file| {
        let found = path.with_file_name(file);
        let why = match File::open(&found) {
            Ok(_) if found.is_dir() => "it is a directory".to_owned(),
            Ok(_) => return None,
            Err(error) if is_lasting(&error) => error.to_string(),
            Err(_) => return None,
        };
        Some(JournalDamage::Unopenable { file, why })
    })
}
