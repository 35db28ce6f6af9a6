//! Opening the database, and making its commits durable.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior};

use super::damage::{self, JournalDamage};
use super::pool::Seat;
use super::stamp::{Marks, StampFile};
use super::sums;
use crate::store::lock_table::record_holder;
use crate::store::{Occupant, StoreError};

/// Counts how often a turn was taken from a writer that had not ended it.
pub(super) const OVERTAKEN: &str = "overtaken";
/// When the write-ahead log holds more pages than this, they are copied into the database.
const LONGEST_LOG: i32 = 256;
/// A log with more pages than this is also cut short.
const LARGE_LOG: i32 = 1024;
/// The byte of the `-shm` file that a writer locks (SQLite's `WAL_WRITE_LOCK`).
const WRITE_LOCK: &str = "120";
/// How long another process's commit is waited for.
const PATIENCE: Duration = Duration::from_secs(12);
/// For how long a connection is believed to lead to the database of its place.
const LATELY: Duration = Duration::from_millis(100);

/// One open database.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
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
    /// Its place among the connections that are in use at once.
    pub(super) seat: Option<Seat>,
}

impl Journal {
    /// Opens the database itself.
    pub(super) fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |error| damage::judge(error, "open", &path);
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        // The last process to leave must not pay for copying the log; see `copy_log`. (The hook below also turns off SQLite's
        // own copying, which would happen inside a commit, with the locks held.)
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        // Commits are made durable by `sync`, at the moment we choose.
        connection
            .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 268435456;")
            .and_then(|()| connection.busy_timeout(PATIENCE))
            .map_err(failed)?;
        let pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&pages);
        let count = move |_: &mut Wal, pages| {
            counted.store(pages, Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(count)).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(32);
        let inode = fs::metadata(&path).map(|found| found.ino()).unwrap_or(0);
        Ok(Self {
            connection,
            path,
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
            seat: None,
        })
    }

    /// Begins a transaction that may write, when nobody else is in one.
    pub(in crate::store) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let started = Instant::now();
        match Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                let holder = record_holder(&self.beside("-shm"), [WRITE_LOCK; 2]);
                let process = holder.map(|process| process.as_raw_nonzero().get());
                let by = Occupant::JournalWriter { journal: self.path.clone(), process };
                Err(StoreError::Busy { by, waited: started.elapsed() })
            }
            begun => {
                self.pending.set(Marks::default());
                begun.map_err(self.failed("write"))
            }
        }
    }

    /// Begins a transaction in which every read sees one state.
    pub(in crate::store) fn begin_to_read(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred).map_err(self.failed("read"))
    }

    /// Ends a transaction: from here on it exists for every process. It survives a power loss after the next [`Self::sync`].
    pub(in crate::store) fn end(&self, transaction: Transaction<'_>) -> Result<(), StoreError> {
        transaction.commit().map_err(self.failed("write"))?;
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
        let is_same = stamp.is_some_and(|stamp| stamp.generation == self.generation && !stamp.is_damaged());
        let is_there = |log: &File| log.metadata().is_ok_and(|log| log.nlink() > 0);
        is_same
            && fs::metadata(&self.path).is_ok_and(|found| found.ino() == self.inode)
            && self.log.as_ref().is_none_or(is_there)
    }

    /// Tells the same, as it was a moment ago or as it is now.
    pub(in crate::store) fn was_current_lately(&self) -> bool {
        self.checked.get().elapsed() < LATELY || self.is_current()
    }

    /// Waits until every commit so far is on the disk.
    pub(in crate::store) fn sync(&mut self) -> Result<(), StoreError> {
        if self.log.is_none() {
            let path = self.beside("-wal");
            let log =
                File::options().read(true).write(true).open(&path).map_err(StoreError::io("cannot open", path))?;
            self.log = Some(log);
        }
        let committed = self.committed.get();
        let log = self.log.as_ref().map(File::sync_data);
        log.unwrap_or(Ok(())).map_err(StoreError::io("cannot flush", self.beside("-wal")))?;
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
        let copy = |sql| self.connection.query_row(sql, [], |_| Ok(()));
        if pages > LONGEST_LOG {
            let _ = copy("PRAGMA wal_checkpoint(PASSIVE)");
        }
        if pages > LARGE_LOG {
            // Whoever opens the database next would read a large log from end to end. Nobody waits for this.
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = copy("PRAGMA wal_checkpoint(TRUNCATE)");
            let _ = self.connection.busy_timeout(PATIENCE);
            self.pages.store(0, Ordering::Relaxed);
        }
    }

    /// Copies the whole log into the database, which then is complete without it.
    pub(super) fn copy_whole_log(&self) -> Result<(), StoreError> {
        let busy: i64 = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(self.failed("write"))?;
        match busy {
            0 => Ok(()),
            _ => {
                let by = Occupant::JournalWriter { journal: self.path.clone(), process: None };
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
    pub(in crate::store) fn fact<T: rusqlite::types::FromSql>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepare("SELECT * FROM facts WHERE key = ?1")?;
        let value = |row: &Row<'_>| sums::check(row, "facts").and_then(|()| row.get(1));
        statement.query_row([key], value).optional().map_err(self.failed("read"))
    }

    /// Remembers a fact.
    pub(in crate::store) fn set_fact(&self, key: &str, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
        let mut statement = self.prepare("INSERT OR REPLACE INTO facts VALUES (?1, ?2, ?3)")?;
        sums::execute(&mut statement, &[&key, &value]).map(drop).map_err(self.failed("write"))
    }

    /// Prepares a statement, once per connection.
    pub(super) fn prepare(&self, sql: &str) -> Result<rusqlite::CachedStatement<'_>, StoreError> {
        self.connection.prepare_cached(sql).map_err(self.failed("read"))
    }

    /// Returns a function that wraps an error of SQLite's, for `map_err`.
    pub(super) fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |error| damage::judge(error, doing, &path)
    }

    /// Runs SQL that has no answer.
    pub(super) fn batch(&self, doing: &'static str, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(self.failed(doing))
    }

    /// Returns a setting of SQLite's.
    pub(super) fn pragma<T: rusqlite::types::FromSql>(&self, name: &str) -> Result<T, StoreError> {
        self.connection.pragma_query_value(None, name, |row| row.get(0)).map_err(self.failed("open"))
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        path.into()
    }
}
