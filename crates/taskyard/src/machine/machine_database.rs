//! Opens the machine's database, and defines its tables.

use std::io;
use std::path::{Path, PathBuf};

use crate::private;
use crate::sqlite::{Alone, Database, DatabaseError, LARGEST, Schema, Table};

/// An open connection to the machine's database.
#[derive(Debug)]
pub struct Machine {
    pub(super) database: Database,
}

/// Why the machine's database could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A file operation failed.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The database operation failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl MachineError {
    /// Returns whether nothing can be recorded on this machine.
    pub(super) fn is_read_only(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match self {
            Self::Io { source, .. } | Self::Database(DatabaseError::Io { source, .. }) => {
                matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem)
            }
            Self::Database(DatabaseError::Newer { .. }) => true,
            Self::Database(error) => error.is_forbidden(),
        }
    }
}

impl Machine {
    /// Opens the database of a data directory for reading; `None` if it does not exist yet.
    pub fn look(data: &Path) -> Result<Option<Self>, MachineError> {
        Ok(Database::look(data, &MACHINE)?.map(|database| Self { database }))
    }

    /// Reads the database of a data directory; `None` if it does not exist yet. If no process is writing to it, its
    /// files are read without SQLite and no files are created beside them; later changes may then not be visible.
    pub fn read(data: &Path) -> Result<Option<Self>, MachineError> {
        match Self::copy_at_rest(data) {
            Some(copy) => Ok(Some(copy)),
            None => Self::look(data),
        }
    }

    fn copy_at_rest(data: &Path) -> Option<Self> {
        let (database, rest) = Database::read_at_rest(data, data.join(MACHINE.file), &MACHINE, LARGEST)?;
        (rest.is_still_so() && database.known_format("read").ok()? == MACHINE.format).then_some(Self { database })
    }

    /// Opens the database of a data directory read-only, whichever release wrote it. If that was a newer Taskyard, its
    /// tables may contain more than we know.
    pub fn glance(data: &Path) -> Option<Self> {
        Some(Self { database: Database::connect_to_read(data.join(MACHINE.file), &MACHINE).ok()? })
    }

    /// Opens the database of a data directory for writing, creating both if necessary.
    pub fn open(data: &Path) -> Result<Self, MachineError> {
        Ok(Self { database: Database::open(data, &MACHINE)? })
    }

    /// Runs a transaction on the tables while holding an exclusive lock. The processes of many jobs then queue in the
    /// kernel instead of polling.
    pub(crate) fn alone<T>(
        &mut self,
        data: &Path,
        change: impl FnOnce(&Database) -> Result<T, DatabaseError>,
    ) -> Result<T, MachineError> {
        let path = data.join("machine.turn");
        let turn = private::open(&path).map_err(DatabaseError::io("cannot lock", &path))?;
        let _turn = Alone::lock(turn, &path)?;
        Ok(self.database.transact(change)?)
    }

    /// Delays the flushing of commits: after a power failure the last ones may be missing, but none is incomplete.
    pub(crate) fn hurry(&self) -> Result<(), MachineError> {
        Ok(self.database.batch("write", "PRAGMA synchronous = NORMAL")?)
    }

    /// Flushes every commit before the caller gets its result.
    pub(crate) fn take_care(&self) -> Result<(), MachineError> {
        Ok(self.database.batch("write", "PRAGMA synchronous = FULL")?)
    }
}

/// The columns of a job, in the tables of present and of cleaned-up jobs.
const JOB: &str = "
    id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, list TEXT NOT NULL, task TEXT, started INTEGER NOT NULL,
    ended INTEGER, size INTEGER NOT NULL, record TEXT NOT NULL";

/// The schema of the machine's database. Before it had a format number, each release created the tables it needed.
pub(super) static MACHINE: Schema = Schema {
    file: "machine.sqlite",
    format: 1,
    tables: &[
        table("bindings", "directory BLOB NOT NULL PRIMARY KEY, list TEXT NOT NULL"),
        table("trusted", "directory BLOB NOT NULL PRIMARY KEY"),
        table("setups", "file BLOB NOT NULL PRIMARY KEY, record TEXT NOT NULL"),
        table("jobs", JOB),
        table("reopenings", "job TEXT NOT NULL PRIMARY KEY"),
        table("tidied_jobs", JOB),
        table(
            "notices",
            "job TEXT NOT NULL PRIMARY KEY, agent TEXT NOT NULL, list TEXT NOT NULL, queued_at INTEGER NOT NULL,
             delivered_at INTEGER, acknowledged_at INTEGER",
        ),
    ],
    indexes: "
        CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
        CREATE INDEX IF NOT EXISTS jobs_by_task ON jobs (list, task);
        CREATE INDEX IF NOT EXISTS jobs_by_size ON jobs (size);",
    settings: "",
};

const fn table(name: &'static str, columns: &'static str) -> Table {
    Table { name, since: Some(1), columns, ending: ") WITHOUT ROWID" }
}
