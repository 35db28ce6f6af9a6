//! Opening the journal: only one that is whole as far as can be seen at once is opened to be written.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use taskyard_core::Timestamp;

use super::Journal;
use super::archive::{self, Archived};
use super::aside;
use super::boot::remember_boot;
use super::damage::{damaged, judge, newer};
use super::naming::data_of;
use super::schema::{BEGUN, DATABASE, FORMAT, JOURNAL, TOKEN};
use super::stamp::{FoundStamp, Marks, Stamp, StampFile, Standstill, look_at_stamp};
use super::verdict;
use super::verifying::{begun_from, emptied, older};
use crate::clock;
use crate::failpoint::reach;
use crate::private::{has_database, make_directory, prepare_database};
use crate::sqlite::{Alone, Database, DatabaseError};
use crate::store::StoreError;
use crate::store::journal_damage::JournalDamage;
use crate::store::kit::first_token;

/// The stamp beside a journal and what it says, or `None` if there is none.
type Stamped = Option<(StampFile, Stamp)>;

impl Journal {
    /// Opens the journal in a list's own directory of ours, making it where there is none.
    pub(in crate::store) fn open(sidecar: &Path, list: &Path) -> Result<Self, StoreError> {
        // Before the database: a writer stamps what is in the database already.
        let stamped = refuse_damaged(sidecar)?;
        if is_there(sidecar, stamped.as_ref())? {
            let path = sidecar.join(DATABASE);
            has_database(data_of(sidecar), &path).map_err(StoreError::io("cannot use", &path))?;
            let journal = Self::connect(path)?;
            if journal.database.known_format("open").map_err(judge)? == FORMAT {
                return journal.held_against(stamped);
            }
        }
        Self::make(sidecar, list)
    }

    /// Opens the journal for reading only; `None` where there is none.
    pub(in crate::store) fn open_to_read(sidecar: &Path) -> Result<Option<Self>, StoreError> {
        let stamped = refuse_damaged(sidecar)?;
        if !is_there(sidecar, stamped.as_ref())? {
            return Ok(None);
        }
        let path = sidecar.join(DATABASE);
        let known = |database: Database| database.known_format("open").map(|format| (database, format));
        let opened = Database::connect_to_read(path.clone(), &JOURNAL).and_then(known);
        // SQLite cannot make its files here. A log that was folded in is not missed; the stamp tells whether it was.
        let is_unchanging = opened.as_ref().is_err_and(DatabaseError::is_forbidden) && !aside::has_log(sidecar);
        let opened = if is_unchanging { Database::connect_unchanging(path, &JOURNAL).and_then(known) } else { opened };
        let (database, format) = opened.map_err(judge)?;
        let mut journal = Self::over(database)?;
        journal.is_unchanging = is_unchanging;
        match format {
            FORMAT => journal.held_against(stamped).map(Some),
            0 => Ok(None),
            older => {
                journal.database.read_as_of_today(older).map_err(judge)?;
                Ok(Some(journal))
            }
        }
    }

    /// Opens the database for a look over it, whatever its stamp says; `None` where there is none.
    pub(super) fn open_as_it_is(sidecar: &Path) -> Result<Option<Self>, StoreError> {
        let stamped = stamp_at(sidecar)?.whole();
        if !is_there(sidecar, stamped.as_ref())? {
            return Ok(None);
        }
        // Written to only by SQLite itself, which makes the index of the log anew where it is missing.
        let mut journal = Self::connect(sidecar.join(DATABASE))?;
        let format = journal.database.format("open").map_err(judge)?;
        if (1..FORMAT).contains(&format) {
            journal.database.read_as_of_today(format).map_err(judge)?;
        }
        journal.know_where_it_began()?;
        Ok(Some(journal))
    }

    /// Reads where the journal was begun, if another one was before it.
    pub(super) fn know_where_it_began(&mut self) -> Result<(), StoreError> {
        self.begun = self.fact::<String>(BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
        Ok(())
    }

    /// Tells whether the database file was made after an entry that it holds. Then it is a copy, and the files that were copied with it have
    /// other inodes than it says. False if the file system does not tell when files were made.
    pub(in crate::store) fn is_copied_since(&self, at: Timestamp) -> bool {
        let made = fs::metadata(&self.database.path).and_then(|found| found.created()).ok();
        let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        made.is_some_and(|made| i64::try_from(made.as_millis()).is_ok_and(|made| made > at.0))
    }

    /// Returns how far the journal goes.
    pub(super) fn marks(&self) -> Result<Marks, StoreError> {
        let standing = self.standing()?;
        let token = self.fact::<i64>(TOKEN)?.unwrap_or(0).unsigned_abs();
        Ok(Marks { revision: standing.newest.0, token, number: standing.highest_number })
    }

    /// Returns the journal, or fails if it does not go as far as its stamp says.
    fn held_against(mut self, stamped: Stamped) -> Result<Self, StoreError> {
        let sidecar = self.database.path.parent().unwrap_or(Path::new("")).to_owned();
        // A process that made the journal since we looked made its stamp first.
        let stamped = if stamped.is_some() { stamped } else { refuse_damaged(&sidecar)? };
        let Some((file, stamp)) = stamped else { return Err(damaged(&sidecar, JournalDamage::NoStamp)) };
        // One moment for all the questions: each by itself would lock the database.
        let moment = self.begin_to_read()?;
        let begun = self.fact::<String>(BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
        let (found, expected) = (self.marks()?.max(begun), stamp.expected());
        drop(moment);
        self.begun = begun;
        if !found.reaches(expected) {
            // The index of the log may be wrong, and the second look has its own only once this one is closed.
            drop(self);
            return Err(damaged(&sidecar, older(found, expected)));
        }
        if stamp.format < FORMAT.unsigned_abs() {
            file.raise_format();
        }
        self.found = (stamp.standstill == Standstill::BegunAnew).then(|| verdict::read(&sidecar));
        (self.stamp, self.generation) = (Some(file), stamp.generation);
        Ok(self)
    }

    /// Makes a journal where there is none, or one of today's of one that is older or that its maker did not finish. Where there
    /// was one and is none any more, the new one goes on above it, and that it was lost is kept.
    fn make(sidecar: &Path, list: &Path) -> Result<Self, StoreError> {
        let alone = loop {
            make_directory(sidecar).map_err(StoreError::io("cannot use", sidecar))?;
            let alone = lock_alone(sidecar)?;
            // It may have been put away while we waited.
            if alone.is_at(sidecar) {
                break alone;
            }
        };
        let stamped = refuse_damaged(sidecar)?;
        let is_there = is_there(sidecar, stamped.as_ref())?;
        // The stamp is there first: a database of today's format without one has lost it.
        let (file, mut stamp) = match stamped {
            Some(stamped) => stamped,
            None => new_stamp(sidecar)?,
        };
        let stamped_above = if is_there { Marks::default() } else { stamp.expected() };
        let is_gone = !is_there && (stamped_above != Marks::default() || aside::has_log(sidecar));
        if is_gone {
            if !verdict::keep_as(sidecar, &JournalDamage::Gone, Standstill::BegunAnew) {
                return Err(damaged(sidecar, JournalDamage::Gone));
            }
            // A log that is left would be taken for that of the new database, and thrown away.
            aside::keep_log(sidecar)?;
        }
        // No process had touched the list for long, and now one does.
        let archived = if is_there || is_gone { None } else { archive::find(sidecar)? };
        let above = archived.as_ref().map_or(stamped_above, |archived| archived.marks);
        let path = sidecar.join(DATABASE);
        prepare_database(data_of(sidecar), &path).map_err(StoreError::io("cannot use", &path))?;
        let mut journal = Self::connect(path)?;
        match journal.database.known_format("open").map_err(judge)? {
            0 => {
                journal.create(&alone, list, above, archived.as_ref())?;
                remember_boot(sidecar)?;
                sync_directories(sidecar);
                if archived.is_some() {
                    file.raise_flushed(above);
                    reach("journal: back from the archive");
                    archive::forget(sidecar);
                }
            }
            // Another process was before us.
            FORMAT => {}
            _ => journal.upgrade(&alone, &file)?,
        }
        if is_gone {
            file.change(|now| {
                *now = now.of_next_database(above, Standstill::BegunAnew);
                stamp = *now;
            });
        }
        drop(alone);
        journal.held_against(Some((file, stamp)))
    }

    /// Gives a database of an older format what is new. A process that is killed meanwhile leaves the older format or
    /// today's, and nothing in between.
    fn upgrade(&mut self, alone: &Alone, file: &StampFile) -> Result<(), StoreError> {
        // Before the database: where it says more than the stamp, it is damaged.
        if !file.raise_format() {
            let path = self.database.path.with_file_name("stamp");
            return Err(StoreError::io("cannot write", path)(io::ErrorKind::WouldBlock.into()));
        }
        reach("upgrade: stamped");
        self.end(self.database.begin_upgrade(alone).map_err(judge)?)?;
        reach("upgrade: committed");
        self.sync()?;
        reach("upgrade: flushed");
        file.raise_flushed(self.marks()?);
        reach("upgrade: marked");
        Ok(())
    }

    /// Writes the tables of a new database that goes on above these marks, with what was kept of the list.
    pub(super) fn create(
        &mut self,
        alone: &Alone,
        list: &Path,
        above: Marks,
        archived: Option<&Archived>,
    ) -> Result<(), StoreError> {
        let transaction = self.database.begin_upgrade(alone).map_err(judge)?;
        self.set_fact("path", list.to_string_lossy())?;
        if let Some(archived) = archived {
            archived.write_to(self, list)?;
        }
        if above != Marks::default() {
            self.set_fact(BEGUN, format!("{} {}", above.revision, above.number))?;
            // A list that comes back from the archive goes on where it was; what a lost journal gave out last, its stamp may not say.
            let unsaid = if archived.is_some() { 0 } else { first_token(clock::now()).0 };
            self.set_fact(TOKEN, above.token.max(unsaid).cast_signed())?;
        }
        self.end(transaction)?;
        self.sync()
    }
}

/// Returns the stamp; fails where it says that the journal is damaged or a newer Taskyard's, or is damaged itself.
fn refuse_damaged(sidecar: &Path) -> Result<Stamped, StoreError> {
    match stamp_at(sidecar)? {
        FoundStamp::Damaged(what) => Err(damaged(sidecar, what)),
        FoundStamp::Missing => Ok(None),
        FoundStamp::Whole(_, stamp) if stamp.is_newer() => Err(newer(sidecar, &stamp)),
        FoundStamp::Whole(_, stamp) if stamp.is_damaged() => Err(damaged(sidecar, verdict::read(sidecar))),
        FoundStamp::Whole(file, stamp) => Ok(Some((file, stamp))),
    }
}

/// Reads the stamp of a sidecar.
pub(super) fn stamp_at(sidecar: &Path) -> Result<FoundStamp, StoreError> {
    look_at_stamp(sidecar).map_err(StoreError::io("cannot read", sidecar.join("stamp")))
}

/// Tells whether there is a database that SQLite may be let at: one that was emptied would be taken for a new one, and its log
/// thrown away.
fn is_there(sidecar: &Path, stamped: Option<&(StampFile, Stamp)>) -> Result<bool, StoreError> {
    let path = sidecar.join(DATABASE);
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => {
            let why = "it is no file".to_owned();
            Err(damaged(sidecar, JournalDamage::Unopenable { file: DATABASE, why }))
        }
        Ok(found) if found.len() == 0 && stamped.is_some_and(|(_, stamp)| stamp.expected() != Marks::default()) => {
            Err(damaged(sidecar, emptied()))
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("cannot look at", path)(error)),
    }
}

fn new_stamp(sidecar: &Path) -> Result<(StampFile, Stamp), StoreError> {
    let stamp = StampFile::blank();
    let file = StampFile::create(sidecar, stamp).map_err(StoreError::io("cannot write", sidecar.join("stamp")))?;
    Ok((file, stamp))
}

/// Waits until no other process makes or mends the journal of this sidecar.
pub(super) fn lock_alone(sidecar: &Path) -> Result<Alone, StoreError> {
    Alone::in_directory(sidecar).map_err(judge)
}

/// Makes the names of new files survive a power loss.
pub(super) fn sync_directories(sidecar: &Path) {
    for directory in sidecar.ancestors().take(3) {
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
    }
}
