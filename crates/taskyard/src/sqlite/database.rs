//! One connection to a database of ours.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, Error, ErrorCode, OpenFlags, OptionalExtension as _, Params, Row, Transaction, TransactionBehavior,
};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::unchanging::open_unchanging;
use super::{Alone, DatabaseError, Schema};
use crate::blocking::about_to_block;
use crate::lock_table::record_holder;
use crate::private::{has_database, prepare_database};

/// How long another process's commit is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);
/// The byte of the `-shm` file that a writer locks (SQLite's `WAL_WRITE_LOCK`).
const WRITE_LOCK: &str = "120";
/// So many statements are kept prepared.
const STATEMENTS: usize = 32;

/// A database, open.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(super) schema: &'static Schema,
}

impl Database {
    /// Opens the database of a data directory to read and write it, making both where they are missing.
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

    /// Opens the database of a data directory to read and write it; none where there is none.
    pub(crate) fn open_existing(data: &Path, schema: &'static Schema) -> Result<Option<Self>, DatabaseError> {
        let path = data.join(schema.file);
        let is_there = has_database(data, &path).map_err(DatabaseError::io("cannot use", path))?;
        is_there.then(|| Self::open(data, schema)).transpose()
    }

    /// Opens the database of a data directory to read it, as it is; none where there is none.
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

    /// Opens a database that is there, to read and write it.
    pub(crate) fn connect(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, |path| open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE))
    }

    /// Opens a database that is there, to read it.
    pub(crate) fn connect_to_read(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, |path| open_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY))
    }

    /// Opens a database that is there and that no process can change, to read it without anything beside it.
    pub(crate) fn connect_unchanging(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, open_unchanging)
    }

    pub(super) fn set_up(
        path: PathBuf,
        schema: &'static Schema,
        open: impl FnOnce(&Path) -> rusqlite::Result<Connection>,
    ) -> Result<Self, DatabaseError> {
        let opened = open(&path).and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            connection.execute_batch(schema.settings)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            // Statements that are kept stay as they are: SQLite would prepare some of them anew for every value that is bound.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => Ok(Self { connection, path, schema }),
            Err(error) => Err(failed("open", &path, error)),
        }
    }

    /// Begins a transaction that may write, when no other process is in one; fails where a newer Taskyard has written the database since it
    /// was opened.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>, DatabaseError> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(self.failed("write"))?;
        // Within the transaction no other process can upgrade it any more.
        self.known_format("write")?;
        Ok(transaction)
    }

    /// Does something in one transaction, when no other process is in one; what fails has not happened.
    pub(crate) fn transact<T>(
        &self,
        change: impl FnOnce(&Self) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let transaction = self.begin()?;
        let answer = change(self)?;
        self.end(transaction)?;
        Ok(answer)
    }

    /// Ends a transaction: from here on it exists for every process.
    pub(crate) fn end(&self, transaction: Transaction<'_>) -> Result<(), DatabaseError> {
        transaction.commit().map_err(self.failed("write"))
    }

    /// Begins a transaction in which every read sees one state; fails where a newer Taskyard has written the database since it was
    /// opened.
    pub(crate) fn begin_to_read(&self) -> Result<Transaction<'_>, DatabaseError> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred).map_err(self.failed("read"))?;
        self.known_format("read")?;
        Ok(transaction)
    }

    /// Does something for which no other process is waited for.
    pub(crate) fn without_waiting<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let done = work(&self.connection);
        let _ = self.connection.busy_timeout(PATIENCE);
        done
    }

    /// Returns every row that a query gives.
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

    /// Reads the rows that a query gives one by one, until it is told to stop.
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

    /// Returns the first row that a query gives, where it gives one.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, DatabaseError> {
        let row = || self.connection.prepare_cached(sql)?.query_row(values, read).optional();
        row().map_err(self.failed("read"))
    }

    /// Returns the first row of a query that always gives one.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let row = || self.connection.prepare_cached(sql)?.query_row(values, read);
        row().map_err(self.failed("read"))
    }

    /// Runs a statement that changes something, and returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: impl Params) -> Result<usize, DatabaseError> {
        self.change(|connection| connection.prepare_cached(sql)?.execute(values))
    }

    /// Changes something in the transaction under way, else in one of its own: nothing is written before the format was looked at.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let own = if self.connection.is_autocommit() { Some(self.begin()?) } else { None };
        let answer = change(&self.connection).map_err(self.failed("write"))?;
        own.map_or(Ok(()), |own| self.end(own))?;
        Ok(answer)
    }

    /// Runs SQL that has no answer.
    pub(crate) fn batch(&self, doing: &'static str, sql: &str) -> Result<(), DatabaseError> {
        self.connection.execute_batch(sql).map_err(self.failed(doing))
    }

    /// Returns a function that wraps an error of SQLite's, for `map_err`.
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

/// Returns why nothing can be locked in a directory. SQLite takes that for a lock that another process has. The directory is asked: to
/// close another descriptor of the database would give back the locks of this process.
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
    fn what_a_newer_release_upgraded_meanwhile_is_neither_read_nor_written_by_who_has_it_open() {
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
        // A connection that was refused stands in no writer's way.
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
    fn where_there_is_no_database_none_is_opened_to_look_and_none_is_made() {
        let data = tempfile::tempdir().unwrap();
        assert!(Database::look(data.path(), &SCHEMA).unwrap().is_none());
        assert!(Database::open_existing(data.path(), &SCHEMA).unwrap().is_none());
        assert!(!data.path().join("db").exists());
    }
}
