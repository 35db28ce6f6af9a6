//! Opening the database, and making its commits durable.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row, ToSql, Transaction};
use rustix::process::{Resource, getrlimit};

use super::damage::judge;
use super::recent_images::RecentImages;
use super::resting_file::AtRest;
use super::schema::JOURNAL;
use super::seats::Seat;
use super::stamp::{Marks, Stamp, StampFile};
use super::sums;
use crate::sqlite::Database;
use crate::store::StoreError;
use crate::store::journal_damage::JournalDamage;

/// Counts how often a turn was taken from a writer that had not ended it.
pub(super) const OVERTAKEN: &str = "overtaken";
/// For how long a connection is believed to lead to the database of its place.
const LATELY: Duration = Duration::from_millis(100);

/// So much of the database is mapped into memory.
const MAPPED: usize = 256 << 20;

/// One open database.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    pub(super) database: Database,
    /// The log, to flush it.
    pub(super) log: Option<File>,
    /// How many pages the log held after our last commit.
    pub(super) pages: Arc<AtomicI32>,
    /// How large the pages are; 0 before it was asked for.
    pub(super) page_size: Cell<i64>,
    /// Whether this connection has begun a transaction yet, and whether SQLite was kept from flushing in the last one.
    pub(super) has_begun: Cell<bool>,
    pub(super) is_unflushed: Cell<bool>,
    /// What is noted beside it of how far it goes; none before that is opened, too.
    pub(super) stamp: Option<StampFile>,
    /// Which of the databases in this place it is, by the stamp and by its inode.
    pub(super) generation: u64,
    inode: u64,
    /// Whether it is read where no process can write, and as if none did.
    pub(super) is_unchanging: bool,
    /// What it was copied from, where it is a copy in memory.
    pub(super) rest: Option<AtRest>,
    /// Where it was begun, if another one was before it.
    pub(super) begun: Marks,
    /// What was found wrong with the one before it and is not mended yet.
    pub(in crate::store) found: Option<JournalDamage>,
    /// How far this connection has written: in the transaction under way, in those that were committed, and as the stamp has it.
    pending: Cell<Marks>,
    pub(super) committed: Cell<Marks>,
    pub(super) stamped: Cell<Marks>,
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
        // SQLite would copy the log while no other process can open the database; see `fold_at_close`. (The hook also turns off its copying
        // inside of a commit, with the locks held; see `copy_log`.)
        let set = database.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        let set = set.and_then(|_| database.connection.wal_hook(Some(count)));
        let set = set.and_then(|()| map_files(&database.connection));
        set.map_err(|error| judge(database.failed("open")(error)))?;
        let inode = fs::metadata(&database.path).map(|found| found.ino()).unwrap_or(0);
        Ok(Self {
            database,
            log: None,
            pages,
            page_size: Cell::new(0),
            has_begun: Cell::new(false),
            is_unflushed: Cell::new(false),
            stamp: None,
            generation: 0,
            inode,
            is_unchanging: false,
            rest: None,
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

    /// Begins a transaction that may write, when no other process is in one.
    pub(in crate::store) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        self.pending.set(Marks::default());
        self.flush_as_usual()?;
        let is_first = !self.has_begun.replace(true);
        if is_first { self.begin_log() } else { self.database.begin().map_err(judge) }
    }

    /// Begins a transaction in which every read sees one state.
    pub(in crate::store) fn begin_to_read(&self) -> Result<Transaction<'_>, StoreError> {
        self.database.begin_to_read().map_err(judge)
    }

    /// Ends a transaction: from here on it exists for every process. It survives a power loss after the next [`Self::sync`].
    pub(in crate::store) fn end(&self, transaction: Transaction<'_>) -> Result<(), StoreError> {
        self.database.end(transaction).map_err(judge)?;
        self.committed.set(self.committed.get().max(self.pending.take()));
        // The commit exists. What cannot be set now is set before the next one.
        let _ = self.flush_as_usual();
        Ok(())
    }

    /// Counts what the transaction under way writes.
    pub(super) fn reach(&self, marks: Marks) {
        self.pending.set(self.pending.get().max(marks));
    }

    /// Notes beside the database how far it goes, for processes that open it later in this boot.
    pub(in crate::store) fn stamp_commits(&self) {
        let committed = self.committed.get();
        if let Some(stamp) = self.stamp.as_ref().filter(|_| self.stamped.get() != committed) {
            stamp.raise_committed(committed);
            self.stamped.set(committed);
        }
    }

    /// Tells whether this still is the database of its place, and no process has found it damaged.
    pub(in crate::store) fn is_current(&self) -> bool {
        self.checked.set(Instant::now());
        let stamp = self.stamp.as_ref().and_then(|stamp| stamp.read().ok().flatten());
        let is_ours = |stamp: &Stamp| stamp.generation == self.generation && !stamp.is_damaged() && !stamp.is_newer();
        let is_same = stamp.as_ref().is_some_and(is_ours);
        is_same
            && !self.is_unchanging
            && fs::metadata(&self.database.path).is_ok_and(|found| found.ino() == self.inode)
            && self.log_is_in_place()
    }

    /// Tells the same, as it was a moment ago or as it is now. That no newer Taskyard has written it is true at this moment.
    pub(in crate::store) fn was_current_lately(&self) -> bool {
        (self.checked.get().elapsed() < LATELY || self.is_current()) && self.database.known_format("read").is_ok()
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
        self.flush_as_usual()?;
        let written = |connection: &Connection| sums::execute(&mut connection.prepare_cached(sql)?, columns);
        self.database.change(written).map_err(judge)
    }

    /// Writes a row with a checksum that was made of other columns than these.
    pub(super) fn write_with_sum(&self, sql: &str, columns: &[&dyn ToSql], sum: i64) -> Result<usize, StoreError> {
        self.flush_as_usual()?;
        let written = |connection: &Connection| sums::execute_with(&mut connection.prepare_cached(sql)?, columns, sum);
        self.database.change(written).map_err(judge)
    }

    /// Returns the checksum of a row of these columns.
    pub(super) fn sum_of(&self, columns: &[&dyn ToSql]) -> Result<i64, StoreError> {
        sums::sum_of(columns).map_err(|error| judge(self.database.failed("write")(error)))
    }

    /// Removes rows.
    pub(super) fn remove(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.flush_as_usual()?;
        self.database.execute(sql, values).map(drop).map_err(judge)
    }
}

/// Has a connection read the database where it lies in memory.
///
/// Where the process may have only so much address space, the map would take it away from everything else.
pub(super) fn map_files(connection: &Connection) -> rusqlite::Result<()> {
    static IS_LIMITED: OnceLock<bool> = OnceLock::new();
    match IS_LIMITED.get_or_init(|| getrlimit(Resource::As).current.is_some()) {
        true => Ok(()),
        false => connection.execute_batch(&format!("PRAGMA mmap_size = {MAPPED}")),
    }
}
