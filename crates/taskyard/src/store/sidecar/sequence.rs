//! Noticing that entries are missing.

use super::entries::ENTRY_BITS;
use crate::store::journal_damage::JournalDamage;

/// Follows the ids of entries: within a revision and from one to the next they rise by one.
pub(super) struct Sequence {
    last: i64,
}

impl Sequence {
    /// Begins with the first entry of a revision. Entries before it are those of a journal that was mended, and may have gaps.
    pub(super) fn from(first: i64) -> Self {
        Self { last: first - 1 }
    }

    /// Takes the next id, and tells what is missing before it.
    pub(super) fn gap_before(&mut self, id: i64) -> Option<JournalDamage> {
        if id <= self.last {
            return None;
        }
        let [last, this] = [self.last >> ENTRY_BITS, id >> ENTRY_BITS];
        let is_next = id == self.last + 1 || id == (last + 1) << ENTRY_BITS;
        self.last = id;
        (!is_next).then(|| JournalDamage::Gap { missing: format!("something between revisions {last} and {this}") })
    }
}
