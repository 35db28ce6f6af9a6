//! Where a ready task stands among the others.

use super::record::Key;
use crate::rules::claims::readiness::RankKey;

/// Where a task stands among those that can start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    by: RankKey,
    pub(super) key: Key,
}

impl Rank {
    /// Ranks a task by this.
    pub(super) fn of(by: RankKey, key: Key) -> Self {
        Self { by, key }
    }
}
