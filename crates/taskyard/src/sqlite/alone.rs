//! Taking turns in the kernel, where SQLite would ask again and again, or not wait at all.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

use super::DatabaseError;

/// The lock of a file or a directory; other processes wait for it until this is dropped.
#[derive(Debug)]
pub(crate) struct Alone {
    locked: File,
}

impl Alone {
    /// Waits until no other process makes, upgrades or replaces a database in a directory.
    pub(crate) fn in_directory(path: &Path) -> Result<Self, DatabaseError> {
        let directory = File::open(path).map_err(DatabaseError::io("cannot open", path))?;
        Self::lock(directory, path)
    }

    /// Tells whether what is locked is still in its place, and nothing else is.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let locked = self.locked.metadata().map(place);
        matches!((locked, fs::metadata(path).map(place)), (Ok(locked), Ok(found)) if locked == found)
    }

    /// Waits for the lock of an open file.
    pub(crate) fn lock(file: File, path: &Path) -> Result<Self, DatabaseError> {
        retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
            .map_err(|error| DatabaseError::io("cannot lock", path)(error.into()))?;
        Ok(Self { locked: file })
    }
}
