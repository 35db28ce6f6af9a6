//! The lists of a store.

use taskyard_core::ListId;

use crate::store::ListInfo;
use crate::{Error, Yard};

impl Yard {
    /// Returns every list of the store, by name.
    pub fn lists(&self) -> Result<Vec<ListInfo>, Error> {
        Ok(self.store().lists()?)
    }

    /// Returns at most `limit` lists of the store, sorted by name, starting after `after`.
    pub fn some_lists(&self, after: Option<&ListId>, limit: usize) -> Result<Vec<ListInfo>, Error> {
        Ok(self.store().some_lists(after, limit)?)
    }
}
