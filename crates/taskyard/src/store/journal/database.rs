//! A connection to the database: its transactions, its facts, and its write-ahead log.
//!
//! The log is begun without waiting for the disk, flushed with every commit, copied into the database when it is long, and folded in when
//! the last process closes it.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row, ToSql, Transaction};
use rustix::process::{Resource, getrlimit};

use super::damage::judge;
use super::fingerprint::AtRest;
use super::layout::JOURNAL;
use super::rows::{self, RecentImages};
use super::stamp::{Marks, Stamp, StampFile};
use crate::lock_table::is_locked_by_others;
use crate::sqlite::{Database, beside};
use crate::store::error::JournalDamage;
use crate::store::{Occupant, StoreError};

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
        let value = |row: &Row<'_>| rows::check(row, "facts").and_then(|()| row.get(1));
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
        let written = |connection: &Connection| rows::execute(&mut connection.prepare_cached(sql)?, columns);
        self.database.change(written).map_err(judge)
    }

    /// Writes a row with a checksum that was made of other columns than these.
    pub(super) fn write_with_sum(&self, sql: &str, columns: &[&dyn ToSql], sum: i64) -> Result<usize, StoreError> {
        self.flush_as_usual()?;
        let written = |connection: &Connection| rows::execute_with(&mut connection.prepare_cached(sql)?, columns, sum);
        self.database.change(written).map_err(judge)
    }

    /// Returns the checksum of a row of these columns.
    pub(super) fn sum_of(&self, columns: &[&dyn ToSql]) -> Result<i64, StoreError> {
        rows::sum_of(columns).map_err(|error| judge(self.database.failed("write")(error)))
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

impl Journal {
    /// Has what is read from here on not stay in the memory of this process: a process that reads most of a journal
    /// would have it all there in the end.
    pub(super) fn read_unmapped(&self) {
        if self.is_mapped.replace(false) {
            let unmapped = self.database.batch("read", "PRAGMA mmap_size = 0");
            // Then more memory is used, and nothing else is different.
            let _ = unmapped.inspect_err(|error| tracing::debug!(%error, "the journal stays mapped"));
        }
    }

    /// Has what is read from here on be read where it lies in memory again.
    pub(super) fn read_mapped(&self) {
        if !self.is_mapped.replace(true) {
            let mapped = map_files(&self.database.connection);
            let _ = mapped.inspect_err(|error| tracing::debug!(%error, "the journal is not mapped"));
        }
    }
}

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

/// The seats there are, and the threads that have them.
#[derive(Debug)]
pub(super) struct Seats {
    count: usize,
    borrowers: Mutex<Vec<ThreadId>>,
    freed: Condvar,
}

/// The right to one of them, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    borrower: ThreadId,
}

impl Seats {
    /// Returns so many seats, all of them free.
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { count, borrowers: Mutex::default(), freed: Condvar::new() })
    }

    /// Waits for a seat; a thread that has waited for this long gets one beyond the number: that is better than no
    /// answer. A thread that has one already never waits: a thread that waits for a list's turn has one, and the one
    /// that has the turn may need a second.
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

    /// Tells whether no caller has a seat.
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
