//! Reading the database where it lies in memory, which is fast, and not doing so, which takes less of it.

use super::Journal;
use super::database::map_files;

impl Journal {
    /// Has what is read from here on not stay in the memory of this process: a process that reads most of a journal
    /// would have it all there in the end.
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
