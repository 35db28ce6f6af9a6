//! Watching a list whose journal is a database of ours: the kernel tells that something moved, the journal tells what.

use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_core::Entry;

use super::Followed;
use crate::store::{HistoryQuery, ListWatch, Moved, StoreError, UNTOLD, Watch};
use crate::watching::WatchedDirectories;

/// What a writer kept us from recording is tried again after this, then after twice that, and so on.
const FIRST_TRY: Duration = Duration::from_millis(50);
/// A program that keeps us from recording something may do so for long, suspended say: then it is enough to try this
/// often.
const SLOWEST_TRY: Duration = Duration::from_secs(5);

/// While changes keep coming, looking at the files takes one part of the time and resting so many: what our own programs do is told from
/// the journal meanwhile, and many followers of a busy list leave its writers room to work.
const REST: u32 = 4;
/// However long a look took, the next one begins after this.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Watches a list of which the kernel tells that something moved.
struct JournalWatch<F> {
    followed: Arc<F>,
    watched: WatchedDirectories,
    /// When the files may be looked at again.
    rested: Instant,
    next_try: Duration,
}

/// Watches a list by the kernel: calls `moved` when something happens where it is kept.
pub fn watch<F: Followed + 'static>(followed: Arc<F>, moved: Moved) -> Box<dyn ListWatch> {
    let watched = WatchedDirectories::new(move || moved());
    Box::new(JournalWatch { followed, watched, rested: Instant::now(), next_try: FIRST_TRY })
}

impl<F: Followed> Watch for JournalWatch<F> {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        // Before looking, so that nothing can move between the look and the watching.
        let is_told = self.watched.keep_up(&self.followed.directories());
        let looking = Instant::now();
        let left_to_rest = self.rested.saturating_duration_since(looking);
        if !left_to_rest.is_zero() {
            return Ok(Some(left_to_rest));
        }
        let observed = self.followed.observe();
        self.rested = Instant::now() + (looking.elapsed() * REST).min(LONGEST_REST);
        if observed? {
            self.next_try = FIRST_TRY;
            return Ok((!is_told).then_some(UNTOLD));
        }
        // Where a writer kept us from recording something, nothing needs to move again before it can be recorded.
        let pause = self.next_try;
        self.next_try = (pause * 2).min(SLOWEST_TRY);
        Ok(Some(pause))
    }
}

impl<F: Followed> ListWatch for JournalWatch<F> {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.followed.entries(query)
    }
}
