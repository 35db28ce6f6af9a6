//! Opening the database, and making its commits durable.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row, ToSql, Transaction};

use super::damage::{JournalDamage, judge};
use super::images::RecentImages;
use super::mapping::map_files;
use super::pool::Seat;
use super::schema::JOURNAL;
use super::stamp::{Marks, Stamp, StampFile};
use super::sums;
use crate::sqlite::{Database, beside};
use crate::store::{Occupant, StoreError};

/// Counts how often a turn was taken from a writer that had not ended it.
pub(super) const OVERTAKEN: &str = "overtaken";
/// When the write-ahead log holds more pages than this, they are copied into the database.
const LONGEST_LOG: i32 = 256;
/// A log with more pages than this is also cut short.
const LARGE_LOG: i32 = 1024;
/// For how long a connection is believed to lead to the database of its place.
const LATELY: Duration = Duration::from_millis(100);

/// One open database.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    pub(super) database: Database,
    log: Option<File>,
    /// How many pages the log held after our last commit.
    pages: Arc<AtomicI32>,
    /// What is noted beside it of how far it goes; none before that is opened, too.
    pub(super) stamp: Option<StampFile>,
    /// Which of the databases in this place it is, by the stamp and by its inode.
    pub(super) generation: u64,
    inode: u64,
    /// Where it was begun, if another one was before it.
    pub(super) begun: Marks,
    /// What was found wrong with the one before it and is not mended yet.
    pub(in crate::store) found: Option<JournalDamage>,
    /// How far this connection has written: in the transaction under way, in those that were committed, and as the stamp has it.
    pending: Cell<Marks>,
    committed: Cell<Marks>,
    stamped: Cell<Marks>,
    /// When it was last made sure that it is the database of this place.
    checked: Cell<Instant>,
    /// Whether the entries that are rare are known to have an index of their own.
    pub(super) is_indexed: Cell<bool>,
    /// Whether pages of the database are read where they lie in memory.
    pub(super) is_mapped: Cell<bool>,
    /// The last images that were rebuilt.
    pub(super) recent_images: RefCell<RecentImages>,
    /// Its place among the connections that are in use at once.
    pub(super) seat: Option<Seat>,
}

impl Journal {
    /// Opens a database that is there.
    pub(super) fn connect(path: PathBuf) -> Result<Self, StoreError> {
        Database::connect(path, &JOURNAL).map_err(judge).and_then(Self::over)
    }

    /// Looks after the log of a database that is open.
    pub(super) fn over(mut database: Database) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&pages);
        let count = move |_: &mut Wal, pages| {
            counted.store(pages, Ordering::Relaxed);
            Ok(())
        };
        // The last process to leave must not pay for copying the log; see `copy_log`. (The hook also turns off SQLite's own
        // copying, which would happen inside a commit, with the locks held.)
        let set = database.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        let set = set.and_then(|_| database.connection.wal_hook(Some(count)));
        let set = set.and_then(|()| map_files(&database.connection));
        set.map_err(|error| judge(database.failed("open")(error)))?;
        let inode = fs::metadata(&database.path).map(|found| found.ino()).unwrap_or(0);
        Ok(Self {
            database,
            log: None,
            pages,
            stamp: None,
            generation: 0,
            inode,
            begun: Marks::default(),
            found: None,
            pending: Cell::default(),
            committed: Cell::default(),
            stamped: Cell::default(),
            checked: Cell::new(Instant::now()),
            is_indexed: Cell::new(false),
            is_mapped: Cell::new(true),
            recent_images: RefCell::default(),
            seat: None,
        })
    }

    /// Begins a transaction that may write, when nobody else is in one.
    pub(in crate::store) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        self.pending.set(Marks::default());
        self.database.begin().map_err(judge)
    }

    /// Begins a transaction in which every read sees one state.
    pub(in crate::store) fn begin_to_read(&self) -> Result<Transaction<'_>, StoreError> {
        self.database.begin_to_read().map_err(judge)
    }

    /// Ends a transaction: from here on it exists for every process. It survives a power loss after the next [`Self::sync`].
    pub(in crate::store) fn end(&self, transaction: Transaction<'_>) -> Result<(), StoreError> {
        self.database.end(transaction).map_err(judge)?;
        self.committed.set(self.committed.get().max(self.pending.take()));
        Ok(())
    }

    /// Counts what the transaction under way writes.
    pub(super) fn reach(&self, marks: Marks) {
        self.pending.set(self.pending.get().max(marks));
    }

    /// Notes beside the database how far it goes, for whoever opens it later in this boot.
    pub(in crate::store) fn stamp_commits(&self) {
        let committed = self.committed.get();
        if let Some(stamp) = self.stamp.as_ref().filter(|_| self.stamped.get() != committed) {
            stamp.raise_committed(committed);
            self.stamped.set(committed);
        }
    }

    /// Tells whether this still is the database of its place, and nobody has found it damaged.
    pub(in crate::store) fn is_current(&self) -> bool {
        self.checked.set(Instant::now());
        let stamp = self.stamp.as_ref().and_then(StampFile::read);
        let is_ours = |stamp: &Stamp| stamp.generation == self.generation && !stamp.is_damaged() && !stamp.is_newer();
        let is_same = stamp.as_ref().is_some_and(is_ours);
        let is_there = |log: &File| log.metadata().is_ok_and(|log| log.nlink() > 0);
        is_same
            && fs::metadata(&self.database.path).is_ok_and(|found| found.ino() == self.inode)
            && self.log.as_ref().is_none_or(is_there)
    }

    /// Tells the same, as it was a moment ago or as it is now. That no newer Taskyard has written it is true at this moment.
    pub(in crate::store) fn was_current_lately(&self) -> bool {
        (self.checked.get().elapsed() < LATELY || self.is_current()) && self.database.known_format("read").is_ok()
    }

    /// Waits until every commit so far is on the disk.
    pub(in crate::store) fn sync(&mut self) -> Result<(), StoreError> {
        if self.log.is_none() {
            let path = self.log_path();
            let log =
                File::options().read(true).write(true).open(&path).map_err(StoreError::io("cannot open", path))?;
            self.log = Some(log);
        }
        let committed = self.committed.get();
        let log = self.log.as_ref().map(File::sync_data);
        log.unwrap_or(Ok(())).map_err(StoreError::io("cannot flush", self.log_path()))?;
        // After the flush: a power loss must not leave a stamp that tells of more than there is.
        if let Some(stamp) = &self.stamp {
            stamp.raise_flushed(committed);
            self.stamped.set(committed);
        }
        Ok(())
    }

    /// Copies the log into the database when it has grown long. Called with no lock held.
    pub(in crate::store) fn copy_log(&self) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages > LONGEST_LOG {
            let _ = self.database.batch("write", "PRAGMA wal_checkpoint(PASSIVE)");
        }
        if pages > LARGE_LOG {
            // Whoever opens the database next would read a large log from end to end. Nobody waits for this.
            let copy = |database: &Connection| database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            let _ = self.database.without_waiting(copy);
            self.pages.store(0, Ordering::Relaxed);
        }
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

    /// Makes every commit fail that was begun before now.
    pub(in crate::store) fn overtake(&self) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        self.set_fact(OVERTAKEN, self.fact::<i64>(OVERTAKEN)?.unwrap_or(0) + 1)?;
        self.end(transaction)
    }

    /// Returns a remembered fact.
    pub(in crate::store) fn fact<T: FromSql>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let value = |row: &Row<'_>| sums::check(row, "facts").and_then(|()| row.get(1));
        self.row("SELECT key, value, sum FROM facts WHERE key = ?1", [key], value)
    }

    /// Remembers a fact.
    pub(in crate::store) fn set_fact(&self, key: &str, value: impl ToSql) -> Result<(), StoreError> {
        self.write("INSERT OR REPLACE INTO facts (key, value, sum) VALUES (?1, ?2, ?3)", &[&key, &value]).map(drop)
    }

    /// Returns every row that a query gives.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.database.rows(sql, values, read).map_err(judge)
    }

    /// Reads the rows that a query gives one by one, until it is told to stop.
    pub(super) fn each(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<(), StoreError> {
        self.database.each(sql, values, read).map_err(judge)
    }

    /// Returns the first row that a query gives, where it gives one.
    pub(super) fn row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.database.row(sql, values, read).map_err(judge)
    }

    /// Returns the first row of a query that gives one, unless the journal is damaged.
    pub(super) fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.database.one(sql, values, read).map_err(judge)
    }

    /// Writes a row, with a checksum after its columns; returns how many were written.
    pub(super) fn write(&self, sql: &str, columns: &[&dyn ToSql]) -> Result<usize, StoreError> {
        let written = |connection: &Connection| sums::execute(&mut connection.prepare_cached(sql)?, columns);
        self.database.change(written).map_err(judge)
    }

    /// Writes a row with a checksum that was made of other columns than these.
    pub(super) fn write_with_sum(&self, sql: &str, columns: &[&dyn ToSql], sum: i64) -> Result<usize, StoreError> {
        let written = |connection: &Connection| sums::execute_with(&mut connection.prepare_cached(sql)?, columns, sum);
        self.database.change(written).map_err(judge)
    }

    /// Returns the checksum of a row of these columns.
    pub(super) fn sum_of(&self, columns: &[&dyn ToSql]) -> Result<i64, StoreError> {
        sums::sum_of(columns).map_err(|error| judge(self.database.failed("write")(error)))
    }

    /// Removes rows.
    pub(super) fn remove(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.database.execute(sql, values).map(drop).map_err(judge)
    }

    fn log_path(&self) -> PathBuf {
        beside(&self.database.path, "-wal")
    }
}
