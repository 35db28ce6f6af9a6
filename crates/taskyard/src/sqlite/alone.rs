//! Taking turns in the kernel, where SQLite would ask again and again, or not wait at all.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

use super::DatabaseError;

/// The lock of a file or a directory; others wait for it until this is dropped.
#[derive(Debug)]
pub(crate) struct Alone {
    _locked: File,
}

impl Alone {
    /// Waits until nobody else makes, upgrades or replaces a database in a directory.
    pub(crate) fn in_directory(path: &Path) -> Result<Self, DatabaseError> {
        let directory = File::open(path).map_err(DatabaseError::io("cannot open", path))?;
        Self::lock(directory, path)
    }

    /// Waits for the lock of an open file.
    pub(crate) fn lock(file: File, path: &Path) -> Result<Self, DatabaseError> {
        retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
            .map_err(|error| DatabaseError::io("cannot lock", path)(error.into()))?;
        Ok(Self { _locked: file })
    }
}
