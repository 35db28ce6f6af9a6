//! Putting a new journal in the place of a damaged one.
//!
//! It may die anywhere and be begun again: until the new database is complete nothing has happened, and from then on only names change. All
//! that time the stamp lets no process write.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use taskyard_core::Revision;

use super::Journal;
use super::aside;
use super::checking::{self, Health};
use super::damage::judge;
use super::naming::data_of;
use super::opening::{lock_alone, stamp_at, sync_directories};
use super::salvage::{Beside, salvage};
use super::schema::DATABASE;
use super::stamp::{FoundStamp, Marks, StampFile, Standstill};
use super::verdict;
use super::verifying::first_fault;
use crate::clock;
use crate::failpoint::reach;
use crate::private::prepare_database;
use crate::sqlite::Alone;
use crate::store::StoreError;
use crate::store::journal_damage::JournalDamage;

/// Returns what is wrong with the journal of a sidecar, after a look over all of it. `written` is a revision that is known to
/// have been written.
pub(in crate::store) fn examine(sidecar: &Path, written: u64) -> Result<Option<JournalDamage>, StoreError> {
    if !sidecar.exists() {
        return Ok(None);
    }
    Ok(match checking::examine(sidecar, Revision(written))? {
        Health::Whole => None,
        Health::Mended(what) | Health::Damaged(what) => Some(what),
    })
}

/// Makes the journal of a sidecar whole. Called within a turn at the list.
pub(in crate::store) fn mend(sidecar: &Path, list: &Path, beside: &Beside) -> Result<(), StoreError> {
    let alone = lock_alone(sidecar)?;
    let complete = sidecar.join(format!("{DATABASE}.mended"));
    if !complete.exists() {
        give_back_permissions(sidecar);
        match checking::examine(sidecar, Revision(beside.written))? {
            Health::Whole => return Ok(()),
            Health::Mended(_) => return clear(sidecar),
            // The stamp is made from the database, which tells nothing of a loss.
            Health::Damaged(JournalDamage::NoStamp | JournalDamage::BadStamp) if is_whole(sidecar, beside)? => {
                return clear(sidecar);
            }
            Health::Damaged(what) => drop(verdict::keep_as(sidecar, &what, Standstill::Damaged)),
        }
        reach("mending: begun");
        build(&alone, sidecar, list, beside, &complete)?;
    }
    reach("mending: complete");
    aside::keep(sidecar)?;
    reach("mending: set aside");
    let path = sidecar.join(DATABASE);
    fs::rename(&complete, &path).map_err(StoreError::io("cannot rename to", &path))?;
    sync_directories(sidecar);
    reach("mending: in place");
    clear(sidecar)
}

/// Tells whether the database is whole by itself.
fn is_whole(sidecar: &Path, beside: &Beside) -> Result<bool, StoreError> {
    let written = Marks { revision: beside.written, ..Marks::default() };
    let fault = Journal::open_as_it_is(sidecar).and_then(|journal| {
        let Some(journal) = journal else { return Ok(Some(JournalDamage::Gone)) };
        let format = journal.database.format("open").map_err(judge)?;
        first_fault(&journal.database, format, written).map_err(judge)
    });
    match fault {
        Err(StoreError::JournalDamaged { .. }) => Ok(false),
        fault => Ok(fault?.is_none()),
    }
}

/// Builds the new database beside the old one; it counts once it has its last name but one.
fn build(alone: &Alone, sidecar: &Path, list: &Path, beside: &Beside, complete: &Path) -> Result<(), StoreError> {
    let path = sidecar.join(format!("{DATABASE}.mending"));
    let parts = |part: &str| -> PathBuf { sidecar.join(format!("{DATABASE}.mending{part}")) };
    for part in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(parts(part));
    }
    let written = Marks { revision: beside.written, ..Marks::default() };
    let stamped = stamp_at(sidecar)?.whole().map_or(written, |(_, stamp)| stamp.expected());
    prepare_database(data_of(sidecar), &path).map_err(StoreError::io("cannot write", &path))?;
    let mut new = Journal::connect(path.clone())?;
    new.create(alone, list, Marks::default(), None)?;
    if beside.has_forms {
        new.have_forms()?;
    }
    let transaction = new.begin()?;
    salvage(sidecar, &new, beside, stamped)?;
    new.end(transaction)?;
    reach("mending: saved");
    new.copy_whole_log()?;
    drop(new);
    let file = File::open(&path).and_then(|file| file.sync_all());
    file.map_err(StoreError::io("cannot flush", &path))?;
    for part in ["-wal", "-shm"] {
        let _ = fs::remove_file(parts(part));
    }
    fs::rename(&path, complete).map_err(StoreError::io("cannot rename to", complete))?;
    sync_directories(sidecar);
    Ok(())
}

/// Notes that the journal is whole, and how far it goes.
fn clear(sidecar: &Path) -> Result<(), StoreError> {
    let journal = Journal::open_as_it_is(sidecar)?;
    let marks = journal.map(|journal| journal.marks()).transpose()?.unwrap_or_default();
    let is_noted = match stamp_at(sidecar)? {
        FoundStamp::Whole(file, _) => file.change(|stamp| *stamp = stamp.of_next_database(marks, Standstill::None)),
        FoundStamp::Missing | FoundStamp::Damaged(_) => {
            // No stamp before it had so high a generation.
            let generation = clock::wall().unsigned_abs();
            let mut stamp = StampFile::blank().of_next_database(marks, Standstill::None);
            stamp.generation = generation;
            let path = sidecar.join("stamp");
            let _ = fs::remove_dir(&path);
            StampFile::create(sidecar, stamp).map_err(StoreError::io("cannot write", path))?;
            true
        }
    };
    if is_noted {
        verdict::clear(sidecar);
    }
    Ok(())
}

/// Lets the owner read and write the files again, where they are ours.
fn give_back_permissions(sidecar: &Path) {
    for file in [DATABASE, "journal.sqlite-wal", "journal.sqlite-shm", "stamp", "damaged"] {
        let path = sidecar.join(file);
        let is_locked =
            fs::metadata(&path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o600 != 0o600);
        if is_locked {
            let _ = fs::set_permissions(&path, Permissions::from_mode(0o600));
        }
    }
}
