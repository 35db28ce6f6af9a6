//! Opening the machine's database.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

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
";

/// How long we wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(5);

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
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::open_with(path, flags).map(Some)
    }

    /// Opens the database of a data directory for writing, making both where they are missing.
    pub fn open(data: &Path) -> Result<Self, MachineError> {
        make_private(data)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let machine = Self::open_with(data.join("machine.sqlite"), flags)?;
        machine.connection.execute_batch(TABLES).map_err(machine.failed("write"))?;
        Ok(machine)
    }

    fn open_with(path: PathBuf, flags: OpenFlags) -> Result<Self, MachineError> {
        let failed = |source| MachineError::Database { doing: "open", path: path.clone(), source };
        let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        Ok(Self { connection, path })
    }

    /// Returns a function that wraps a database error with what was tried.
    pub(super) fn failed(&self, doing: &'static str) -> impl FnOnce(rusqlite::Error) -> MachineError {
        let path = self.path.clone();
        move |source| MachineError::Database { doing, path, source }
    }
}

/// Makes a directory that is nobody else's business.
fn make_private(directory: &Path) -> Result<(), MachineError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|source| MachineError::Io {
        doing: "cannot create",
        path: directory.to_owned(),
        source,
    })
}
