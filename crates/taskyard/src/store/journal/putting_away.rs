//! Putting the memory of a list away that no process has touched for long: what is kept of it goes to the archive, and its directory goes.
//!
//! It happens only while no other process has the journal open. It may die anywhere: until the directory has another name the journal is
//! in its place, and counts; from then on the archive does.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::Journal;
use super::aging::TidyTerms;
use super::archive;
use super::damage::judge;
use super::naming::is_gone;
use super::opening::lock_alone;
use super::schema::{DATABASE, FORMAT};
use super::stamp::StampFile;
use crate::failpoint::reach;
use crate::private;
use crate::store::StoreError;
use crate::store::directories::changed;

/// What the name of a directory begins with that is about to be removed.
pub(in crate::store) const LEAVING: &str = ".leaving-";

/// Puts the memory of a list away where nothing has happened to the list for as long as everything is kept, and no process is at it. Tells
/// whether it did.
pub(super) fn put_away(sidecar: &Path, list: &Path, terms: &TidyTerms) -> Result<bool, StoreError> {
    let alone = lock_alone(sidecar)?;
    if !alone.is_at(sidecar) {
        return Ok(false);
    }
    let Some(queue) = head_of_queue(sidecar) else { return Ok(false) };
    let Some(journal) = open_exclusively(sidecar)? else { return Ok(false) };
    if !journal.is_long_idle(list, terms)? {
        return Ok(false);
    }
    archive::keep(sidecar, list, &journal)?;
    reach("gc: archived");
    // A process that kept the journal in mind finds that it is another one.
    if let Some(stamp) = StampFile::open(sidecar).ok().flatten() {
        stamp.change(|stamp| stamp.generation += 1);
    }
    reach("gc: about to put away");
    // A process that waits for the queue sees by this that it is not the queue any more.
    remove(&sidecar.join("queue"))?;
    let Some((parent, name)) = sidecar.parent().zip(sidecar.file_name()) else { return Ok(false) };
    let leaving = parent.join(format!("{LEAVING}{}", name.to_string_lossy()));
    let _ = fs::remove_dir_all(&leaving);
    fs::rename(sidecar, &leaving).map_err(StoreError::io("cannot rename", sidecar))?;
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(StoreError::io("cannot flush", parent))?;
    reach("gc: put away");
    drop((journal, queue, alone));
    fs::remove_dir_all(&leaving).map_err(StoreError::io("cannot remove", &leaving))?;
    Ok(true)
}

/// Removes what a process had put away already when it died.
pub(in crate::store) fn remove_what_is_leaving(data: &Path) {
    for entry in fs::read_dir(data.join("lists")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(LEAVING) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Goes to the head of the queue, where no writer is there and none left a turn unfinished.
fn head_of_queue(sidecar: &Path) -> Option<File> {
    let mut file = private::open(&sidecar.join("queue")).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut bytes = [0; 80];
    let is_at_rest = match file.read_exact(&mut bytes) {
        // Lists in other dialects leave no words there, and neither does a list that is only looked at.
        Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        Ok(()) => {
            let word = |place: usize| u64::from(bytes[place * 8]);
            word(1) % 2 == 0 && !matches!(word(9), 1 | 2)
        }
    };
    is_at_rest.then_some(file)
}

/// Opens the journal where no other process has it open; all that open it from now on wait.
fn open_exclusively(sidecar: &Path) -> Result<Option<Journal>, StoreError> {
    let mut journal = Journal::connect(sidecar.join(DATABASE))?;
    let alone = "PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;";
    if journal.database.batch("write", alone).is_err() {
        return Ok(None);
    }
    if journal.database.known_format("open").map_err(judge)? != FORMAT {
        return Ok(None);
    }
    journal.know_where_it_began()?;
    let is_damaged = sidecar.join("damaged").exists();
    Ok((!is_damaged).then_some(journal))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", path)(error)),
        _ => Ok(()),
    }
}

impl Journal {
    /// Tells whether nothing has happened to the list for as long as everything is kept, and nothing is under way.
    pub(super) fn is_long_idle(&self, list: &Path, terms: &TidyTerms) -> Result<bool, StoreError> {
        let since = terms.old_before();
        let looked = self.last_look()?.unwrap_or_default();
        let is_idle = self.newest()? <= self.old_until(terms)? && looked < since;
        let is_busy = "SELECT EXISTS (SELECT 1 FROM leases) OR EXISTS (SELECT 1 FROM moves)";
        if !is_idle || self.one(is_busy, [], |row| row.get(0))? {
            return Ok(false);
        }
        if is_gone(list) {
            return Ok(true);
        }
        let is_settled = self.settled_until(false)? >= self.newest()?;
        Ok(is_settled && !self.has_forms()? && changed(list).is_some_and(|changed| changed < since))
    }
}
