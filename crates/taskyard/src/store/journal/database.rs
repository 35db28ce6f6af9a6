//! A connection to the journal database: transactions, facts, and the write-ahead log.
//!
//! The log is started without waiting for the disk, flushed with every commit, checkpointed when it gets long, and
//! merged into the database when the last process closes it.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row, ToSql, Transaction};
use rustix::process::{Resource, getrlimit};

use super::damage::judge;
use super::layout::JOURNAL;
use super::stamp::{Marks, Stamp, StampFile};
use crate::sqlite::{AtRest, Database, beside};
use crate::store::error::JournalDamage;
use crate::store::journal::rows;
use crate::store::journal::rows::RecentImages;
use crate::store::{Occupant, StoreError};
use crate::system;
use crate::system::is_locked_by_others;

/// Counts how often a turn was taken over from a writer that had not ended it.
pub(super) const OVERTAKEN: &str = "overtaken";
/// How long a connection is trusted to be to the current database after a check.
const LATELY: Duration = Duration::from_millis(100);

/// How many bytes of the database to map into memory.
const MAPPED: usize = 256 << 20;

/// An open journal database.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    pub(super) database: Database,
    /// Kept open to flush the log.
    pub(super) log: Option<File>,
    /// The number of pages in the log after our last commit.
    pub(super) pages: Arc<AtomicI32>,
    /// The page size in bytes, or 0 if not determined yet.
    pub(super) page_size: Cell<i64>,
    /// Whether this connection has begun a transaction, and whether SQLite was kept from flushing in the last one.
    pub(super) has_begun: Cell<bool>,
    pub(super) is_unflushed: Cell<bool>,
    /// The stamp that records how far the journal goes, or `None` until it is opened.
    pub(super) stamp: Option<StampFile>,
    /// Identifies the database among those that were in this place: the generation in the stamp, and the inode.
    pub(super) generation: u64,
    pub(super) inode: u64,
    /// Whether it is an in-memory copy made in the boot in which the list was last checked.
    pub(in crate::store) is_of_this_boot: bool,
    /// Whether it was opened as immutable, in a place where no process can write.
    pub(super) is_unchanging: bool,
    /// The files it was copied from, if it is an in-memory copy.
    pub(super) rest: Option<AtRest>,
    /// The marks it was begun at, if it replaced an earlier journal.
    pub(super) begun: Marks,
    /// The damage found in its predecessor, if not mended yet.
    pub(in crate::store) found: Option<JournalDamage>,
    /// How far this connection has written: in the current transaction, in committed ones, and according to the stamp.
    pending: Cell<Marks>,
    pub(super) committed: Cell<Marks>,
    pub(super) stamped: Cell<Marks>,
    /// When the database was last verified to be the current one.
    checked: Cell<Instant>,
    /// Whether the index of rare entries is known to exist.
    pub(super) is_indexed: Cell<bool>,
    /// Whether the database is memory-mapped.
    pub(super) is_mapped: Cell<bool>,
    /// Recently rebuilt images.
    pub(super) recent_images: RefCell<RecentImages>,
    /// Its place among the connections in use at the same time.
    pub(super) seat: Option<Seat>,
}

impl Journal {
    /// Opens an existing database.
    pub(super) fn connect(path: PathBuf) -> Result<Self, StoreError> {
        Database::connect(path, &JOURNAL).map_err(judge).and_then(Self::over)
    }

    /// Takes over control of the log from SQLite for an open database.
    pub(super) fn over(mut database: Database) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&pages);
        let count = move |_: &mut Wal, pages| {
            counted.store(pages, Ordering::Relaxed);
            Ok(())
        };
        // On close, SQLite would checkpoint while no other process can open the database; see `fold_at_close`. The hook
        // also disables its automatic checkpoint, which runs within a commit while the locks are held; see `copy_log`.
        let set = database.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        let set = set.and_then(|_| database.connection.wal_hook(Some(count)));
        let inode = database.inode();
        let set = set.and_then(|()| inode.map_or(Ok(()), |_| map_files(&database.connection)));
        set.map_err(|error| judge(database.failed("open")(error)))?;
        Ok(Self {
            database,
            log: None,
            pages,
            page_size: Cell::new(0),
            has_begun: Cell::new(false),
            is_unflushed: Cell::new(false),
            stamp: None,
            generation: 0,
            inode: inode.unwrap_or(0),
            is_of_this_boot: false,
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

    /// Begins a write transaction, waiting for other writers.
    pub(in crate::store) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        self.pending.set(Marks::default());
        self.flush_as_usual()?;
        let is_first = !self.has_begun.replace(true);
        if is_first { self.begin_log() } else { self.database.begin().map_err(judge) }
    }

    /// Begins a read transaction, in which every query sees the same snapshot.
    pub(in crate::store) fn begin_to_read(&self) -> Result<Transaction<'_>, StoreError> {
        self.database.begin_to_read().map_err(judge)
    }

    /// Commits a transaction, which makes it visible to every process. It survives a power loss after the next
    /// [`Self::sync`].
    pub(in crate::store) fn end(&self, transaction: Transaction<'_>) -> Result<(), StoreError> {
        self.database.end(transaction).map_err(judge)?;
        self.committed.set(self.committed.get().max(self.pending.take()));
        // The commit exists. If the setting fails here, it is repeated before the next write.
        let _ = self.flush_as_usual();
        Ok(())
    }

    /// Records how far the current transaction writes.
    pub(super) fn reach(&self, marks: Marks) {
        self.pending.set(self.pending.get().max(marks));
    }

    /// Records in the stamp how far the journal goes, for processes that open it later in this boot.
    pub(in crate::store) fn stamp_commits(&self) {
        let committed = self.committed.get();
        if let Some(stamp) = self.stamp.as_ref().filter(|_| self.stamped.get() != committed) {
            stamp.raise_committed(committed);
            self.stamped.set(committed);
        }
    }

    /// Returns whether the stamp says that the list was last checked in this boot.
    pub(in crate::store) fn is_stamped_in_this_boot(&self) -> bool {
        let boot = self.stamp.as_ref().and_then(|stamp| stamp.boot().ok().flatten());
        boot.is_some_and(|boot| boot == system::boot_id().as_bytes())
    }

    /// Returns whether this is still the current database and no process has found it damaged.
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

    /// Like [`Self::is_current`], but trusts a recent check. That no newer Taskyard has written the database is always
    /// checked.
    pub(in crate::store) fn was_current_lately(&self) -> bool {
        (self.checked.get().elapsed() < LATELY || self.is_current()) && self.database.known_format("read").is_ok()
    }

    /// Makes every commit fail that was begun before.
    pub(in crate::store) fn overtake(&self) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        self.set_fact(OVERTAKEN, self.fact::<i64>(OVERTAKEN)?.unwrap_or(0) + 1)?;
        self.end(transaction)
    }

    pub(in crate::store) fn fact<T: FromSql>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let value = |row: &Row<'_>| rows::check(row, "facts").and_then(|()| row.get(1));
        self.row("SELECT key, value, sum FROM facts WHERE key = ?1", [key], value)
    }

    pub(in crate::store) fn set_fact(&self, key: &str, value: impl ToSql) -> Result<(), StoreError> {
        self.write("INSERT OR REPLACE INTO facts (key, value, sum) VALUES (?1, ?2, ?3)", &[&key, &value]).map(drop)
    }

    /// Returns all rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.database.rows(sql, values, read).map_err(judge)
    }

    /// Reads the rows of a query one by one, until `read` breaks.
    pub(super) fn each(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<(), StoreError> {
        self.database.each(sql, values, read).map_err(judge)
    }

    /// Returns the first row of a query, or `None` if it has none.
    pub(super) fn row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.database.row(sql, values, read).map_err(judge)
    }

    /// Returns the first row of a query that always has one unless the journal is damaged.
    pub(super) fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.database.one(sql, values, read).map_err(judge)
    }

    /// Writes a row with a checksum after its columns. Returns the number of rows written.
    pub(super) fn write(&self, sql: &str, columns: &[&dyn ToSql]) -> Result<usize, StoreError> {
        self.flush_as_usual()?;
        let written = |connection: &Connection| rows::execute(&mut connection.prepare_cached(sql)?, columns);
        self.database.change(written).map_err(judge)
    }

    /// Writes a row with a checksum computed from other columns.
    pub(super) fn write_with_sum(&self, sql: &str, columns: &[&dyn ToSql], sum: i64) -> Result<usize, StoreError> {
        self.flush_as_usual()?;
        let written = |connection: &Connection| rows::execute_with(&mut connection.prepare_cached(sql)?, columns, sum);
        self.database.change(written).map_err(judge)
    }

    /// Returns the checksum of a row.
    pub(super) fn sum_of(&self, columns: &[&dyn ToSql]) -> Result<i64, StoreError> {
        rows::sum_of(columns).map_err(|error| judge(self.database.failed("write")(error)))
    }

    /// Executes a statement that needs no checksum, for example one that removes rows.
    pub(super) fn remove(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        self.flush_as_usual()?;
        self.database.execute(sql, values).map(drop).map_err(judge)
    }
}

/// Makes a connection read the database through a memory map.
///
/// Does nothing if the process has an address space limit, which the map would use up.
pub(super) fn map_files(connection: &Connection) -> rusqlite::Result<()> {
    static IS_LIMITED: OnceLock<bool> = OnceLock::new();
    match IS_LIMITED.get_or_init(|| getrlimit(Resource::As).current.is_some()) {
        true => Ok(()),
        false => connection.execute_batch(&format!("PRAGMA mmap_size = {MAPPED}")),
    }
}

impl Journal {
    /// Stops reading through the memory map: a process that reads most of a journal would end up with all of it
    /// resident in memory.
    pub(super) fn read_unmapped(&self) {
        if self.is_mapped.replace(false) {
            let unmapped = self.database.batch("read", "PRAGMA mmap_size = 0");
            // Harmless if it fails, except for the memory used.
            let _ = unmapped.inspect_err(|error| tracing::debug!(%error, "the journal stays mapped"));
        }
    }

    /// Re-enables memory-mapped reads.
    pub(super) fn read_mapped(&self) {
        if !self.is_mapped.replace(true) {
            let mapped = map_files(&self.database.connection);
            let _ = mapped.inspect_err(|error| tracing::debug!(%error, "the journal is not mapped"));
        }
    }
}

/// A log longer than this, in bytes, is checkpointed.
const LONGEST_LOG: i64 = 1 << 20;
/// A log longer than this, in bytes, is also truncated.
const LARGE_LOG: i64 = 4 << 20;
/// A log no longer than this, in bytes, is left beside the database on close.
const SHORT_LOG: u64 = 16 << 10;
/// A log with no more pages than this is never long, whatever the page size.
const FEW_PAGES: i32 = 256;
/// The bytes of the database file that every connection locks (SQLite's `SHARED_FIRST` and `SHARED_SIZE`).
const LOCKED_WHILE_OPEN: [&str; 2] = ["1073741826", "1073742335"];
/// File systems on which flushing a new file also makes its name durable: ext4, XFS, Btrfs.
#[cfg(target_os = "linux")]
const KEEP_NAMES: [u32; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

impl Journal {
    /// Begins the first transaction of a connection.
    ///
    /// A process that starts a log has to flush its header first, or pages of a previous log could be taken for new
    /// ones. SQLite does this in the middle of the commit, while rivals wait for the list's locks. If there is no
    /// previous log, the flush can wait until [`Self::sync`].
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

    /// Restores SQLite's normal flushing if it was turned off and no transaction is active.
    pub(super) fn flush_as_usual(&self) -> Result<(), StoreError> {
        if self.is_unflushed.get() && self.database.connection.is_autocommit() {
            self.database.batch("write", "PRAGMA synchronous = NORMAL").map_err(judge)?;
            self.is_unflushed.set(false);
        }
        Ok(())
    }

    /// Flushes every commit so far to disk.
    pub(in crate::store) fn sync(&mut self) -> Result<(), StoreError> {
        let (path, committed) = (self.log_path(), self.committed.get());
        let log = match self.log.take() {
            Some(log) => log,
            None => open_log(&path).map_err(StoreError::io("cannot open", &path))?,
        };
        self.log.insert(log).sync_data().map_err(StoreError::io("cannot flush", path))?;
        // Only after the flush: after a power loss the stamp must not claim more than there is.
        if let Some(stamp) = &self.stamp {
            stamp.raise_flushed(committed);
            self.stamped.set(committed);
        }
        Ok(())
    }

    /// Returns whether the log is still in place, if we have flushed it.
    pub(super) fn log_is_in_place(&self) -> bool {
        self.log.as_ref().is_none_or(|log| log.metadata().is_ok_and(|log| log.nlink() > 0))
    }

    /// Checkpoints the log if it is long. Must be called without holding a lock.
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
            // The next process that opens the database would have to read a large log from end to end. No caller waits
            // for this.
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

    /// Checkpoints the whole log, so that the database is complete without it. Fails if another process is using the
    /// log.
    pub(super) fn copy_whole_log(&self) -> Result<(), StoreError> {
        match self.one("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))? {
            0_i64 => Ok(()),
            _ => {
                let by = Occupant::JournalWriter { journal: self.database.path.clone(), process: None };
                Err(StoreError::Busy { by, waited: Duration::ZERO })
            }
        }
    }

    /// Closes the connection, and merges the log if it has grown. A short log is left for the next writer: merging it
    /// costs three flushes, and readers can read it beside the database.
    pub(super) fn fold_at_close(self) {
        if fs::metadata(self.log_path()).is_ok_and(|log| (1..=SHORT_LOG).contains(&log.len())) {
            // What SQLite did not flush is either flushed by `sync` or was never reported as done.
            return;
        }
        self.fold();
    }

    /// Closes the connection. If it is the last one of any process, the log is first copied into the database, and the
    /// files beside it are removed.
    ///
    /// This waits for no process, and other processes may open, read and write the database while we wait for the disk.
    /// Only when nothing is left to copy does SQLite lock them out, for the moment in which it removes the files. If
    /// the process dies in between, the log is left as it was for the next process that opens the database.
    pub(super) fn fold(self) {
        let is_ours_to_fold = !self.database.connection.is_readonly("main").unwrap_or(true) && self.is_current();
        if !is_ours_to_fold || self.flush_as_usual().is_err() || self.has_log() && !self.is_copied_for_the_last() {
            return;
        }
        let _ = self.database.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }

    /// Copies the log if no other process is known to have the database open. Returns whether nothing is left to copy.
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

/// Opens the log for flushing, and makes its name durable, since it may be new.
fn open_log(path: &std::path::Path) -> io::Result<File> {
    let log = File::options().read(true).write(true).open(path)?;
    if let Some(directory) = path.parent().filter(|_| !keeps_names(&log)) {
        File::open(directory)?.sync_all()?;
    }
    Ok(log)
}

/// Returns whether flushing a file also makes its name durable.
#[cfg(target_os = "linux")]
fn keeps_names(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|found| KEEP_NAMES.iter().any(|kept| u32::try_from(found.f_type) == Ok(*kept)))
}

/// Always false: the durability of names is not known on other systems.
#[cfg(not(target_os = "linux"))]
fn keeps_names(_file: &File) -> bool {
    false
}

/// Limits the number of connections in use at the same time.
#[derive(Debug)]
pub(super) struct Seats {
    count: usize,
    borrowers: Mutex<Vec<ThreadId>>,
    freed: Condvar,
}

/// The right to use one connection. Ends when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    borrower: ThreadId,
}

impl Seats {
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { count, borrowers: Mutex::default(), freed: Condvar::new() })
    }

    /// Waits for a seat. After `patience` the thread gets one beyond the limit, which is better than failing. A thread
    /// that already has a seat never waits: a thread that waits for a list's turn has one, and the one that has the
    /// turn may need a second.
    pub(super) fn take(self: &Arc<Self>, patience: Duration) -> Seat {
        let borrower = thread::current().id();
        let mut borrowers = self.borrowers();
        let until = Instant::now() + patience;
        while borrowers.len() >= self.count && !borrowers.contains(&borrower) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!("all connections to a journal are in use for long; another one is opened");
                break;
            }
            borrowers = self.freed.wait_timeout(borrowers, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        borrowers.push(borrower);
        Seat { seats: Arc::clone(self), borrower }
    }

    /// Returns whether all seats are free.
    pub(super) fn are_free(&self) -> bool {
        self.borrowers().is_empty()
    }

    fn borrowers(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.borrowers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut borrowers = self.seats.borrowers();
        if let Some(place) = borrowers.iter().position(|borrower| *borrower == self.borrower) {
            borrowers.swap_remove(place);
        }
        drop(borrowers);
        self.seats.freed.notify_one();
    }
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

    /// Returns SQLite's setting for flushing, 0 if it is turned off.
    fn synchronous(journal: &Journal) -> i64 {
        journal.one("PRAGMA synchronous", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_last_connection_folds_the_log_in_and_others_leave_it() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (open(place.path()), open(place.path()));
        first.set_fact("one", 1).unwrap();
        first.fold();
        assert!(has_files_beside(place.path()));
        second.set_fact("two", 2).unwrap();
        second.fold();
        assert!(!has_files_beside(place.path()));
        let again = open(place.path());
        assert_eq!((says(&again, "one"), says(&again, "two")), (Some(1), Some(2)));
        again.fold();
        assert!(!has_files_beside(place.path()));
    }

    #[test]
    fn a_short_log_stays_and_one_that_has_grown_is_folded_in() {
        let place = tempfile::tempdir().unwrap();
        open(place.path()).fold();
        let journal = open(place.path());
        journal.set_fact("one", 1).unwrap();
        journal.fold_at_close();
        assert!(has_files_beside(place.path()));
        let journal = open(place.path());
        assert_eq!(says(&journal, "one"), Some(1));
        journal.set_fact("two", "x".repeat(20_000)).unwrap();
        journal.set_fact("two", 2).unwrap();
        journal.fold_at_close();
        assert!(!has_files_beside(place.path()));
        assert_eq!(says(&open(place.path()), "two"), Some(2));
    }

    #[test]
    fn only_the_commit_that_begins_a_log_leaves_the_flushing_to_us() {
        let place = tempfile::tempdir().unwrap();
        open(place.path()).fold();
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
        open(place.path()).fold();
        let journal = open(place.path());
        drop(journal.begin().unwrap());
        journal.set_fact("one", 1).unwrap();
        assert_eq!(synchronous(&journal), 1);
        journal.fold();
        assert_eq!(says(&open(place.path()), "one"), Some(1));
    }
}
