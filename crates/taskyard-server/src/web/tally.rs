//! Counters of a server, for the metrics.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use taskyard::core::{Event, Revision, Timestamp};

/// Maximum number of keys per counter.
const KEYS: usize = 16_000;
/// Histogram bounds of the time between a commit and its event, in seconds.
pub(super) const LAGS: [f64; 7] = [0.005, 0.02, 0.05, 0.1, 0.3, 1.0, 10.0];

#[derive(Debug, Default)]
pub(crate) struct Tally {
    counted: Mutex<Counted>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Answers by operation and status.
    pub(super) answers: BTreeMap<(&'static str, u16), u64>,
    /// Refused requests by the code of the refusal.
    pub(super) refused: BTreeMap<&'static str, u64>,
    /// The newest counted commit of each list, since two readers may announce the same one.
    newest: HashMap<String, Revision>,
    /// Journal entries on followed lists, by list and operation.
    pub(super) entries: BTreeMap<(String, &'static str), u64>,
    /// Histogram of commits by the delay of their events.
    pub(super) lags: [u64; LAGS.len()],
    /// The sum of the delays in seconds.
    pub(super) lag_sum: f64,
    /// The number of events.
    pub(super) lag_count: u64,
}

impl Tally {
    pub(crate) fn note_answer(&self, operation: &'static str, status: StatusCode) {
        *self.lock().answers.entry((operation, status.as_u16())).or_default() += 1;
    }

    pub(crate) fn note_refused(&self, code: &'static str) {
        *self.lock().refused.entry(code).or_default() += 1;
    }

    /// Counts a commit whose event is sent now.
    pub(crate) fn note_commit(&self, event: &Event, now: Timestamp) {
        let mut counted = self.lock();
        let list = event.list.as_str();
        let newest = counted.newest.get(list).copied();
        if newest.is_some_and(|newest| event.revision <= newest) {
            return;
        }
        // A store may have any number of lists.
        if newest.is_some() || counted.newest.len() < KEYS {
            counted.newest.insert(list.to_owned(), event.revision);
        }
        for entry in &event.entries {
            let key = (event.list.as_str().to_owned(), entry.op.as_str());
            if counted.entries.len() < KEYS || counted.entries.contains_key(&key) {
                *counted.entries.entry(key).or_default() += 1;
            }
        }
        let Some(first) = event.entries.first() else { return };
        let lag = Duration::from_millis(u64::try_from(now.0 - first.at.0).unwrap_or_default()).as_secs_f64();
        counted.lag_sum += lag;
        counted.lag_count += 1;
        LAGS.iter().enumerate().filter(|(_, bound)| lag <= **bound).for_each(|(at, _)| counted.lags[at] += 1);
    }

    pub(super) fn counted(&self) -> Counted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
