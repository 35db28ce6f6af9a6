//! The numbers of entries, and noticing that some are missing.

use taskyard_core::Revision;

use crate::store::journal_damage::JournalDamage;

/// A commit's entries are numbered within this many bits, below its revision.
pub(super) const ENTRY_BITS: u32 = 24;

/// Returns the number of the first entry that a revision can have.
pub(super) fn first_id(revision: Revision) -> i64 {
    i64::try_from(revision.0.min(1 << 38)).unwrap_or(0) << ENTRY_BITS
}

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
