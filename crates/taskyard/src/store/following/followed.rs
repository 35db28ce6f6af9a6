//! What can be followed.

use std::path::Path;

use taskyard_core::{Entry, ListId};

use crate::store::{HistoryQuery, StoreError};

/// A list whose files and journal can be looked at again and again.
pub trait Followed: Send + Sync {
    /// Returns the list.
    fn list(&self) -> &ListId;

    /// Returns the directories in which something moves when the list changes.
    fn directories(&self) -> Vec<&Path>;

    /// Records what other programs did, where other programs write to the list's files. Returns whether nothing is left to record.
    fn observe(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Returns a part of the journal as it is, without looking at the files.
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;
}
