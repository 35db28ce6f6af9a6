//! What happened to a list.

use taskyard_core::{Entry, Revision, Timestamp};

use crate::store::{HistoryBackwards, HistoryPages, HistoryQuery, Store, StoreError};
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

    /// Returns the newest revision that was made before a moment, by the times that the journal has.
    pub fn revision_before(&self, moment: Timestamp) -> Result<Revision, Error> {
        for page in self.backwards(HistoryQuery::default()) {
            let page = page?;
            if let Some(entry) = page.iter().rev().find(|entry| entry.at < moment) {
                return Ok(entry.revision);
            }
        }
        Ok(Revision::default())
    }

    /// Reads the journal of the list in pages, oldest entry first, as far as it has happened by now: for a caller that wants much of it.
    pub fn history_in_pages(&self, query: HistoryQuery) -> Result<HistoryPages<'_, dyn Store + '_>, Error> {
        // Looking may find a stale write; what is done about that is history, too.
        let pages = self.pages(query.clone())?;
        Ok(if self.try_to_put_back_stale_writes() { self.pages(query)? } else { pages })
    }

    /// Reads a part of the journal in pages.
    pub(super) fn pages(&self, query: HistoryQuery) -> Result<HistoryPages<'_, dyn Store + '_>, StoreError> {
        HistoryPages::of(self.store(), self.list_id(), query)
    }

    /// Reads a part of the journal in pages, the newest first.
    pub(super) fn backwards(&self, query: HistoryQuery) -> HistoryBackwards<'_, dyn Store + '_> {
        HistoryBackwards::of(self.store(), self.list_id(), query)
    }
}
