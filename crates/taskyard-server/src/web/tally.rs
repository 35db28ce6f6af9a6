//! What a server has counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use taskyard::core::{Event, Revision, Timestamp};

/// Number of lists, and of lists with each thing that can be done, that are counted.
const KEYS: usize = 16_000;
/// The bounds of the times between a commit and the event that tells of it, in seconds.
pub(super) const LAGS: [f64; 7] = [0.005, 0.02, 0.05, 0.1, 0.3, 1.0, 10.0];

/// What a server has counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counted: Mutex<Counted>,
}

/// The numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Answers, by operation and status.
    pub(super) answers: BTreeMap<(&'static str, u16), u64>,
    /// Requests that were not let in, by the code of the refusal.
    pub(super) refused: BTreeMap<&'static str, u64>,
    /// The newest commit that was counted, by list: two readers may tell of the same one.
    newest: HashMap<String, Revision>,
    /// Entries of commits on lists that are followed, by list and what was done.
    pub(super) entries: BTreeMap<(String, &'static str), u64>,
    /// Commits whose events came within each of the bounds.
    pub(super) lags: [u64; LAGS.len()],
    /// How long the events took in all, in seconds.
    pub(super) lag_sum: f64,
    /// How many events that is.
    pub(super) lag_count: u64,
}

impl Tally {
    /// Counts an answer.
    pub(crate) fn note_answer(&self, operation: &'static str, status: StatusCode) {
        *self.lock().answers.entry((operation, status.as_u16())).or_default() += 1;
    }

    /// Counts a request that was not let in.
    pub(crate) fn note_refused(&self, code: &'static str) {
        *self.lock().refused.entry(code).or_default() += 1;
    }

    /// Counts a commit that is told of now.
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

    /// Returns the numbers as they are now.
    pub(super) fn counted(&self) -> Counted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
