//! Opening the machine's database.

use std::io;
use std::path::{Path, PathBuf};

use super::schema::MACHINE;
use crate::private;
use crate::sqlite::{Alone, Database, DatabaseError};
use crate::store::AtRest;

/// The machine's database, open.
#[derive(Debug)]
pub struct Machine {
    pub(super) database: Database,
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
    /// The database gave no answer.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl MachineError {
    /// Tells whether nothing can be recorded on this machine.
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
    /// Opens the database of a data directory for reading; none where there is none yet.
    pub fn look(data: &Path) -> Result<Option<Self>, MachineError> {
        Ok(Database::look(data, &MACHINE)?.map(|database| Self { database }))
    }

    /// Reads what the database of a data directory says at this moment; `None` where there is none yet. If no process writes to it, that is read
    /// from a copy, for which nothing is made beside the file. What is recorded later may not show.
    pub fn read(data: &Path) -> Result<Option<Self>, MachineError> {
        match Self::copy_at_rest(data) {
            Some(copy) => Ok(Some(copy)),
            None => Self::look(data),
        }
    }

    fn copy_at_rest(data: &Path) -> Option<Self> {
        let path = data.join(MACHINE.file);
        let rest = AtRest::find_beside_empty_log(&path)?;
        if !private::has_database(data, &path).ok()? {
            return None;
        }
        let database = Database::copy_into_memory(path, &MACHINE).ok()?;
        (rest.is_still_so() && database.known_format("read").ok()? == MACHINE.format).then_some(Self { database })
    }

    /// Opens the database of a data directory for a glance, whichever release wrote it: what a newer Taskyard says in its tables may be
    /// more than we know.
    pub fn glance(data: &Path) -> Option<Self> {
        Some(Self { database: Database::connect_to_read(data.join(MACHINE.file), &MACHINE).ok()? })
    }

    /// Opens the database of a data directory for writing, making both where they are missing.
    pub fn open(data: &Path) -> Result<Self, MachineError> {
        Ok(Self { database: Database::open(data, &MACHINE)? })
    }

    /// Does something to the tables in one transaction, alone. The processes of many jobs stand in line for it in the kernel
    /// instead of asking again and again.
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

    /// Has commits reach the disk later: after a power loss the last ones may be missing, none is ever half there.
    pub(crate) fn hurry(&self) -> Result<(), MachineError> {
        Ok(self.database.batch("write", "PRAGMA synchronous = NORMAL")?)
    }

    /// Has commits reach the disk before a caller is told.
    pub(crate) fn take_care(&self) -> Result<(), MachineError> {
        Ok(self.database.batch("write", "PRAGMA synchronous = FULL")?)
    }
}
