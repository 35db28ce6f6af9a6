//! Opening the machine's database.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};

use crate::private::{has_database, prepare_database};
use crate::unchanging::open_unchanging;

/// The tables, each made when it is missing, so that an older database gains what is new.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS bindings (
        directory BLOB NOT NULL PRIMARY KEY,
        list TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS trusted (
        directory BLOB NOT NULL PRIMARY KEY
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS setups (
        file BLOB NOT NULL PRIMARY KEY,
        record TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS jobs (
        id TEXT NOT NULL PRIMARY KEY,
        state TEXT NOT NULL,
        list TEXT NOT NULL,
        task TEXT,
        started INTEGER NOT NULL,
        ended INTEGER,
        size INTEGER NOT NULL,
        record TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
    CREATE INDEX IF NOT EXISTS jobs_by_task ON jobs (list, task);
    CREATE INDEX IF NOT EXISTS jobs_by_size ON jobs (size);
    CREATE TABLE IF NOT EXISTS reopenings (
        job TEXT NOT NULL PRIMARY KEY
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tidied_jobs (
        id TEXT NOT NULL PRIMARY KEY,
        state TEXT NOT NULL,
        list TEXT NOT NULL,
        task TEXT,
        started INTEGER NOT NULL,
        ended INTEGER,
        size INTEGER NOT NULL,
        record TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS notices (
        job TEXT NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL,
        list TEXT NOT NULL,
        queued_at INTEGER NOT NULL,
        delivered_at INTEGER,
        acknowledged_at INTEGER
    ) WITHOUT ROWID;
";

/// How long we wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The machine's database, open.
#[derive(Debug)]
pub struct Machine {
    pub(super) connection: Connection,
    path: PathBuf,
}

/// Why the machine's database gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database refused.
    #[error("cannot {doing} `{}`: {source}", .path.display())]
    Database {
        /// What we tried: "open", "read", "write".
        doing: &'static str,
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl Machine {
    /// Opens the database of a data directory for reading; none where there is none yet.
    pub fn look(data: &Path) -> Result<Option<Self>, MachineError> {
        let path = data.join("machine.sqlite");
        let is_there = has_database(data, &path);
        if !is_there.map_err(|source| MachineError::Io { doing: "cannot use", path: path.clone(), source })? {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let machine = Self::open_with(path, flags)?;
        match machine.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0)) {
            Err(error) if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) => {
                let opened = open_unchanging(&machine.path);
                opened
                    .map(|connection| Some(Self { connection, path: machine.path.clone() }))
                    .map_err(machine.failed("open"))
            }
            Err(error) => Err(machine.failed("read")(error)),
            Ok(_) => Ok(Some(machine)),
        }
    }

    /// Opens the database of a data directory for writing, making both where they are missing.
    pub fn open(data: &Path) -> Result<Self, MachineError> {
        let path = data.join("machine.sqlite");
        prepare_database(data, &path).map_err(|source| MachineError::Io {
            doing: "cannot use",
            path: path.clone(),
            source,
        })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let machine = Self::open_with(path, flags)?;
        machine.log_ahead(data)?;
        machine.connection.execute_batch(TABLES).map_err(machine.failed("write"))?;
        Ok(machine)
    }

    /// Has commits go to a write-ahead log, so that they cost one write and disturb nobody who reads.
    fn log_ahead(&self, data: &Path) -> Result<(), MachineError> {
        let mode = |query: &str| self.connection.query_row(query, [], |row| row.get::<_, String>(0));
        if mode("PRAGMA journal_mode").map_err(self.failed("write"))? == "wal" {
            return Ok(());
        }
        // One at a time: SQLite does not wait for its turn to change the journal mode.
        let alone = File::open(data).and_then(|alone| {
            flock(&alone, FlockOperation::LockExclusive)?;
            Ok(alone)
        });
        let _alone =
            alone.map_err(|source| MachineError::Io { doing: "cannot lock", path: data.to_owned(), source })?;
        match mode("PRAGMA journal_mode = WAL") {
            // Somebody reads it the old way just now; the next one to open it changes it.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
            result => result.map(drop).map_err(self.failed("write")),
        }
    }

    fn open_with(path: PathBuf, flags: OpenFlags) -> Result<Self, MachineError> {
        let failed = |source| MachineError::Database { doing: "open", path: path.clone(), source };
        let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        Ok(Self { connection, path })
    }

    /// Returns a function that wraps a database error with what was tried.
    pub(super) fn failed(&self, doing: &'static str) -> impl FnOnce(rusqlite::Error) -> MachineError + use<> {
        let path = self.path.clone();
        move |source| MachineError::Database { doing, path, source }
    }
}
