//! Asking a journal for images.

use rusqlite::{Row, params};
use taskyard_core::{Image, TaskId};

use super::Journal;
use super::entries::Key;
use super::recent_images::{Images, images_of};
use super::sums;
use crate::store::StoreError;

impl Journal {
    /// Returns the entry whose image is what a task was before a change, where the newest entry about the task is that.
    pub(super) fn entry_with(&self, task: &TaskId, image: &Image) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id, after = ?2 FROM entries WHERE task = ?1 ORDER BY id DESC LIMIT 1";
        let found = self.row(sql, params![Key(task), image.bytes()], |row| {
            Ok(row.get::<_, Option<bool>>(1)?.unwrap_or(false).then_some(row.get::<_, i64>(0)?))
        })?;
        Ok(found.flatten())
    }

    /// Returns the images of an entry; fails where they are not what was written.
    pub(super) fn checked_images(&self, row: &Row<'_>) -> rusqlite::Result<Images> {
        let images = images_of(&self.database.connection, &self.recent_images, row)?;
        sums::check_entry(row, &images)?;
        Ok(images)
    }
}
