//! The write-ahead log of a journal: begun without waiting for the disk, flushed with every commit, copied into the database when it is
//! long, and folded in when the last process closes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction};

use super::Journal;
use super::damage::judge;
use crate::lock_table::is_locked_by_others;
use crate::sqlite::beside;
use crate::store::{Occupant, StoreError};

/// When the log holds more bytes than this, they are copied into the database.
const LONGEST_LOG: i64 = 1 << 20;
/// A log with more bytes than this is also cut short.
const LARGE_LOG: i64 = 4 << 20;
/// A log of fewer pages than this is never long, whatever their size.
const FEW_PAGES: i32 = 256;
/// The bytes of the database file that every connection has a lock on (SQLite's `SHARED_FIRST` and `SHARED_SIZE`).
const LOCKED_WHILE_OPEN: [&str; 2] = ["1073741826", "1073742335"];
/// File systems on which the name of a new file survives a power loss when the file was flushed: ext4, XFS, Btrfs.
#[cfg(target_os = "linux")]
const KEEP_NAMES: [u32; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

impl Journal {
    /// Begins the first transaction of a connection.
    ///
    /// A process that begins a log anew has to flush its head before anything else, or pages of the log before it could be taken for new
    /// ones. SQLite does so in the middle of the commit, while rivals wait for the list's locks. Where there is no log before it, that can
    /// wait until [`Self::sync`].
    pub(super) fn begin_log(&self) -> Result<Transaction<'_>, StoreError> {
        if self.has_log() {
            return self.database.begin().map_err(judge);
        }
        self.database.batch("write", "PRAGMA synchronous = OFF").map_err(judge)?;
        self.is_unflushed.set(true);
        let transaction = self.database.begin().map_err(judge)?;
        // From here on no other process writes to the log.
        if !self.has_log() {
            return Ok(transaction);
        }
        drop(transaction);
        self.flush_as_usual()?;
        self.database.begin().map_err(judge)
    }

    /// Lets SQLite flush what has to be flushed before something else is written, where it was kept from that and no transaction is
    /// under way.
    pub(super) fn flush_as_usual(&self) -> Result<(), StoreError> {
        if self.is_unflushed.get() && self.database.connection.is_autocommit() {
            self.database.batch("write", "PRAGMA synchronous = NORMAL").map_err(judge)?;
            self.is_unflushed.set(false);
        }
        Ok(())
    }

    /// Waits until every commit so far is on the disk.
    pub(in crate::store) fn sync(&mut self) -> Result<(), StoreError> {
        let (path, committed) = (self.log_path(), self.committed.get());
        let log = match self.log.take() {
            Some(log) => log,
            None => open_log(&path).map_err(StoreError::io("cannot open", &path))?,
        };
        self.log.insert(log).sync_data().map_err(StoreError::io("cannot flush", path))?;
        // After the flush: a power loss must not leave a stamp that tells of more than there is.
        if let Some(stamp) = &self.stamp {
            stamp.raise_flushed(committed);
            self.stamped.set(committed);
        }
        Ok(())
    }

    /// Tells whether the log is still in its place, where we have flushed it.
    pub(super) fn log_is_in_place(&self) -> bool {
        self.log.as_ref().is_none_or(|log| log.metadata().is_ok_and(|log| log.nlink() > 0))
    }

    /// Copies the log into the database when it has grown long. Called with no lock held.
    pub(in crate::store) fn copy_log(&self) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages <= FEW_PAGES {
            return;
        }
        let bytes = i64::from(pages) * self.page_size();
        if bytes > LONGEST_LOG {
            let _ = self.database.batch("write", "PRAGMA wal_checkpoint(PASSIVE)");
        }
        if bytes > LARGE_LOG {
            // The next process that opens the database would read a large log from end to end. No caller waits for this.
            let copy = |database: &Connection| database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            let _ = self.database.without_waiting(copy);
            self.pages.store(0, Ordering::Relaxed);
        }
    }

    fn page_size(&self) -> i64 {
        if self.page_size.get() == 0 {
            self.page_size.set(self.one("PRAGMA page_size", [], |row| row.get(0)).unwrap_or(0));
        }
        self.page_size.get()
    }

    /// Copies the whole log into the database, which then is complete without it.
    pub(super) fn copy_whole_log(&self) -> Result<(), StoreError> {
        match self.one("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))? {
            0_i64 => Ok(()),
            _ => {
                let by = Occupant::JournalWriter { journal: self.database.path.clone(), process: None };
                Err(StoreError::Busy { by, waited: Duration::ZERO })
            }
        }
    }

    /// Closes the connection. Where it is the last one to the database, of any process, the log is copied into the database first, and
    /// the files beside it go: most lists are short and soon left alone, and their log is larger than they are.
    ///
    /// We wait for no process, and other processes may open, read and write the database while we wait for the disk. Only when there is
    /// nothing left to copy does SQLite keep them out for the moment in which it removes the files. A process that dies in between leaves
    /// the log as it was to the process that opens the database next.
    pub(super) fn fold_at_close(self) {
        let is_ours_to_fold = !self.database.connection.is_readonly("main").unwrap_or(true) && self.is_current();
        if !is_ours_to_fold || self.flush_as_usual().is_err() || self.has_log() && !self.is_copied_for_the_last() {
            return;
        }
        let _ = self.database.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }

    /// Copies the log where no other process has the database open, as far as the system tells. Tells whether nothing is left to copy.
    fn is_copied_for_the_last(&self) -> bool {
        let copy = |database: &Connection| {
            let left =
                |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)? - row.get::<_, i64>(2)?));
            database.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], left)
        };
        !is_locked_by_others(&self.database.path, LOCKED_WHILE_OPEN)
            && self.database.without_waiting(copy).is_ok_and(|left| left == (0, 0))
    }

    fn has_log(&self) -> bool {
        fs::metadata(self.log_path()).is_ok_and(|log| log.len() > 0)
    }

    fn log_path(&self) -> PathBuf {
        beside(&self.database.path, "-wal")
    }
}

/// Opens the log to flush it, and makes its name survive a power loss: it may be new.
fn open_log(path: &std::path::Path) -> io::Result<File> {
    let log = File::options().read(true).write(true).open(path)?;
    if let Some(directory) = path.parent().filter(|_| !keeps_names(&log)) {
        File::open(directory)?.sync_all()?;
    }
    Ok(log)
}

/// Tells whether the name of a file that is flushed survives with it.
#[cfg(target_os = "linux")]
fn keeps_names(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|found| KEEP_NAMES.iter().any(|kept| u32::try_from(found.f_type) == Ok(*kept)))
}

/// Tells nothing: which file systems other systems have is not known here.
#[cfg(not(target_os = "linux"))]
fn keeps_names(_file: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Journal;

    fn open(place: &Path) -> Journal {
        Journal::open(place, place).unwrap()
    }

    fn says(journal: &Journal, fact: &str) -> Option<i64> {
        journal.fact(fact).unwrap()
    }

    fn has_files_beside(place: &Path) -> bool {
        ["-wal", "-shm"].iter().any(|part| place.join(format!("journal.sqlite{part}")).exists())
    }

    /// Returns whether SQLite flushes what has to be before something else: 0 where it does not.
    fn synchronous(journal: &Journal) -> i64 {
        journal.one("PRAGMA synchronous", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_last_connection_folds_the_log_in_and_others_leave_it() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (open(place.path()), open(place.path()));
        first.set_fact("one", 1).unwrap();
        first.fold_at_close();
        assert!(has_files_beside(place.path()));
        second.set_fact("two", 2).unwrap();
        second.fold_at_close();
        assert!(!has_files_beside(place.path()));
        let again = open(place.path());
        assert_eq!((says(&again, "one"), says(&again, "two")), (Some(1), Some(2)));
        again.fold_at_close();
        assert!(!has_files_beside(place.path()));
    }

    #[test]
    fn only_the_commit_that_begins_a_log_leaves_the_flushing_to_us() {
        let place = tempfile::tempdir().unwrap();
        open(place.path()).fold_at_close();
        let journal = open(place.path());
        let transaction = journal.begin().unwrap();
        assert_eq!(synchronous(&journal), 0);
        journal.set_fact("one", 1).unwrap();
        journal.end(transaction).unwrap();
        assert_eq!(synchronous(&journal), 1);
        let transaction = journal.begin().unwrap();
        assert_eq!(synchronous(&journal), 1);
        drop(transaction);
        let other = open(place.path());
        let transaction = other.begin().unwrap();
        assert_eq!(synchronous(&other), 1, "there is a log");
        drop(transaction);
    }

    #[test]
    fn a_commit_that_was_given_up_leaves_nothing_unflushed_behind() {
        let place = tempfile::tempdir().unwrap();
        open(place.path()).fold_at_close();
        let journal = open(place.path());
        drop(journal.begin().unwrap());
        journal.set_fact("one", 1).unwrap();
        assert_eq!(synchronous(&journal), 1);
        journal.fold_at_close();
        assert_eq!(says(&open(place.path()), "one"), Some(1));
    }
}
