//! Reading a whole journal to see whether it is what was written: what SQLite thinks of it, every row, how far it goes, and whether an entry
//! is missing. It knows nothing of the connections to a journal that a process keeps, and records no verdict.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Row;
use rusqlite::types::FromSql;
use taskyard_core::Revision;
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;

use super::recent_images::{COLUMNS, images_of};
use super::schema::{BEGUN, DATABASE, ENTRIES, FORMAT, JOURNAL, THINNED, TOKEN};
use super::sequence::{ENTRY_BITS, Sequence, first_id};
use super::stamp::{FoundStamp, Marks, Stamp, look_at_stamp};
use super::sums;
use crate::sqlite::{Database, DatabaseError, Table};
use crate::store::journal_damage::JournalDamage;

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
            let columns = sums::columns_of(table).join(", ");
            let sql = format!("SELECT {columns} FROM {}", table.name);
            database.each(&sql, [], |row| sums::check(row, table.name).map(ControlFlow::Continue))?;
        }
        let recent = RefCell::default();
        database.each(&format!("SELECT {COLUMNS} FROM entries ORDER BY id"), [], |row| {
            sums::check_entry(row, &images_of(&database.connection, &recent, row)?).map(ControlFlow::Continue)
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
    let value = |row: &Row<'_>| sums::check(row, "facts").and_then(|()| row.get(1));
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
