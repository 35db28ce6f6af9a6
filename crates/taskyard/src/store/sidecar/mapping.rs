//! Reading the database where it lies in memory, which is fast, and not doing so, which takes less of it.

use std::sync::OnceLock;

use rusqlite::Connection;
use rustix::process::{Resource, getrlimit};

use super::Journal;

/// So much of the database is mapped into memory.
const MAPPED: usize = 256 << 20;

/// Has a connection read the database where it lies in memory.
///
/// Where the process may have only so much address space, the map would take it away from everything else.
pub(super) fn map_files(connection: &Connection) -> rusqlite::Result<()> {
    static IS_LIMITED: OnceLock<bool> = OnceLock::new();
    match IS_LIMITED.get_or_init(|| getrlimit(Resource::As).current.is_some()) {
        true => Ok(()),
        false => connection.execute_batch(&format!("PRAGMA mmap_size = {MAPPED}")),
    }
}

impl Journal {
    /// Has what is read from here on not stay in the memory of this process: whoever reads most of a journal would have it all there in
    /// the end.
    pub(super) fn read_unmapped(&self) {
        if self.is_mapped.replace(false) {
            let unmapped = self.database.batch("read", "PRAGMA mmap_size = 0");
            // Then more memory is used, and nothing else is different.
            let _ = unmapped.inspect_err(|error| tracing::debug!(%error, "the journal stays mapped"));
        }
    }

    /// Has what is read from here on be read where it lies in memory again.
    pub(super) fn read_mapped(&self) {
        if !self.is_mapped.replace(true) {
            let mapped = map_files(&self.database.connection);
            let _ = mapped.inspect_err(|error| tracing::debug!(%error, "the journal is not mapped"));
        }
    }
}
