//! Waiting for lists: how long this process has, and for a turn within a time that the caller sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::StoreError;

static COUNT: AtomicU64 = AtomicU64::new(0);
static MICROSECONDS: AtomicU64 = AtomicU64::new(0);

/// A wait that is shorter than this is none: no rival held the lock.
const NONE: Duration = Duration::from_micros(200);

/// How often and for how long this process has waited for the locks of lists since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaits {
    /// How often.
    pub count: u64,
    /// For how long in all.
    pub time: Duration,
}

/// Returns how often and for how long this process has waited for the locks of lists.
pub fn lock_waits() -> LockWaits {
    LockWaits {
        count: COUNT.load(Ordering::Relaxed),
        time: Duration::from_micros(MICROSECONDS.load(Ordering::Relaxed)),
    }
}

/// Notes that a process waited for a lock since then.
pub(crate) fn note_wait(since: Instant) {
    note_lock_wait(since.elapsed());
}

/// Notes how long this process waited for the lock of a list, for [`lock_waits`]. A wait of less than 200 µs does not count.
pub fn note_lock_wait(waited: Duration) {
    if waited >= NONE {
        COUNT.fetch_add(1, Ordering::Relaxed);
        MICROSECONDS.fetch_add(u64::try_from(waited.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// How long after finding a list busy it is tried again.
const A_MOMENT: Duration = Duration::from_millis(5);

/// Tries until there is a turn, or the time is over: then it fails as `busy` says of the time that was waited.
pub(in crate::store) fn wait_for_turn<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
    busy: impl FnOnce(Duration) -> StoreError,
) -> Result<T, StoreError> {
    let started = Instant::now();
    loop {
        if let Some(turn) = attempt()? {
            return Ok(turn);
        }
        let waited = started.elapsed();
        if waited >= patience {
            return Err(busy(waited));
        }
        thread::sleep(A_MOMENT.min(patience - waited));
    }
}
