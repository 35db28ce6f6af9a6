//! What can be wrong with a journal, how that is told from an error that passes, and what is kept of a damaged one.
//!
//! One look proves nothing: a disk or its memory may give a wrong answer once. So no verdict is recorded before a second look at everything,
//! through descriptors of its own, has found the journal damaged too. The verdict is the file `damaged` beside the journal, until
//! `doctor --fix` has mended it. A damaged database gets another name, is never deleted, and never takes the place of another.
//!
//! Verifying reads the whole journal: what SQLite thinks of it, every row, how far it goes, and whether an entry is missing.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::types::FromSql;
use rusqlite::{Error, ErrorCode, Row};
use serde::{Deserialize, Serialize};
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;
use taskyard_core::{Revision, Timestamp};

use super::layout::{BEGUN, DATABASE, ENTRIES, FORMAT, JOURNAL, MOVED, THINNED, TOKEN, departure_in};
use super::rows::{self, COLUMNS, ENTRY_BITS, Sequence, WrongSum, first_id, images_of};
use super::stamp::{FoundStamp, Marks, Stamp, StampFile, Standstill, is_lasting, look_at_stamp};
use crate::sqlite::{Database, DatabaseError, Table};
use crate::store::error::JournalDamage;
use crate::store::{Occupant, StoreError};
use crate::{clock, private};

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
            Ok(Some(_)) => keep_verdict(sidecar, &what),
            Err(error) if sign_of_damage(&error).is_some() => keep_verdict(sidecar, &what),
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

const VERDICT: &str = "damaged";

#[derive(Serialize, Deserialize)]
struct Wire {
    /// When it was found, in milliseconds.
    at: i64,
    /// What was found, in words.
    found: String,
}

/// Keeps what was found, and lets no process write to the journal any more. What was found first stays.
pub(super) fn keep_verdict(sidecar: &Path, what: &JournalDamage) {
    if !what.is_kept() {
        return;
    }
    keep_verdict_as(sidecar, what, Standstill::Damaged);
}

/// Keeps what was found, with what it means for writers; returns whether that is noted.
pub(super) fn keep_verdict_as(sidecar: &Path, what: &JournalDamage, standstill: Standstill) -> bool {
    let path = sidecar.join(VERDICT);
    if !path.exists() {
        let wire = Wire { at: clock::now().0, found: what.to_string() };
        let text = serde_json::to_string(&wire).unwrap_or_default();
        if let Err(error) = private::create(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            tracing::debug!(%error, "the verdict on a damaged journal is not kept");
        }
    }
    let stamp = StampFile::open(sidecar).ok().flatten();
    stamp.is_some_and(|stamp| stamp.change(|stamp| stamp.standstill = standstill))
}

/// Returns what was kept.
pub(super) fn read_verdict(sidecar: &Path) -> JournalDamage {
    let text = fs::read(sidecar.join(VERDICT)).unwrap_or_default();
    match serde_json::from_slice::<Wire>(&text) {
        Ok(wire) => JournalDamage::Found { at: Some(Timestamp(wire.at)), what: wire.found },
        // That there is one is what counts.
        Err(_) => JournalDamage::Found { at: None, what: "what was found cannot be read any more".to_owned() },
    }
}

/// Forgets what was found: the journal is whole.
pub(super) fn clear_verdict(sidecar: &Path) {
    let _ = fs::remove_file(sidecar.join(VERDICT));
}

/// Reads the stamp and the whole journal of a sidecar through descriptors of its own, and returns the first thing that is wrong. An error
/// may be another sign of damage, or say that it could not be read now.
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

/// Returns the first thing that is wrong with a database that has to go so far. The caller has begun to read.
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

/// Returns how far a database goes by itself.
fn marks(database: &Database) -> Result<Marks, DatabaseError> {
    let newest: Option<i64> = database.one("SELECT max(id) FROM entries", [], |row| row.get(0))?;
    // Every integer sorts before every text. A number beyond the largest that counts would hide those that do.
    let highest = "SELECT task FROM entries WHERE task <= ?1 ORDER BY task DESC LIMIT 1";
    let highest: Option<i64> = database.row(highest, [LARGEST_NUMBER.cast_signed()], |row| row.get(0))?;
    Ok(Marks {
        revision: newest.unwrap_or(0).unsigned_abs() >> ENTRY_BITS,
        token: fact::<i64>(database, TOKEN)?.unwrap_or(0).unsigned_abs(),
        number: highest.unwrap_or(0).unsigned_abs(),
    })
}

/// Returns the first entry that is missing, of those since the journal was begun or last thinned out.
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

/// Returns what is wrong with a journal that ends before it should.
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

/// Returns what is wrong with a database whose file is empty and was not.
pub(super) fn emptied() -> JournalDamage {
    JournalDamage::Malformed { why: "the file is empty".to_owned() }
}

/// Reads where a journal was begun.
pub(super) fn begun_from(text: &str) -> Marks {
    let mut words = text.split(' ').map(|word| word.parse().unwrap_or(0));
    Marks { revision: words.next().unwrap_or(0), token: 0, number: words.next().unwrap_or(0) }
}

/// The files of a database, by what follows its name.
const PARTS: [&str; 2] = ["-wal", ""];

/// Gives the database and its log other names, and removes the index of the log.
pub(super) fn set_aside(sidecar: &Path) -> Result<(), StoreError> {
    keep_parts(sidecar, &PARTS)
}

/// Gives a log other than that of a database another name.
pub(super) fn set_log_aside(sidecar: &Path) -> Result<(), StoreError> {
    keep_parts(sidecar, &["-wal"])
}

/// Tells whether there is a log in which something was written.
pub(super) fn has_log(sidecar: &Path) -> bool {
    fs::metadata(sidecar.join(format!("{DATABASE}-wal"))).is_ok_and(|log| log.len() > 0)
}

fn keep_parts(sidecar: &Path, parts: &[&str]) -> Result<(), StoreError> {
    // It is made anew from the log whenever it is missing.
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

/// Returns a name under which nothing lies yet, with the moment in it.
fn free_name(sidecar: &Path) -> String {
    let is_free = |name: &String| PARTS.iter().all(|part| !sidecar.join(format!("{name}{part}")).exists());
    let moment = clock::now().0;
    (0..)
        .map(|offset| format!("{DATABASE}.damaged-{}", moment + offset))
        .find(is_free)
        .expect("there is no end of names")
}
