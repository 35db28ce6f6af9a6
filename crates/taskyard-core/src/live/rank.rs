//! Where a ready task stands among the others.

use std::cmp::Reverse;

use super::record::Key;
use crate::Priority;

/// Where a task stands among those that can start: by priority, what is overdue first, then by the longest chain behind it, then by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    priority: Reverse<Priority>,
    is_overdue: Reverse<bool>,
    chain: Reverse<u32>,
    pub(super) key: Key,
}

impl Rank {
    /// Ranks a task of this priority, with this chain behind it.
    pub(super) fn of((priority, is_overdue, chain): (Priority, bool, u32), key: Key) -> Self {
        Self { priority: Reverse(priority), is_overdue: Reverse(is_overdue), chain: Reverse(chain), key }
    }
}
