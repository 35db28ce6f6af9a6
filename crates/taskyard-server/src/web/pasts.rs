//! The computed past of lists, cached so that redrawing a chart reads only new entries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::ListId;
use taskyard::operations::KnownPast;

/// Maximum number of lists cached, more than the page of all lists draws; beyond it, all are dropped.
const LISTS: usize = 48;

#[derive(Debug, Default)]
pub(crate) struct Pasts(Mutex<HashMap<ListId, Arc<Mutex<KnownPast>>>>);

impl Pasts {
    /// Returns what is known of a list, for one at a time to add to.
    pub(crate) fn of(&self, list: &ListId) -> Arc<Mutex<KnownPast>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= LISTS && !known.contains_key(list) {
            known.clear();
        }
        Arc::clone(known.entry(list.clone()).or_default())
    }
}
