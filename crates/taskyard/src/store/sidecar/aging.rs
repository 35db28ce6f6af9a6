//! How old the entries of a journal are, counted in time that passed while they existed
//! (`taskyard_core::rules::history::elapsed`). The times that entries tell are only asked where nothing was recorded yet.

use std::time::Duration;

use taskyard_core::rules::history::elapsed::{Ages, ClockTrust, Elapsed};
use taskyard_core::{Revision, Timestamp};

use super::Journal;
use super::pace::Pace;
use crate::store::StoreError;

/// The fact that says how far the list went at which counts of the time, after the name of the count.
const AGES: &str = "ages";

/// How journals are tidied.
#[derive(Clone, Debug)]
pub(crate) struct TidyTerms {
    /// For how long everything is kept.
    pub(crate) keep: Duration,
    /// By which count of the time journals age.
    pub(crate) count: TimeCount,
    /// How large a journal may get before it is thinned out earlier.
    pub(crate) max_size: u64,
    /// How long it may take.
    pub(crate) pace: Pace,
}

impl TidyTerms {
    /// Returns the moment before which everything is old.
    pub(in crate::store) fn old_before(&self) -> Timestamp {
        self.count.elapsed.old_before(self.keep)
    }
}

/// The time that has passed for the lists of a data directory, by `docs/design/clocks.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeCount {
    /// The name of the count: records made by another one say nothing.
    pub(crate) name: String,
    /// The count, with the reading that was just taken.
    pub elapsed: Elapsed,
    /// How far the clock is believed.
    pub(crate) trust: ClockTrust,
}

impl TimeCount {
    /// Tells whether the clock is in doubt, so that nothing may go because it is old.
    pub fn is_doubted(&self) -> bool {
        self.elapsed.doubt.is_some()
    }
}

impl Journal {
    /// Records how far the list goes at this count of the time, so that it ages from now on whatever times its entries tell.
    pub(super) fn record_age(&self, terms: &TidyTerms) -> Result<(), StoreError> {
        let TimeCount { name, elapsed, trust } = &terms.count;
        if terms.count.is_doubted() {
            return Ok(());
        }
        let recorded = self.recorded_ages(name)?;
        let is_first = recorded.is_none();
        let mut ages = match recorded {
            Some(ages) => ages,
            None => Ages::by_times(&self.times_of_revisions()?, elapsed, terms.keep, *trust),
        };
        if ages.note(elapsed.counted, self.newest()?, terms.keep) || is_first {
            let transaction = self.begin_when(&terms.pace)?;
            self.set_fact(AGES, format!("{name} {ages}"))?;
            self.end(transaction)?;
        }
        Ok(())
    }

    /// Returns the revision up to which entries have existed for as long as everything is kept; 0 while the clock is in doubt.
    pub(super) fn old_until(&self, terms: &TidyTerms) -> Result<Revision, StoreError> {
        if terms.count.is_doubted() {
            return Ok(Revision(0));
        }
        let ages = self.recorded_ages(&terms.count.name)?.unwrap_or_default();
        Ok(ages.older_than(terms.count.elapsed.counted, terms.keep))
    }

    /// Returns what was recorded by the count of a name; none where nothing was.
    fn recorded_ages(&self, name: &str) -> Result<Option<Ages>, StoreError> {
        let fact = self.fact::<String>(AGES)?;
        let ages = fact.as_deref().and_then(|fact| fact.strip_prefix(name)?.strip_prefix(' '));
        Ok(ages.and_then(|ages| ages.parse().ok()))
    }

    fn times_of_revisions(&self) -> Result<Vec<(Revision, Timestamp)>, StoreError> {
        let sql = "SELECT id >> 24, at FROM entries ORDER BY id";
        self.rows(sql, [], |row| Ok((Revision(row.get::<_, i64>(0)?.unsigned_abs()), Timestamp(row.get(1)?))))
    }
}
