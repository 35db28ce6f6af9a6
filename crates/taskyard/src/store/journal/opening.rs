//! Opening the journal. It is only opened for writing if quick checks find it undamaged.
//!
//! A small journal that no process is writing to is read without SQLite opening it: its files are read into memory.
//! Each process that opens a database makes SQLite create the log's index and take a dozen locks, which would take most
//! of the time of a command that only reads a short list.

use std::fs::File;
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use taskyard_core::Timestamp;

use super::archive::Archived;
use super::damage::{
    begun_from, damaged, emptied, has_log, judge, keep_verdict_as, newer, older, read_verdict, set_log_aside,
};
use super::layout::{BEGUN, DATABASE, FORMAT, JOURNAL, TOKEN, data_of};
use super::stamp::{FoundStamp, Marks, Stamp, StampFile, Standstill, look_at_stamp, remember_boot};
use super::{Journal, archive};
use crate::failpoint::{reach, reach_if_named};
use crate::private::{has_database, make_directory, prepare_database};
use crate::sqlite::{Alone, AtRest, Database, DatabaseError, LARGEST};
use crate::store::StoreError;
use crate::store::error::JournalDamage;
use crate::store::kit::first_token;
use crate::system;

/// The stamp file beside a journal and its contents, or `None` if there is none.
type Stamped = Option<(StampFile, Stamp)>;

impl Journal {
    /// Opens the journal in a list's sidecar, creating it if necessary.
    pub(in crate::store) fn open(sidecar: &Path, list: &Path) -> Result<Self, StoreError> {
        // Read the stamp before the database: writers only stamp what is already in the database.
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

    /// Opens the journal for reading only, or returns `None` if there is none.
    pub(in crate::store) fn open_to_read(sidecar: &Path) -> Result<Option<Self>, StoreError> {
        let stamped = refuse_damaged(sidecar)?;
        if !is_there(sidecar, stamped.as_ref())? {
            return Ok(None);
        }
        let path = sidecar.join(DATABASE);
        let known = |database: Database| database.known_format("open").map(|format| (database, format));
        let opened = Database::connect_to_read(path.clone(), &JOURNAL).and_then(known);
        let is_forbidden = opened.as_ref().is_err_and(DatabaseError::is_forbidden);
        // SQLite cannot create its files here.
        if is_forbidden && let Some(copy) = Self::copy_within(sidecar, u64::MAX / 2) {
            return Ok(Some(copy));
        }
        // A missing log is no problem if it was merged into the database; the stamp tells whether it was.
        let is_unchanging = is_forbidden && !has_log(sidecar);
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

    /// Opens the database to check it, regardless of its stamp. Returns `None` if there is none.
    pub(super) fn open_as_it_is(sidecar: &Path) -> Result<Option<Self>, StoreError> {
        let stamped = stamp_at(sidecar)?.whole();
        if !is_there(sidecar, stamped.as_ref())? {
            return Ok(None);
        }
        // Opened for writing only because SQLite recreates the log's index if it is missing.
        let mut journal = Self::connect(sidecar.join(DATABASE))?;
        let format = journal.database.format("open").map_err(judge)?;
        if (1..FORMAT).contains(&format) {
            journal.database.read_as_of_today(format).map_err(judge)?;
        }
        journal.know_where_it_began()?;
        Ok(Some(journal))
    }

    /// Reads the marks at which the journal was begun, if it replaced an earlier one.
    pub(super) fn know_where_it_began(&mut self) -> Result<(), StoreError> {
        self.begun = self.fact::<String>(BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
        Ok(())
    }

    /// Returns whether the database file was created after one of its entries. If so it is a copy, and the files copied
    /// with it have other inodes than it records. Returns false if the file system has no creation times.
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
        // A process that created the journal since we looked created its stamp first.
        let stamped = if stamped.is_some() { stamped } else { refuse_damaged(&sidecar)? };
        let Some((file, stamp)) = stamped else { return Err(damaged(&sidecar, JournalDamage::NoStamp)) };
        // One transaction for all queries: each by itself would lock the database.
        let moment = self.begin_to_read()?;
        let begun = self.fact::<String>(BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
        let (found, expected) = (self.marks()?.max(begun), stamp.expected());
        drop(moment);
        self.begun = begun;
        if !found.reaches(expected) {
            // The log's index may be wrong, and the second check only gets its own once this connection is closed.
            drop(self);
            return Err(damaged(&sidecar, older(found, expected)));
        }
        if stamp.format < FORMAT.unsigned_abs() {
            file.raise_format();
        }
        self.found = (stamp.standstill == Standstill::BegunAnew).then(|| read_verdict(&sidecar));
        (self.stamp, self.generation) = (Some(file), stamp.generation);
        Ok(self)
    }

    /// Creates a journal, or upgrades one of an older format, or completes one whose creator did not finish. If an
    /// earlier journal is lost, the new one continues above it, and the loss is recorded.
    fn make(sidecar: &Path, list: &Path) -> Result<Self, StoreError> {
        let alone = loop {
            make_directory(sidecar).map_err(StoreError::io("cannot use", sidecar))?;
            let alone = lock_alone(sidecar)?;
            // The sidecar may have been archived while we waited.
            if alone.is_at(sidecar) {
                break alone;
            }
        };
        let stamped = refuse_damaged(sidecar)?;
        let is_there = is_there(sidecar, stamped.as_ref())?;
        // The stamp is created first: a database of the current format without a stamp has lost it.
        let (file, mut stamp) = match stamped {
            Some(stamped) => stamped,
            None => new_stamp(sidecar)?,
        };
        let stamped_above = if is_there { Marks::default() } else { stamp.expected() };
        let is_gone = !is_there && (stamped_above != Marks::default() || has_log(sidecar));
        if is_gone {
            if !keep_verdict_as(sidecar, &JournalDamage::Gone, Standstill::BegunAnew) {
                return Err(damaged(sidecar, JournalDamage::Gone));
            }
            // SQLite would take a remaining log for that of the new database, and discard it.
            set_log_aside(sidecar)?;
        }
        // The list may have been archived because it was not used for long.
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
            // Another process was faster.
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

    /// Upgrades a database of an older format. If the process is killed, the database has either the older format or
    /// the current one.
    fn upgrade(&mut self, alone: &Alone, file: &StampFile) -> Result<(), StoreError> {
        // Before the database: a database with a higher format than its stamp counts as damaged.
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

    /// Creates the tables of a new database that continues above the given marks, with the archived state of the list.
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
            // A list from the archive continues where it was. The stamp of a lost journal may not have the last token
            // it issued.
            let unsaid = if archived.is_some() { 0 } else { first_token(system::now()).0 };
            self.set_fact(TOKEN, above.token.max(unsaid).cast_signed())?;
        }
        self.end(transaction)?;
        self.sync()
    }
}

/// Returns the stamp. Fails if it says that the journal is damaged or a newer Taskyard's, or if it is itself damaged.
fn refuse_damaged(sidecar: &Path) -> Result<Stamped, StoreError> {
    match stamp_at(sidecar)? {
        FoundStamp::Damaged(what) => Err(damaged(sidecar, what)),
        FoundStamp::Missing => Ok(None),
        FoundStamp::Whole(_, stamp) if stamp.is_newer() => Err(newer(sidecar, &stamp)),
        FoundStamp::Whole(_, stamp) if stamp.is_damaged() => Err(damaged(sidecar, read_verdict(sidecar))),
        FoundStamp::Whole(file, stamp) => Ok(Some((file, stamp))),
    }
}

pub(super) fn stamp_at(sidecar: &Path) -> Result<FoundStamp, StoreError> {
    look_at_stamp(sidecar).map_err(StoreError::io("cannot read", sidecar.join("stamp")))
}

/// Returns whether there is a database that SQLite may open. Fails if it was emptied: SQLite would take it for a new
/// one and discard its log.
fn is_there(sidecar: &Path, stamped: Option<&(StampFile, Stamp)>) -> Result<bool, StoreError> {
    let path = sidecar.join(DATABASE);
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => {
            let why = "it is not a file".to_owned();
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

/// Waits until no other process creates or mends the journal of this sidecar.
pub(super) fn lock_alone(sidecar: &Path) -> Result<Alone, StoreError> {
    Alone::in_directory(sidecar).map_err(judge)
}

/// Flushes the directories, so that the names of new files survive a power loss.
pub(super) fn sync_directories(sidecar: &Path) {
    for directory in sidecar.ancestors().take(3) {
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
    }
}

impl Journal {
    /// Reads the journal from its files, including the log. Returns `None` if it is large or anything about it is
    /// unusual; the caller then opens it, which reports what is wrong.
    ///
    /// What is read from it is valid only if [`Self::is_at_rest`] returns true afterwards.
    pub(super) fn copy_at_rest(sidecar: &Path) -> Option<Self> {
        Self::copy_within(sidecar, LARGEST)
    }

    fn copy_within(sidecar: &Path, limit: u64) -> Option<Self> {
        // Before the database, as when it is opened.
        let (file, stamp, boot) = StampFile::open(sidecar).ok()??.read_with_boot().ok()??;
        if !is_usual(&stamp) {
            return None;
        }
        let (database, rest) = Database::read_at_rest(data_of(sidecar), sidecar.join(DATABASE), &JOURNAL, limit)?;
        reach_if_named("at rest: copied");
        if database.known_format("open").ok()? != FORMAT {
            return None;
        }
        let mut journal = Self::over(database).ok()?;
        journal.know_where_it_began().ok()?;
        if !journal.marks().ok()?.max(journal.begun).reaches(stamp.expected()) {
            return None;
        }
        (journal.stamp, journal.generation) = (Some(file), stamp.generation);
        (journal.inode, journal.is_of_this_boot) =
            (rest.inode(), boot.as_deref() == Some(system::boot_id().as_bytes()));
        (journal.is_unchanging, journal.rest) = (true, Some(rest));
        Some(journal)
    }

    /// Returns whether this is a copy of a journal that no process has written to since.
    pub(in crate::store) fn is_at_rest(&self) -> bool {
        self.rest.as_ref().is_some_and(AtRest::is_still_so)
    }
}

/// Returns whether a stamp says that the journal has the current format and no known damage.
fn is_usual(stamp: &Stamp) -> bool {
    !stamp.is_newer() && stamp.format == FORMAT.unsigned_abs() && stamp.standstill == Standstill::None
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, SystemTime};

    use super::super::stamp::Marks;
    use super::{Journal, LARGEST, look_at_stamp};

    fn open(place: &Path) -> Journal {
        Journal::open(place, place).unwrap()
    }

    /// Writes a fact and merges the log, as a whole command does.
    fn write(place: &Path, value: i64) {
        let journal = open(place);
        journal.set_fact("value", value).unwrap();
        journal.fold();
    }

    fn set_time(place: &Path, time: SystemTime) {
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            if let Ok(file) = File::options().append(true).open(place.join(name)) {
                file.set_modified(time).unwrap();
            }
        }
    }

    /// Backdates the files, as if nothing had been written for a while.
    fn let_settle(place: &Path) {
        set_time(place, SystemTime::now() - Duration::from_secs(5));
    }

    fn value(journal: &Journal) -> Option<i64> {
        journal.fact("value").unwrap()
    }

    fn names(place: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_journal_that_nobody_has_open_is_read_without_a_log() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 1);
        let_settle(place.path());
        let before = names(place.path());
        let copy = Journal::copy_at_rest(place.path()).unwrap();
        assert_eq!((value(&copy), copy.is_at_rest()), (Some(1), true));
        assert_eq!(names(place.path()), before);
        assert!(copy.set_fact("value", 2).is_err());
        drop(copy);
        assert_eq!(names(place.path()), before);
    }

    #[test]
    fn open_or_recently_written_journal_is_not_at_rest() {
        let place = tempfile::tempdir().unwrap();
        assert!(Journal::copy_at_rest(place.path()).is_none(), "there is none");
        write(place.path(), 1);
        // In the future, so that it counts as just written however long this test is delayed.
        set_time(place.path(), SystemTime::now() + Duration::from_secs(3600));
        assert!(Journal::copy_at_rest(place.path()).is_none(), "it may be written once more within the same tick");
        let_settle(place.path());
        let journal = open(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_none(), "this process has it open");
        journal.set_fact("value", 3).unwrap();
        drop(journal);
        assert!(Journal::copy_at_rest(place.path()).is_none(), "the log was just written");
        let_settle(place.path());
        assert_eq!(value(&Journal::copy_at_rest(place.path()).unwrap()), Some(3), "it is in the log that is left");
        open(place.path()).fold();
        let_settle(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_some());
        let journal = open(place.path());
        journal.set_fact("long", "x".repeat(usize::try_from(LARGEST).unwrap())).unwrap();
        journal.fold();
        let_settle(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_none(), "it is large");
    }

    #[test]
    fn a_writer_is_noticed_while_it_is_copied_or_read() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 1);
        let_settle(place.path());
        let copy = Journal::copy_at_rest(place.path()).unwrap();
        let journal = open(place.path());
        assert!(!copy.is_at_rest(), "it is open");
        journal.set_fact("value", 2).unwrap();
        assert!(!copy.is_at_rest(), "the log has it");
        journal.fold();
        assert!(!copy.is_at_rest(), "the file has it");
        assert_eq!(value(&copy), Some(1), "whatever became of the file");
    }

    #[test]
    fn journal_behind_its_stamp_is_left_to_its_opener() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 1);
        let journal = open(place.path());
        journal.set_fact("token", 7).unwrap();
        journal.reach(Marks { token: 7, ..Marks::default() });
        journal.fold();
        let_settle(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_some());
        let (file, _) = look_at_stamp(place.path()).unwrap().whole().unwrap();
        file.raise_flushed(Marks { token: 8, ..Marks::default() });
        assert!(Journal::copy_at_rest(place.path()).is_none());
        assert!(!place.path().join("damaged").exists(), "no verdict comes of a copy");
    }

    #[test]
    fn what_is_copied_while_others_write_is_one_state_or_nothing() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 0);
        let seen = AtomicUsize::new(0);
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for value in 1..=60 {
                    let journal = open(place.path());
                    let transaction = journal.begin().unwrap();
                    // Many pages, so that the checkpoint takes a while.
                    for number in 0..40 {
                        journal.set_fact(&format!("fact {number}"), format!("{value} {}", "x".repeat(900))).unwrap();
                    }
                    journal.end(transaction).unwrap();
                    journal.fold();
                    // Sometimes wait until the reader has read it.
                    let before = seen.load(Ordering::Relaxed);
                    while value % 3 == 0 && seen.load(Ordering::Relaxed) == before {
                        thread::yield_now();
                    }
                }
            });
            while !writing.is_finished() {
                let Some(copy) = Journal::copy_at_rest(place.path()) else { continue };
                let first_words: Vec<String> = (0..40)
                    .filter_map(|number| copy.fact::<String>(&format!("fact {number}")).unwrap())
                    .map(|text| text.split(' ').next().unwrap().to_owned())
                    .collect();
                if !copy.is_at_rest() {
                    continue;
                }
                assert!(first_words.iter().all(|word| Some(word) == first_words.first()), "{first_words:?}");
                seen.fetch_add(1, Ordering::Relaxed);
            }
            writing.join().unwrap();
        });
    }
}
