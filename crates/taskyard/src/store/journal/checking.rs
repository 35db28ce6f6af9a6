//! Looking a journal over from end to end, and what was found wrong with it before.

use std::path::Path;

use taskyard_core::Revision;

use super::Journal;
use super::damage::{first_unopenable, judge, newer};
use super::opening::stamp_at;
use super::schema::{DATABASE, FORMAT, JOURNAL};
use super::stamp::{FoundStamp, Marks, Standstill};
use super::verdict;
use super::verifying::first_fault;
use crate::sqlite::Database;
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
    // Damage that only one of two reads finds does not count.
    let found = match fault(sidecar, written)? {
        Some(_) => fault(sidecar, written)?,
        None => None,
    };
    let standstill = stamp_at(sidecar)?.whole().map_or(Standstill::None, |(_, stamp)| stamp.standstill);
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

/// Returns the first thing that is wrong with the journal of a sidecar.
fn fault(sidecar: &Path, written: Revision) -> Result<Option<JournalDamage>, StoreError> {
    match look_over(sidecar, written) {
        Err(StoreError::JournalDamaged { what, .. }) => Ok(Some(what)),
        found => found,
    }
}

fn look_over(sidecar: &Path, written: Revision) -> Result<Option<JournalDamage>, StoreError> {
    let stamped = match stamp_at(sidecar)? {
        FoundStamp::Whole(_, stamp) if stamp.is_newer() => return Err(newer(sidecar, &stamp)),
        FoundStamp::Whole(_, stamp) => Some(stamp),
        FoundStamp::Missing => None,
        FoundStamp::Damaged(_) if let Some(newer) = newer_by_itself(sidecar) => return Err(newer),
        FoundStamp::Damaged(what) => return Ok(Some(what)),
    };
    if let Some(what) = first_unopenable(&sidecar.join(DATABASE)) {
        return Ok(Some(what));
    }
    let written = Marks { revision: written.0, ..Marks::default() };
    let expected = stamped.as_ref().map_or(written, |stamp| stamp.expected());
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
    let found = first_fault(&journal.database, format, expected);
    drop(moment);
    match found.map_err(judge)? {
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
