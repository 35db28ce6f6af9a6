//! Damage to a journal: how to tell it from a transient error, and what is kept of a damaged journal.
//!
//! A single failed read proves nothing: a disk or memory may return wrong data once. So a verdict is only recorded
//! after a second complete check, through new file descriptors, has found the journal damaged too. The verdict is the
//! file `damaged` beside the journal, which exists until `doctor --fix` has mended it. A damaged database is renamed;
//! it is never deleted and never replaces another.
//!
//! The check covers the whole journal: SQLite's integrity check, every row, how far the journal goes, and whether an
//! entry is missing.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::{fs, io};

use rusqlite::types::FromSql;
use rusqlite::{Error, ErrorCode, Row};
use serde::{Deserialize, Serialize};
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;
use taskyard_core::{Revision, Timestamp};

use super::layout::{BEGUN, DATABASE, ENTRIES, FORMAT, JOURNAL, MOVED, THINNED, TOKEN, departure_in};
use super::stamp::{FoundStamp, Marks, Stamp, StampFile, Standstill, is_lasting, look_at_stamp};
use crate::sqlite::{Database, DatabaseError, Table};
use crate::store::error::JournalDamage;
use crate::store::journal::rows;
use crate::store::journal::rows::{COLUMNS, ENTRY_BITS, Sequence, WrongSum, first_id, images_of};
use crate::store::{Occupant, StoreError};
use crate::{private, system};

/// SQLite's code for SQL that does not match the schema. Ours always does, so the tables have been altered.
const SQLITE_ERROR: i32 = 1;
/// SQLite's code for a file that is too short.
const SQLITE_IOERR_SHORT_READ: i32 = 522;

const FILES: [&str; 3] = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"];

/// Converts an error of the journal database. If it is a sign of damage, records the verdict; otherwise the error may
/// be transient.
pub(super) fn judge(error: DatabaseError) -> StoreError {
    match sign_of_damage(&error) {
        Some((what, path)) => damaged(path.parent().unwrap_or(Path::new("")), what),
        None => not_done(error),
    }
}

/// Converts an error without recording a verdict.
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

/// Records a verdict if a second check also finds the journal damaged, and returns the error. A journal written by a
/// newer Taskyard is unreadable to an older one, but not damaged.
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
            Ok(Some(_)) => keep_verdict(sidecar, &what),
            Err(error) if sign_of_damage(&error).is_some() => keep_verdict(sidecar, &what),
            Err(error) => tracing::debug!(%error, "no verdict on a journal that cannot be looked over"),
        }
    }
    StoreError::JournalDamaged { path, what }
}

/// Returns the error that a newer Taskyard has written the journal in a sidecar.
pub(super) fn newer(sidecar: &Path, stamp: &Stamp) -> StoreError {
    StoreError::NewerJournal { path: sidecar.join(DATABASE), format: stamp.newer_format() }
}

/// Damage that the first check of a journal found and the second did not.
#[derive(Debug, thiserror::Error)]
#[error("one read failed ({what}), but a complete second check found nothing wrong")]
struct Misread {
    what: JournalDamage,
}

/// Returns the damage that an error is a sign of, and the path of the database.
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
        // Queries for rows that may be absent handle that themselves, so an index points to a missing row.
        Error::QueryReturnedNoRows => {
            Some(JournalDamage::Malformed { why: "an index leads to a row that is not there".to_owned() })
        }
        Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) | Error::Utf8Error(..) => wrong_value(),
        Error::SqliteFailure(failure, _) => {
            // We never write a value that does not fit its column or exceeds the size limits.
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

/// Returns whether SQLite's message says that our SQL does not match the tables.
fn is_of_other_tables(message: &str) -> bool {
    let complaints =
        ["no such", "has no column", "columns but", "already exists", "duplicate column", "malformed", "unsupported"];
    complaints.iter().any(|complaint| message.contains(complaint))
}

/// If SQLite cannot open the database, returns which of its files cannot be opened.
fn unopenable(error: &Error, path: &Path) -> Option<JournalDamage> {
    let code = error.sqlite_error_code()?;
    // If the log's index (`-shm`) is not a regular file, SQLite opens the database read-only.
    matches!(code, ErrorCode::CannotOpen | ErrorCode::ReadOnly).then(|| first_unopenable(path)).flatten()
}

/// Returns the first of a database's files that exists but cannot be opened because of its type, owner or permissions.
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

const VERDICT: &str = "damaged";

#[derive(Serialize, Deserialize)]
struct Wire {
    /// When the damage was found, in milliseconds since the Unix epoch.
    at: i64,
    /// A description of the damage.
    found: String,
}

/// Records what was found and stops all writes to the journal. Keeps an earlier verdict.
pub(super) fn keep_verdict(sidecar: &Path, what: &JournalDamage) {
    if !what.is_kept() {
        return;
    }
    keep_verdict_as(sidecar, what, Standstill::Damaged);
}

/// Records what was found, with its consequence for writers. Returns whether the stamp could be changed.
pub(super) fn keep_verdict_as(sidecar: &Path, what: &JournalDamage, standstill: Standstill) -> bool {
    let path = sidecar.join(VERDICT);
    if !path.exists() {
        let wire = Wire { at: system::now().0, found: what.to_string() };
        let text = serde_json::to_string(&wire).unwrap_or_default();
        if let Err(error) = private::create(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            tracing::debug!(%error, "the verdict on a damaged journal is not kept");
        }
    }
    let stamp = StampFile::open(sidecar).ok().flatten();
    stamp.is_some_and(|stamp| stamp.change(|stamp| stamp.standstill = standstill))
}

/// Returns the recorded verdict.
pub(super) fn read_verdict(sidecar: &Path) -> JournalDamage {
    let text = fs::read(sidecar.join(VERDICT)).unwrap_or_default();
    match serde_json::from_slice::<Wire>(&text) {
        Ok(wire) => JournalDamage::Found { at: Some(Timestamp(wire.at)), what: wire.found },
        // What matters is that there is a verdict.
        Err(_) => JournalDamage::Found { at: None, what: "what was found cannot be read any more".to_owned() },
    }
}

/// Removes the verdict: the journal has been mended.
pub(super) fn clear_verdict(sidecar: &Path) {
    let _ = fs::remove_file(sidecar.join(VERDICT));
}

/// Checks the stamp and the whole journal of a sidecar through new descriptors, and returns the first damage found. An
/// error may be another sign of damage, or mean that something cannot be read now.
pub(super) fn look_again(sidecar: &Path) -> Result<Option<JournalDamage>, DatabaseError> {
    let stamp = match look_at_stamp(sidecar).map_err(DatabaseError::io("cannot read", sidecar.join("stamp")))? {
        FoundStamp::Damaged(what) => return Ok(Some(what)),
        FoundStamp::Whole(_, stamp) => Some(stamp),
        FoundStamp::Missing => None,
    };
    let expected = stamp.as_ref().map_or(Marks::default(), Stamp::expected);
    let path = sidecar.join(DATABASE);
    match fs::metadata(&path) {
        Ok(found) if found.len() == 0 && expected != Marks::default() => return Ok(Some(emptied())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((expected != Marks::default()).then_some(JournalDamage::Gone));
        }
        Err(error) => return Err(DatabaseError::io("cannot read", path)(error)),
    }
    let database = match Database::connect(path.clone(), &JOURNAL) {
        Err(error) if error.is_forbidden() => Database::connect_to_read(path, &JOURNAL)?,
        opened => opened?,
    };
    let format = database.known_format("read")?;
    if (1..FORMAT).contains(&format) {
        database.read_as_of_today(format)?;
    }
    let moment = database.begin_to_read()?;
    let fault = first_fault(&database, format, expected)?;
    drop(moment);
    Ok(fault.or_else(|| (format == FORMAT && stamp.is_none()).then_some(JournalDamage::NoStamp)))
}

/// Returns the first damage found in a database that should go as far as `expected`. The caller has begun a read
/// transaction.
pub(super) fn first_fault(
    database: &Database,
    format: i64,
    expected: Marks,
) -> Result<Option<JournalDamage>, DatabaseError> {
    let verdict: String = database.one("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Ok(Some(JournalDamage::Malformed { why: verdict }));
    }
    if format == FORMAT {
        let has_forms = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'forms')";
        let has_forms: bool = database.one(has_forms, [], |row| row.get(0))?;
        let is_checked = |table: &&Table| table.name != ENTRIES.name && (table.since.is_some() || has_forms);
        for table in JOURNAL.tables.iter().filter(is_checked) {
            let columns = rows::columns_of(table).join(", ");
            let sql = format!("SELECT {columns} FROM {}", table.name);
            database.each(&sql, [], |row| rows::check(row, table.name).map(ControlFlow::Continue))?;
        }
        let recent = RefCell::default();
        database.each(&format!("SELECT {COLUMNS} FROM entries ORDER BY id"), [], |row| {
            rows::check_entry(row, &images_of(&database.connection, &recent, row)?).map(ControlFlow::Continue)
        })?;
    }
    let begun = fact::<String>(database, BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
    let found = marks(database)?.max(begun);
    if !found.reaches(expected) {
        return Ok(Some(older(found, expected)));
    }
    first_gap(database, Revision(begun.revision))
}

/// Returns how far a database goes, judging by its contents.
fn marks(database: &Database) -> Result<Marks, DatabaseError> {
    let newest: Option<i64> = database.one("SELECT max(id) FROM entries", [], |row| row.get(0))?;
    // In SQLite every integer sorts before every text. Numbers beyond the largest valid one are excluded, or they would
    // hide the valid ones.
    let highest = "SELECT task FROM entries WHERE task <= ?1 ORDER BY task DESC LIMIT 1";
    let highest: Option<i64> = database.row(highest, [LARGEST_NUMBER.cast_signed()], |row| row.get(0))?;
    Ok(Marks {
        revision: newest.unwrap_or(0).unsigned_abs() >> ENTRY_BITS,
        token: fact::<i64>(database, TOKEN)?.unwrap_or(0).unsigned_abs(),
        number: highest.unwrap_or(0).unsigned_abs(),
    })
}

/// Returns the first gap in the entries written since the journal was begun or last thinned.
fn first_gap(database: &Database, begun: Revision) -> Result<Option<JournalDamage>, DatabaseError> {
    let thinned = Revision(fact::<i64>(database, THINNED)?.unwrap_or(0).unsigned_abs());
    let first = first_id(begun.max(thinned).next());
    let (mut sequence, mut gap) = (Sequence::from(first), None);
    database.each("SELECT id FROM entries WHERE id >= ?1 ORDER BY id", [first], |row| {
        gap = sequence.gap_before(row.get(0)?);
        Ok(if gap.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(gap)
}

fn fact<T: FromSql>(database: &Database, key: &str) -> Result<Option<T>, DatabaseError> {
    let value = |row: &Row<'_>| rows::check(row, "facts").and_then(|()| row.get(1));
    database.row("SELECT key, value, sum FROM facts WHERE key = ?1", [key], value)
}

/// Returns the damage of a journal that ends too early.
pub(super) fn older(found: Marks, expected: Marks) -> JournalDamage {
    JournalDamage::Older {
        revision: found.revision,
        token: found.token,
        number: found.number,
        expected_revision: expected.revision,
        expected_token: expected.token,
        expected_number: expected.number,
    }
}

/// Returns the damage of a database file that is unexpectedly empty.
pub(super) fn emptied() -> JournalDamage {
    JournalDamage::Malformed { why: "the file is empty".to_owned() }
}

/// Parses the marks at which a journal was begun.
pub(super) fn begun_from(text: &str) -> Marks {
    let mut words = text.split(' ').map(|word| word.parse().unwrap_or(0));
    Marks { revision: words.next().unwrap_or(0), token: 0, number: words.next().unwrap_or(0) }
}

/// The suffixes of a database's files.
const PARTS: [&str; 2] = ["-wal", ""];

/// Renames the database and its log, and removes the log's index.
pub(super) fn set_aside(sidecar: &Path) -> Result<(), StoreError> {
    keep_parts(sidecar, &PARTS)
}

/// Renames a log that does not belong to a database.
pub(super) fn set_log_aside(sidecar: &Path) -> Result<(), StoreError> {
    keep_parts(sidecar, &["-wal"])
}

/// Returns whether there is a non-empty log.
pub(super) fn has_log(sidecar: &Path) -> bool {
    fs::metadata(sidecar.join(format!("{DATABASE}-wal"))).is_ok_and(|log| log.len() > 0)
}

fn keep_parts(sidecar: &Path, parts: &[&str]) -> Result<(), StoreError> {
    // SQLite recreates the index from the log if it is missing.
    let index = sidecar.join(format!("{DATABASE}-shm"));
    let _ = fs::remove_file(&index).or_else(|_| fs::remove_dir(&index));
    let name = free_name(sidecar);
    for part in parts {
        let from = sidecar.join(format!("{DATABASE}{part}"));
        match fs::rename(&from, sidecar.join(format!("{name}{part}"))) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("cannot rename", from)(error)),
        }
    }
    Ok(())
}

/// Returns an unused file name that contains the current time.
fn free_name(sidecar: &Path) -> String {
    let is_free = |name: &String| PARTS.iter().all(|part| !sidecar.join(format!("{name}{part}")).exists());
    let moment = system::now().0;
    (0..)
        .map(|offset| format!("{DATABASE}.damaged-{}", moment + offset))
        .find(is_free)
        .expect("there is no end of names")
}
