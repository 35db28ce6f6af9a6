//! Watching a file-backed list, and how long this process has waited for locks of lists.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use taskyard_core::{Entry, ListId};

use crate::store::{HistoryQuery, ListWatch, Moved, StoreError, UNTOLD, Watch};
use crate::watching::WatchedDirectories;

/// A list whose files and journal can be watched.
pub trait Followed: Send + Sync {
    /// Returns the followed list.
    fn list(&self) -> &ListId;

    /// Returns the directories to watch for changes to the list.
    fn directories(&self) -> Vec<&Path>;

    /// Records changes by other programs, if they write to the list's files. Returns whether nothing is left to record.
    fn observe(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Returns a part of the journal without reading the files.
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;
}

/// Initial delay before retrying to record changes that a writer prevented us from recording; it doubles with each
/// retry.
const FIRST_TRY: Duration = Duration::from_millis(50);
/// Maximum retry delay: a program may prevent recording for long, for example if it is suspended.
const SLOWEST_TRY: Duration = Duration::from_secs(5);

/// The ratio of pause to work while changes keep coming. Changes by our own programs are delivered from the journal
/// meanwhile, and many followers of a busy list leave its writers time to work.
const REST: u32 = 4;
/// Maximum pause, however long reading took.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// A watch on a list based on kernel notifications.
struct JournalWatch<F> {
    followed: Arc<F>,
    watched: WatchedDirectories,
    /// When the files may be read again.
    rested: Instant,
    next_try: Duration,
}

/// Watches a list through kernel notifications, and calls `moved` when something happens in its directories.
pub fn watch<F: Followed + 'static>(followed: Arc<F>, moved: Moved) -> Box<dyn ListWatch> {
    let watched = WatchedDirectories::new(move || moved());
    Box::new(JournalWatch { followed, watched, rested: Instant::now(), next_try: FIRST_TRY })
}

impl<F: Followed> Watch for JournalWatch<F> {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        // Watch before reading, so that nothing is missed in between.
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
        // If a writer prevented recording, retry without waiting for another notification.
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

/// A watch on the directories in which lists are created and removed.
struct DirectoriesWatch<D> {
    directories: D,
    watched: WatchedDirectories,
}

/// Watches the directories that `directories` returns; their set may change over time.
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
            // Directories created while watching began must be watched too.
            if (self.directories)() == wanted {
                return Ok(None);
            }
        }
    }
}

static COUNT: AtomicU64 = AtomicU64::new(0);
static MICROSECONDS: AtomicU64 = AtomicU64::new(0);

/// Shorter waits do not count: no other program held the lock.
const NONE: Duration = Duration::from_micros(200);

/// How often and how long this process has waited for locks of lists since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaits {
    /// Number of waits.
    pub count: u64,
    /// Total time.
    pub time: Duration,
}

/// Returns the lock waits of this process so far.
pub fn lock_waits() -> LockWaits {
    LockWaits {
        count: COUNT.load(Ordering::Relaxed),
        time: Duration::from_micros(MICROSECONDS.load(Ordering::Relaxed)),
    }
}

/// Records a wait for a lock since the given time.
pub(crate) fn note_wait(since: Instant) {
    note_lock_wait(since.elapsed());
}

/// Records a wait for the lock of a list, for [`lock_waits`]. Waits shorter than 200 µs do not count.
pub fn note_lock_wait(waited: Duration) {
    if waited >= NONE {
        COUNT.fetch_add(1, Ordering::Relaxed);
        MICROSECONDS.fetch_add(u64::try_from(waited.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
