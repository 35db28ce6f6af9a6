//! The lists of a store.

use crate::store::ListInfo;
use crate::{Error, Yard};

impl Yard {
    /// Returns every list of the store, by name.
    pub fn lists(&self) -> Result<Vec<ListInfo>, Error> {
        Ok(self.store().lists()?)
    }

    /// Returns so many lists of the store at most, by name.
    pub fn first_lists(&self, most: usize) -> Result<Vec<ListInfo>, Error> {
        Ok(self.store().some_lists(None, most)?)
    }
}
