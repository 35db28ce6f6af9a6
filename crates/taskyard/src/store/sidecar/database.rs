//! Opening the database, and making its commits durable.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};

use super::boot::remember_boot;
use super::stuck::{self, LetGoOn};
use crate::store::StoreError;

/// The format of the database; a higher one was written by a newer Taskyard.
const FORMAT: i64 = 2;
/// Counts how often a turn was taken from a writer that had not ended it.
const OVERTAKEN: &str = "overtaken";
/// When the write-ahead log holds more pages than this, they are copied into the database.
const LONGEST_LOG: i32 = 256;
/// A log with more pages than this is also cut short.
const LARGE_LOG: i32 = 1024;
/// How long another process's commit is waited for before we look at that process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long it is waited for in all.
const PATIENCE: Duration = Duration::from_secs(12);

const SCHEMA: &str = "
    CREATE TABLE facts (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, actor TEXT NOT NULL, op TEXT NOT NULL,
        task NOT NULL, before BLOB, after BLOB, inode INTEGER, undoes TEXT, remark TEXT);
    CREATE INDEX entries_by_task ON entries (task, id);
    CREATE TABLE known (
        task NOT NULL UNIQUE,
        inode INTEGER NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL, seen INTEGER NOT NULL,
        content BLOB NOT NULL);
    CREATE TABLE moves (token TEXT PRIMARY KEY, peer TEXT NOT NULL, payload TEXT) WITHOUT ROWID;
";

const LEASES: &str = "
    CREATE TABLE leases (
        task NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL, token INTEGER NOT NULL, taken INTEGER NOT NULL, ttl INTEGER,
        ends INTEGER, ends_since_boot INTEGER, ends_boot TEXT,
        pid INTEGER, started INTEGER, process_boot TEXT, grace INTEGER) WITHOUT ROWID;
";

/// Makes a database of the first format one of the second.
const FROM_FIRST_FORMAT: &str = "ALTER TABLE entries ADD COLUMN remark TEXT;";

/// One open database.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    pub(super) connection: Connection,
    path: PathBuf,
    /// The format it has.
    pub(super) format: i64,
    log: Option<File>,
    /// How many pages the log held after our last commit.
    pages: Arc<AtomicI32>,
}

impl Journal {
    /// Opens the journal in a list's own directory of ours, making it where there is none.
    pub(in crate::store) fn open(sidecar: &Path, list: &Path) -> Result<Self, StoreError> {
        let path = sidecar.join("journal.sqlite");
        if !path.exists() {
            fs::create_dir_all(sidecar).map_err(StoreError::io("cannot create", sidecar))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut journal = Self::connect(path, flags)?;
        journal.format = journal.pragma("user_version")?;
        if journal.format < FORMAT {
            // One at a time: SQLite does not wait for its turn to change the journal mode.
            let alone = File::open(sidecar).map_err(StoreError::io("cannot open", sidecar))?;
            flock(&alone, FlockOperation::LockExclusive)
                .map_err(|error| StoreError::io("cannot lock", sidecar)(error.into()))?;
            match journal.pragma::<i64>("user_version")? {
                0 => {
                    journal.create(list)?;
                    remember_boot(sidecar)?;
                    sync_directories(sidecar);
                }
                1 => journal.upgrade()?,
                // Somebody was before us.
                _ => {}
            }
            journal.format = FORMAT;
        } else if journal.format > FORMAT {
            return Err(StoreError::NewerJournal { path: journal.path, format: journal.format });
        }
        journal.connection.busy_timeout(BUSY_TIMEOUT).map_err(journal.failed("open"))?;
        Ok(journal)
    }

    /// Opens the journal for reading only; `None` where there is none.
    pub(in crate::store) fn open_to_read(sidecar: &Path) -> Result<Option<Self>, StoreError> {
        let path = sidecar.join("journal.sqlite");
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut journal = Self::connect(path, flags)?;
        journal.format = journal.pragma("user_version")?;
        Ok((1..=FORMAT).contains(&journal.format).then_some(journal))
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Journal { doing: "open", path: path.clone(), source };
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
        Ok(Self { connection, path, format: FORMAT, log: None, pages })
    }

    fn create(&mut self, list: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::Journal { doing: "create", path: self.path.clone(), source };
        self.connection.execute_batch("PRAGMA journal_mode = WAL").map_err(failed)?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction.execute_batch(LEASES).map_err(failed)?;
        transaction
            .execute("INSERT INTO facts VALUES ('path', ?1)", [list.to_string_lossy().as_ref()])
            .map_err(failed)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {FORMAT}")).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.sync()
    }

    /// Gives a database of the first format what is new.
    fn upgrade(&mut self) -> Result<(), StoreError> {
        let failed = |source| StoreError::Journal { doing: "upgrade", path: self.path.clone(), source };
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
        transaction.execute_batch(FROM_FIRST_FORMAT).map_err(failed)?;
        transaction.execute_batch(LEASES).map_err(failed)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {FORMAT}")).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.sync()
    }

    /// Begins a transaction that may write, when nobody else is in one.
    pub(in crate::store) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let started = Instant::now();
        // Suspended again when we have the turn.
        let mut let_go_on = Vec::new();
        loop {
            let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
            match begun {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    if started.elapsed() > PATIENCE {
                        let holder = stuck::holder(&self.path).map(|process| process.as_raw_nonzero().get());
                        return Err(StoreError::Stuck { path: self.path.clone(), holder, waited: started.elapsed() });
                    }
                    let_go_on.extend(LetGoOn::holder(&self.path));
                }
                begun => return begun.map_err(self.failed("write")),
            }
        }
    }

    /// Begins a transaction in which every read sees one state.
    pub(in crate::store) fn begin_to_read(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred).map_err(self.failed("read"))
    }

    /// Ends a transaction: from here on it exists for every process. It survives a power loss after the next [`Self::sync`].
    pub(in crate::store) fn end(&self, transaction: Transaction<'_>) -> Result<(), StoreError> {
        transaction.commit().map_err(self.failed("write"))
    }

    /// Waits until every commit so far is on the disk.
    pub(in crate::store) fn sync(&mut self) -> Result<(), StoreError> {
        if self.log.is_none() {
            let path = self.log_path();
            let log =
                File::options().read(true).write(true).open(&path).map_err(StoreError::io("cannot open", path))?;
            self.log = Some(log);
        }
        let log = self.log.as_ref().map(File::sync_data);
        log.unwrap_or(Ok(())).map_err(StoreError::io("cannot flush", self.log_path()))
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
            let _ = self.connection.busy_timeout(BUSY_TIMEOUT);
            self.pages.store(0, Ordering::Relaxed);
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
        let mut statement = self.prepare("SELECT value FROM facts WHERE key = ?1")?;
        statement.query_row([key], |row| row.get(0)).optional().map_err(self.failed("read"))
    }

    /// Remembers a fact.
    pub(in crate::store) fn set_fact(&self, key: &str, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
        let mut statement = self.prepare("INSERT OR REPLACE INTO facts VALUES (?1, ?2)")?;
        statement.execute(rusqlite::params![key, value]).map(drop).map_err(self.failed("write"))
    }

    /// Prepares a statement, once per connection.
    pub(super) fn prepare(&self, sql: &str) -> Result<rusqlite::CachedStatement<'_>, StoreError> {
        self.connection.prepare_cached(sql).map_err(self.failed("read"))
    }

    /// Returns a function that wraps an error of SQLite's, for `map_err`.
    pub(super) fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |source| StoreError::Journal { doing, path: path.clone(), source }
    }

    fn pragma<T: rusqlite::types::FromSql>(&self, name: &str) -> Result<T, StoreError> {
        self.connection.pragma_query_value(None, name, |row| row.get(0)).map_err(self.failed("open"))
    }

    fn log_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push("-wal");
        path.into()
    }
}

/// Makes the names of new files survive a power loss.
fn sync_directories(sidecar: &Path) {
    for directory in sidecar.ancestors().take(3) {
        if let Ok(directory) = File::open(directory) {
            let _ = directory.sync_all();
        }
    }
}
