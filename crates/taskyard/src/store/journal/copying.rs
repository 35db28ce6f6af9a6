//! Copying the journal, and what the files were at the moment it was copied.

use std::path::Path;

use taskyard_core::TaskId;

use super::Journal;
use super::damage::judge;
use super::known::{KNOWN_COLUMNS, Known, known};
use crate::store::StoreError;

impl Journal {
    /// Copies the database into a new private file, as it is in the transaction under way.
    pub(in crate::store) fn copy_to(&self, copy: &Path) -> Result<(), StoreError> {
        self.database.copy_to(copy).map_err(judge)
    }

    /// Hands on the last known state of every file, one at a time.
    pub(in crate::store) fn each_known(
        &self,
        mut each: impl FnMut(&TaskId, Known) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut failed = None;
        self.rows(KNOWN_COLUMNS, [], |row| {
            let (id, known) = known(row)?;
            if failed.is_none() {
                failed = each(&id, known).err();
            }
            Ok(())
        })?;
        failed.map_or(Ok(()), Err)
    }
}
