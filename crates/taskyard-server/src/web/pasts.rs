//! What became of lists over time, as far as a page asked: so that a chart that is drawn again reads only what is new.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::ListId;
use taskyard::operations::KnownPast;

/// So many lists are remembered; then all are forgotten, and read anew when they are asked for.
const LISTS: usize = 32;

/// The pasts of lists.
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
