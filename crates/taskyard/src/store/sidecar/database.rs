//! Opening the database, and making its commits durable.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};

use super::boot::remember_boot;
use super::damage;
use super::naming::data_of;
use super::schema::{
    FIRST_FORMAT_AS_THIRD, FORMAT, FORMS_AS_THIRD, FORMS_FROM_SECOND_FORMAT, FROM_FIRST_FORMAT, FROM_SECOND_FORMAT,
    SECOND_FORMAT_AS_THIRD, TABLES,
};
use super::stuck::{self, LetGoOn};
use super::sums;
use crate::private::prepare_database;
use crate::store::StoreError;

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

/// One open database.
#[derive(Debug)]
pub(in crate::store) struct Journal {
    pub(super) connection: Connection,
    path: PathBuf,
    log: Option<File>,
    /// How many pages the log held after our last commit.
    pages: Arc<AtomicI32>,
}

impl Journal {
    /// Opens the journal in a list's own directory of ours, making it where there is none.
    pub(in crate::store) fn open(sidecar: &Path, list: &Path) -> Result<Self, StoreError> {
        let path = sidecar.join("journal.sqlite");
        prepare_database(data_of(sidecar), &path).map_err(StoreError::io("cannot use", &path))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut journal = Self::connect(path, flags)?;
        let format: i64 = journal.pragma("user_version")?;
        if format < FORMAT {
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
                older if older < FORMAT => journal.upgrade(older)?,
                // Somebody was before us.
                _ => {}
            }
        } else if format > FORMAT {
            return Err(StoreError::NewerJournal { path: journal.path, format });
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
        let journal = Self::connect(path, flags)?;
        let as_third = match journal.pragma::<i64>("user_version")? {
            1 => FIRST_FORMAT_AS_THIRD,
            2 => SECOND_FORMAT_AS_THIRD,
            FORMAT => return Ok(Some(journal)),
            _ => return Ok(None),
        };
        journal.batch("read", as_third)?;
        if journal.has_forms()? {
            journal.batch("read", FORMS_AS_THIRD)?;
        }
        Ok(Some(journal))
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, StoreError> {
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
        Ok(Self { connection, path, log: None, pages })
    }

    fn create(&mut self, list: &Path) -> Result<(), StoreError> {
        let failed = self.failed("create");
        self.batch("create", "PRAGMA journal_mode = WAL")?;
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Exclusive).map_err(&failed)?;
        self.batch("create", TABLES)?;
        self.set_fact("path", list.to_string_lossy())?;
        self.batch("create", &format!("PRAGMA user_version = {FORMAT}"))?;
        transaction.commit().map_err(&failed)?;
        self.sync()
    }

    /// Gives a database of an older format what is new.
    fn upgrade(&mut self, from: i64) -> Result<(), StoreError> {
        let failed = self.failed("upgrade");
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Exclusive).map_err(&failed)?;
        if from < 2 {
            self.batch("upgrade", FROM_FIRST_FORMAT)?;
        }
        self.batch("upgrade", FROM_SECOND_FORMAT)?;
        if self.has_forms()? {
            self.batch("upgrade", FORMS_FROM_SECOND_FORMAT)?;
        }
        self.batch("upgrade", &format!("PRAGMA user_version = {FORMAT}"))?;
        transaction.commit().map_err(&failed)?;
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

    pub(super) fn batch(&self, doing: &'static str, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(self.failed(doing))
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
