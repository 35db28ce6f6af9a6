//! Following a list whose journal is a database of ours, whatever its files are: the kernel tells that something moved, the journal tells what.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_core::{Entry, ListId};

use crate::store::{HistoryQuery, ListWatch, Moved, StoreError, UNTOLD, Watch};
use crate::watching::WatchedDirectories;

/// A list whose files and journal can be looked at again and again.
pub trait Followed: Send + Sync {
    /// Returns the list.
    fn list(&self) -> &ListId;

    /// Returns the directories in which something moves when the list changes.
    fn directories(&self) -> Vec<&Path>;

    /// Records what other programs did, where other programs write to the list's files. Returns whether nothing is left to record.
    fn observe(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Returns a part of the journal as it is, without looking at the files.
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;
}

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

/// Watches the directories in which lists come and go.
struct DirectoriesWatch<D> {
    directories: D,
    watched: WatchedDirectories,
}

/// Watches directories by the kernel: those that `directories` returns, which are others when some came and went.
pub(crate) fn watch_directories(
    directories: impl Fn() -> Vec<PathBuf> + Send + 'static,
    moved: Moved,
) -> Box<dyn Watch> {
    Box::new(DirectoriesWatch { directories, watched: WatchedDirectories::new(move || moved()) })
}

impl<D: Fn() -> Vec<PathBuf> + Send> Watch for DirectoriesWatch<D> {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        loop {
            let wanted = (self.directories)();
            let paths: Vec<&Path> = wanted.iter().map(PathBuf::as_path).collect();
            if !self.watched.keep_up(&paths) {
                return Ok(Some(UNTOLD));
            }
            // What comes while the watching begins is watched, too.
            if (self.directories)() == wanted {
                return Ok(None);
            }
        }
    }
}
