//! A connection to one of our databases.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, io};

use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, Error, ErrorCode, OpenFlags, OptionalExtension as _, Params, Row, Transaction, TransactionBehavior,
};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::DatabaseError;
use crate::private::{has_database, prepare_database};
use crate::system::{about_to_block, record_holder};

/// How long to wait for another process's commit.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);
/// The byte of the `-shm` file that a writer locks (SQLite's `WAL_WRITE_LOCK`).
const WRITE_LOCK: &str = "120";
/// Number of prepared statements to cache.
const STATEMENTS: usize = 32;

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(super) schema: &'static Schema,
    /// Dropped after the connection. `None` if the database is in memory.
    open_file: Option<OpenFile>,
}

impl Database {
    /// Opens the database in a data directory for reading and writing, creating the directory and the database if
    /// necessary.
    pub(crate) fn open(data: &Path, schema: &'static Schema) -> Result<Self, DatabaseError> {
        about_to_block("opening a database");
        let path = data.join(schema.file);
        prepare_database(data, &path).map_err(DatabaseError::io("cannot use", &path))?;
        let database = Self::connect(path, schema)?;
        if database.known_format("write")? < schema.format {
            let alone = Alone::in_directory(data)?;
            database.end(database.begin_upgrade(&alone)?)?;
        }
        Ok(database)
    }

    /// Opens the database in a data directory for reading and writing, or returns `None` if it does not exist.
    pub(crate) fn open_existing(data: &Path, schema: &'static Schema) -> Result<Option<Self>, DatabaseError> {
        let path = data.join(schema.file);
        let is_there = has_database(data, &path).map_err(DatabaseError::io("cannot use", path))?;
        is_there.then(|| Self::open(data, schema)).transpose()
    }

    /// Opens the database in a data directory for reading, without upgrading it, or returns `None` if it does not
    /// exist.
    pub(crate) fn look(data: &Path, schema: &'static Schema) -> Result<Option<Self>, DatabaseError> {
        about_to_block("looking for a database");
        let path = data.join(schema.file);
        if !has_database(data, &path).map_err(DatabaseError::io("cannot use", &path))? {
            return Ok(None);
        }
        let opened = Self::connect_to_read(path.clone(), schema)
            .and_then(|database| database.known_format("read").map(|format| (database, format)));
        let (database, format) = match opened {
            Err(error) if error.is_forbidden() => {
                let database = Self::connect_unchanging(path, schema)?;
                let format = database.known_format("read")?;
                (database, format)
            }
            opened => opened?,
        };
        if format < schema.format {
            database.read_as_of_today(format)?;
        }
        Ok(Some(database))
    }

    /// Opens an existing database for reading and writing.
    pub(crate) fn connect(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, |path| open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE))
    }

    /// Opens an existing database for reading.
    pub(crate) fn connect_to_read(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, |path| open_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY))
    }

    /// Opens an existing database that no process can change, for reading without files beside it.
    pub(crate) fn connect_unchanging(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, open_unchanging)
    }

    fn set_up(
        path: PathBuf,
        schema: &'static Schema,
        open: impl FnOnce(&Path) -> rusqlite::Result<Connection>,
    ) -> Result<Self, DatabaseError> {
        let open_file = OpenFile::at(&path);
        match open(&path) {
            Ok(connection) => Self::over(connection, path, schema, open_file),
            Err(error) => Err(failed("open", &path, error)),
        }
    }

    /// Configures a connection.
    pub(super) fn over(
        connection: Connection,
        path: PathBuf,
        schema: &'static Schema,
        open_file: Option<OpenFile>,
    ) -> Result<Self, DatabaseError> {
        let set_up = || {
            connection.busy_timeout(PATIENCE)?;
            connection.execute_batch(schema.settings)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            // Cached statements must stay as they are: otherwise SQLite prepares some of them again whenever other
            // values are bound.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        };
        match set_up() {
            Ok(_) => Ok(Self { connection, path, schema, open_file }),
            Err(error) => Err(failed("open", &path, error)),
        }
    }

    /// Returns the inode of the database file, or `None` if the database is in memory.
    pub(crate) fn inode(&self) -> Option<u64> {
        self.open_file.as_ref().map(|file| file.inode)
    }

    /// Begins a write transaction, waiting for other writers. Fails if a newer Taskyard has written the database since
    /// it was opened.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>, DatabaseError> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(self.failed("write"))?;
        // Within the transaction no other process can upgrade the database.
        self.known_format("write")?;
        Ok(transaction)
    }

    /// Runs `change` in a write transaction, waiting for other writers. If it fails, the transaction is rolled back.
    pub(crate) fn transact<T>(
        &self,
        change: impl FnOnce(&Self) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let transaction = self.begin()?;
        let answer = change(self)?;
        self.end(transaction)?;
        Ok(answer)
    }

    /// Commits a transaction, which makes it visible to every process.
    pub(crate) fn end(&self, transaction: Transaction<'_>) -> Result<(), DatabaseError> {
        transaction.commit().map_err(self.failed("write"))
    }

    /// Begins a read transaction, in which every query sees the same snapshot. Fails if a newer Taskyard has written
    /// the database since it was opened.
    pub(crate) fn begin_to_read(&self) -> Result<Transaction<'_>, DatabaseError> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred).map_err(self.failed("read"))?;
        self.known_format("read")?;
        Ok(transaction)
    }

    /// Runs `work` with the busy timeout set to zero, so that it waits for no other process.
    pub(crate) fn without_waiting<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let done = work(&self.connection);
        let _ = self.connection.busy_timeout(PATIENCE);
        done
    }

    /// Returns all rows of a query.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, DatabaseError> {
        let rows =
            || -> rusqlite::Result<Vec<T>> { self.connection.prepare_cached(sql)?.query_map(values, read)?.collect() };
        rows().map_err(self.failed("read"))
    }

    /// Reads the rows of a query one by one, until `read` breaks.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<(), DatabaseError> {
        let each = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                if read(row)?.is_break() {
                    break;
                }
            }
            Ok(())
        };
        each().map_err(self.failed("read"))
    }

    /// Returns the first row of a query, or `None` if it has none.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, DatabaseError> {
        let row = || self.connection.prepare_cached(sql)?.query_row(values, read).optional();
        row().map_err(self.failed("read"))
    }

    /// Returns the first row of a query that always has one.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let row = || self.connection.prepare_cached(sql)?.query_row(values, read);
        row().map_err(self.failed("read"))
    }

    /// Executes a statement, and returns the number of rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: impl Params) -> Result<usize, DatabaseError> {
        self.change(|connection| connection.prepare_cached(sql)?.execute(values))
    }

    /// Applies a change within the current transaction, or else in its own. The format is always checked before
    /// anything is written.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let own = if self.connection.is_autocommit() { Some(self.begin()?) } else { None };
        let answer = change(&self.connection).map_err(self.failed("write"))?;
        own.map_or(Ok(()), |own| self.end(own))?;
        Ok(answer)
    }

    /// Executes SQL that returns no rows.
    pub(crate) fn batch(&self, doing: &'static str, sql: &str) -> Result<(), DatabaseError> {
        self.connection.execute_batch(sql).map_err(self.failed(doing))
    }

    /// Returns a function for `map_err` that wraps an SQLite error.
    pub(crate) fn failed(&self, doing: &'static str) -> impl Fn(Error) -> DatabaseError {
        move |error| failed(doing, &self.path, error)
    }
}

pub(super) fn open_with(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn failed(doing: &'static str, path: &Path, error: Error) -> DatabaseError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => {
            if let Some(source) = path.parent().and_then(why_no_locks) {
                return DatabaseError::Io { doing: "cannot lock", path, source };
            }
            let holder = record_holder(&beside(&path, "-shm"), [WRITE_LOCK; 2]);
            let holder = holder.map(|process| process.as_raw_nonzero().get());
            DatabaseError::Busy { path, holder, waited: PATIENCE }
        }
        _ => DatabaseError::Refused { doing, path, source: Box::new(error) },
    }
}

/// Returns why files in a directory cannot be locked at all, which SQLite reports as a lock held by another process.
/// This locks the directory instead of the database: closing another descriptor of the database would release the locks
/// of this process.
fn why_no_locks(directory: &Path) -> Option<io::Error> {
    let directory = File::open(directory).ok()?;
    match flock(&directory, FlockOperation::NonBlockingLockShared) {
        Err(error @ (Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS)) => Some(error.into()),
        _ => None,
    }
}

/// Returns the path of a file that SQLite keeps beside a database.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// The schema of one of our databases.
///
/// Formats only grow: a newer one has more tables, or more columns at the end of a table. These tables therefore
/// suffice to create a database, to upgrade an older one, and to read an older one that cannot be written.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The file name of the database.
    pub(crate) file: &'static str,
    /// The current format. A higher one was written by a newer Taskyard.
    pub(crate) format: i64,
    pub(crate) tables: &'static [Table],
    /// SQL that creates missing indexes.
    pub(crate) indexes: &'static str,
    /// SQL executed on every new connection.
    pub(crate) settings: &'static str,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The format that introduced it. `None` if the table is optional and its owner creates it.
    pub(crate) since: Option<i64>,
    /// The columns with their types, as SQL. New columns come last.
    pub(crate) columns: &'static str,
    /// The SQL after the columns.
    pub(crate) ending: &'static str,
}

impl Table {
    /// Returns SQL that creates the table if it is missing.
    pub(crate) fn creation(&self) -> String {
        // SQLite stores the text verbatim, including whitespace.
        let columns: Vec<&str> = self.columns_beyond(&[]).collect();
        format!("CREATE TABLE IF NOT EXISTS {}({}{};", self.name, columns.join(","), self.ending)
    }

    pub(crate) fn column_names(&self) -> impl Iterator<Item = &'static str> {
        self.columns_beyond(&[]).map(name_of)
    }

    /// Returns the definitions of the columns whose names are not in `there`.
    pub(super) fn columns_beyond(&self, there: &[String]) -> impl Iterator<Item = &'static str> {
        self.columns.split(',').map(str::trim).filter(|column| there.iter().all(|name| name != name_of(column)))
    }
}

/// Returns the column name in a column definition.
pub(super) fn name_of(definition: &'static str) -> &'static str {
    definition.split(' ').next().unwrap_or(definition)
}

/// An exclusive lock on a file or directory. Other processes wait for it until this is dropped.
#[derive(Debug)]
pub(crate) struct Alone {
    locked: File,
}

impl Alone {
    /// Waits until no other process is creating, upgrading or replacing a database in a directory.
    pub(crate) fn in_directory(path: &Path) -> Result<Self, DatabaseError> {
        let directory = File::open(path).map_err(DatabaseError::io("cannot open", path))?;
        Self::lock(directory, path)
    }

    /// Returns whether `path` still refers to the locked file.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let locked = self.locked.metadata().map(place);
        matches!((locked, fs::metadata(path).map(place)), (Ok(locked), Ok(found)) if locked == found)
    }

    /// Waits for the lock on an open file.
    pub(crate) fn lock(file: File, path: &Path) -> Result<Self, DatabaseError> {
        retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
            .map_err(|error| DatabaseError::io("cannot lock", path)(error.into()))?;
        Ok(Self { locked: file })
    }
}

/// Opens a database that no process can change, without files beside it.
///
/// Readers of a database with a write-ahead log normally need a file beside it. If that file cannot be created, no
/// process can write the database either, so it is opened as immutable.
pub(super) fn open_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => address.push(char::from(*byte)),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(&address, flags)
}

/// The database files that SQLite has open in this process, by device and inode, with the number of connections.
///
/// The locks that SQLite has on a file belong to the process: they end when any descriptor of the file is closed.
static OPEN: Mutex<BTreeMap<(u64, u64), usize>> = Mutex::new(BTreeMap::new());

pub(super) fn open_files() -> MutexGuard<'static, BTreeMap<(u64, u64), usize>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says, as long as it lives, that SQLite has a file open.
#[derive(Debug)]
pub(super) struct OpenFile {
    device: u64,
    pub(super) inode: u64,
}

impl OpenFile {
    /// Says so of the file at a path, before SQLite opens it; `None` if there is none.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let mut files = open_files();
        let found = fs::metadata(path).ok()?;
        *files.entry((found.dev(), found.ino())).or_default() += 1;
        Some(Self { device: found.dev(), inode: found.ino() })
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let (mut files, file) = (open_files(), (self.device, self.inode));
        if let Some(count) = files.get_mut(&file) {
            *count -= 1;
            if *count == 0 {
                files.remove(&file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::{Database, DatabaseError, Schema};

    const WORDS: Table = Table { name: "words", since: Some(1), columns: "word TEXT", ending: ")" };
    static SCHEMA: Schema = Schema { file: "db", format: 1, tables: &[WORDS], indexes: "", settings: "" };

    #[test]
    fn what_fails_within_a_transaction_has_not_happened() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        let words = || database.rows("SELECT word FROM words", [], |row| row.get::<_, String>(0)).unwrap();
        database.transact(|database| database.execute("INSERT INTO words VALUES ('one')", [])).unwrap();
        let failed = database.transact(|database| {
            database.execute("INSERT INTO words VALUES ('two')", [])?;
            database.execute("INSERT INTO letters VALUES ('three')", [])
        });
        assert!(matches!(failed, Err(DatabaseError::Refused { doing: "write", .. })), "{failed:?}");
        assert_eq!(words(), ["one"]);
    }

    #[test]
    fn upgraded_data_is_not_used_by_older_running_process() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        let insert = |database: &Database| database.execute("INSERT INTO words (word) VALUES ('one')", []);
        insert(&database).unwrap();
        let newer = Database::open(data.path(), &SCHEMA).unwrap();
        newer.batch("upgrade", "ALTER TABLE words ADD COLUMN meaning; PRAGMA user_version = 2").unwrap();
        let is_newer =
            |failed: DatabaseError| assert!(matches!(failed, DatabaseError::Newer { format: 2, .. }), "{failed:?}");
        is_newer(insert(&database).unwrap_err());
        is_newer(database.transact(insert).unwrap_err());
        is_newer(database.begin_to_read().map(drop).unwrap_err());
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        assert_eq!(newer.one("SELECT count(*) FROM words", [], count).unwrap(), 1);
        // A connection that was refused does not block writers.
        newer.without_waiting(|connection| connection.execute_batch("BEGIN IMMEDIATE; COMMIT")).unwrap();
    }

    #[test]
    fn what_cannot_be_done_without_waiting_names_who_is_in_the_way() {
        let data = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| Database::open(data.path(), &SCHEMA).unwrap());
        let _transaction = first.begin().unwrap();
        let refused = second.without_waiting(|_| second.execute("INSERT INTO words VALUES ('two')", []));
        let own = i32::try_from(std::process::id()).ok();
        assert!(matches!(&refused, Err(DatabaseError::Busy { holder, .. }) if *holder == own), "{refused:?}");
        assert_eq!(second.rows("SELECT word FROM words", [], |row| row.get::<_, String>(0)).unwrap().len(), 0);
    }

    #[test]
    fn missing_database_is_neither_opened_nor_created_to_read() {
        let data = tempfile::tempdir().unwrap();
        assert!(Database::look(data.path(), &SCHEMA).unwrap().is_none());
        assert!(Database::open_existing(data.path(), &SCHEMA).unwrap().is_none());
        assert!(!data.path().join("db").exists());
    }
}
