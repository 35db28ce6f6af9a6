//! What happened to a list.

use taskyard_core::Entry;

use crate::store::HistoryQuery;
use crate::{Error, Yard};

impl Yard {
    /// Returns the journal of the list, oldest entry first.
    pub fn history(&self, query: &HistoryQuery) -> Result<Vec<Entry>, Error> {
        Ok(self.store().history(self.list_id(), query)?)
    }
}
