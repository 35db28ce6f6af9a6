//! Waiting for a turn at a list for a time that the caller sets.

use std::thread;
use std::time::{Duration, Instant};

use super::StoreError;

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
