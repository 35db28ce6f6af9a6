//! What happened to a list.

use taskyard_core::Entry;

use crate::store::HistoryQuery;
use crate::{Error, Yard};

impl Yard {
    /// Returns the journal of the list, oldest entry first.
    pub fn history(&self, query: &HistoryQuery) -> Result<Vec<Entry>, Error> {
        let entries = self.store().history(self.list_id(), query)?;
        // Looking may have found a stale write; what is done about that is history, too.
        if self.try_to_put_back_stale_writes() {
            return Ok(self.store().history(self.list_id(), query)?);
        }
        Ok(entries)
    }
}
