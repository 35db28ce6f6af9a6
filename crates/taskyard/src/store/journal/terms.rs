//! The terms of tidying: how old entries are, how long they are kept, and how long the tidying may take.
//!
//! Age is counted in time that passed while the entries existed (`taskyard_core::rules::history::elapsed`). The times that entries tell are
//! only asked if nothing was recorded yet.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::rules::history::elapsed::{Ages, ClockTrust, Elapsed};
use taskyard_core::{Revision, Timestamp};

use super::Journal;
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

/// No transaction of a tidying lasts much longer than this: writers wait for it.
const LONGEST_STEP: Duration = Duration::from_millis(5);
/// Longer than any tidying takes.
const NEVER_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a tidying may go on.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    until: Option<Instant>,
    /// Whether it rests after each step.
    rests: bool,
    /// When the step under way began.
    began: Cell<Instant>,
}

impl Pace {
    /// Goes on until everything is done. After each step it rests as long as the step took, so that writers get half of the time.
    pub(crate) fn unhurried() -> Self {
        Self { until: None, rests: true, began: Cell::new(Instant::now()) }
    }

    /// Goes on until everything is done, without a rest: for little work.
    pub(in crate::store) fn straight_on() -> Self {
        Self { rests: false, ..Self::unhurried() }
    }

    /// Ends after so long, and waits for no lock.
    pub(crate) fn at_most(time: Duration) -> Self {
        let began = Instant::now();
        // What is planned by steps does not depend on how long they take.
        let time = if planned_step().is_some() { NEVER_OVER } else { time };
        Self { until: Some(began + time), rests: false, began: Cell::new(began) }
    }

    /// Tells whether the time has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Tells whether there is enough time left for something that cannot be done in part.
    pub(in crate::store) fn has_left(&self, time: Duration) -> bool {
        self.until.is_none_or(|until| Instant::now() + time < until)
    }

    /// Tells whether it ends after some time, whatever is left to do.
    pub(in crate::store) fn is_short(&self) -> bool {
        self.until.is_some()
    }

    /// Begins a step: a transaction.
    pub(in crate::store) fn begin_step(&self) {
        self.began.set(Instant::now());
    }

    /// Tells whether the step has lasted long enough.
    pub(in crate::store) fn step_is_over(&self) -> bool {
        self.began.get().elapsed() >= planned_step().unwrap_or(LONGEST_STEP) || self.is_over()
    }

    /// Makes way after a step.
    pub(in crate::store) fn rest(&self) {
        if self.rests {
            thread::sleep(self.began.get().elapsed().min(4 * LONGEST_STEP));
        }
        self.begin_step();
    }
}

/// Returns how long the plan of a test lets a step last.
#[cfg(feature = "failpoints")]
fn planned_step() -> Option<Duration> {
    crate::failpoint::longest_step()
}

#[cfg(not(feature = "failpoints"))]
fn planned_step() -> Option<Duration> {
    None
}
