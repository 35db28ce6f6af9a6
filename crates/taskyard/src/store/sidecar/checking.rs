//! Looking a journal over from end to end: what SQLite thinks of it, every row, and whether an entry is missing.

use std::ops::ControlFlow;
use std::path::Path;

use taskyard_core::Revision;

use super::Journal;
use super::condemning::{look_at_stamp, newer};
use super::damage::{first_unopenable, judge};
use super::opening::older;
use super::recent_images::COLUMNS;
use super::schema::{DATABASE, ENTRIES, FORMAT, JOURNAL};
use super::sequence::Sequence;
use super::stamp::{Marks, Standstill};
use super::sums;
use super::verdict;
use crate::sqlite::{Database, Table};
use crate::store::StoreError;
use crate::store::journal_damage::JournalDamage;

/// No release will have a higher format than this.
const HIGHEST_TO_COME: i64 = 9999;

/// What a look over a journal found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// Nothing is wrong with it.
    Whole,
    /// It is whole, and what was found wrong before is not cleared yet.
    Mended(JournalDamage),
    /// It is damaged.
    Damaged(JournalDamage),
}

/// Looks over the journal of a sidecar. `written` is a revision that the caller knows to have been written.
pub(super) fn examine(sidecar: &Path, written: Revision) -> Result<Health, StoreError> {
    let found = match look_over(sidecar, written) {
        Err(StoreError::JournalDamaged { what, .. }) => Some(what),
        found => found?,
    };
    let standstill = look_at_stamp(sidecar).ok().flatten().map_or(Standstill::None, |(_, stamp)| stamp.standstill);
    Ok(match (found, standstill) {
        (Some(what), Standstill::Damaged) => Health::Damaged(first_found(sidecar, what)),
        (Some(what), _) => Health::Damaged(what),
        (None, Standstill::None) => Health::Whole,
        (None, _) => Health::Mended(verdict::read(sidecar)),
    })
}

/// Returns what was found first, where that is known.
fn first_found(sidecar: &Path, what: JournalDamage) -> JournalDamage {
    match verdict::read(sidecar) {
        JournalDamage::Found { at: None, .. } => what,
        first => first,
    }
}

fn look_over(sidecar: &Path, written: Revision) -> Result<Option<JournalDamage>, StoreError> {
    let stamped = match look_at_stamp(sidecar) {
        Ok(Some((_, stamp))) if stamp.is_newer() => return Err(newer(sidecar, &stamp)),
        Ok(stamped) => stamped,
        Err(_) if let Some(newer) = newer_by_itself(sidecar) => return Err(newer),
        Err(what) => return Ok(Some(what)),
    };
    if let Some(what) = first_unopenable(&sidecar.join(DATABASE)) {
        return Ok(Some(what));
    }
    let written = Marks { revision: written.0, ..Marks::default() };
    let expected = stamped.as_ref().map_or(written, |(_, stamp)| stamp.expected());
    let Some(journal) = Journal::open_as_it_is(sidecar)? else {
        return Ok((expected != Marks::default()).then_some(JournalDamage::Gone));
    };
    let format = journal.database.format("open").map_err(judge)?;
    if format > FORMAT {
        // A newer Taskyard raises the format in the stamp first. Where the stamp says otherwise the number may be damaged, or the stamp
        // older than its database: what may be a newer Taskyard's is left alone, unless no release will ever have that format.
        return match format <= HIGHEST_TO_COME {
            true => Err(StoreError::NewerJournal { path: journal.database.path, format }),
            false => Ok(Some(JournalDamage::Malformed { why: format!("it says that its format is {format}") })),
        };
    }
    journal.read_unmapped();
    let moment = journal.begin_to_read()?;
    let found = journal.first_fault(format, expected);
    drop(moment);
    match found? {
        None if format == FORMAT && stamped.is_none() => Ok(Some(JournalDamage::NoStamp)),
        found => Ok(found),
    }
}

/// Returns that a newer Taskyard has a journal whose stamp cannot be read, where the database says so.
fn newer_by_itself(sidecar: &Path) -> Option<StoreError> {
    let database = Database::connect_to_read(sidecar.join(DATABASE), &JOURNAL).ok()?;
    let newer = database.known_format("open").err().map(judge)?;
    matches!(newer, StoreError::NewerJournal { format, .. } if format <= HIGHEST_TO_COME).then_some(newer)
}

impl Journal {
    /// Returns the first thing that is wrong with the database, where something is.
    pub(super) fn first_fault(&self, format: i64, expected: Marks) -> Result<Option<JournalDamage>, StoreError> {
        let verdict: String = self.one("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Ok(Some(JournalDamage::Malformed { why: verdict }));
        }
        if format == FORMAT {
            let has_forms = self.has_forms()?;
            let is_checked = |table: &&Table| table.name != ENTRIES.name && (table.since.is_some() || has_forms);
            for table in JOURNAL.tables.iter().filter(is_checked) {
                let columns = sums::columns_of(table).join(", ");
                let sql = format!("SELECT {columns} FROM {}", table.name);
                self.rows(&sql, [], |row| sums::check(row, table.name))?;
            }
            self.rows(&format!("SELECT {COLUMNS} FROM entries ORDER BY id"), [], |row| {
                self.checked_images(row).map(drop)
            })?;
        }
        let found = self.marks()?;
        if !found.reaches(expected) {
            return Ok(Some(older(found, expected)));
        }
        self.first_gap()
    }

    /// Returns the first entry that is missing, of those since the journal was begun or last thinned out.
    fn first_gap(&self) -> Result<Option<JournalDamage>, StoreError> {
        let first = self.whole_since()?;
        let (mut sequence, mut gap) = (Sequence::from(first), None);
        self.each("SELECT id FROM entries WHERE id >= ?1 ORDER BY id", [first], |row| {
            gap = sequence.gap_before(row.get(0)?);
            Ok(if gap.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(gap)
    }
}
