//! How long tidying may take, and how it leaves writers their turns.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

/// Transactions of tidying last little longer than this, because writers wait for them.
const LONGEST_STEP: Duration = Duration::from_millis(5);
/// Longer than any tidying takes.
const NEVER_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// How long tidying may take.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    until: Option<Instant>,
    /// Whether to rest after each step.
    rests: bool,
    /// When the current step began.
    began: Cell<Instant>,
}

impl Pace {
    /// Continues until everything is done. After each step it rests as long as the step took, so that writers get half
    /// of the time.
    pub(crate) fn unhurried() -> Self {
        Self { until: None, rests: true, began: Cell::new(Instant::now()) }
    }

    /// Continues until everything is done, without resting. For small amounts of work.
    pub(in crate::store) fn straight_on() -> Self {
        Self { rests: false, ..Self::unhurried() }
    }

    /// Ends after `time`, and never waits for a lock.
    pub(crate) fn at_most(time: Duration) -> Self {
        let began = Instant::now();
        // A test that plans steps must not depend on how long they take.
        let time = if planned_step().is_some() { NEVER_OVER } else { time };
        Self { until: Some(began + time), rests: false, began: Cell::new(began) }
    }

    /// Returns whether time is up.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Returns whether at least `time` is left, for work that cannot be split.
    pub(in crate::store) fn has_left(&self, time: Duration) -> bool {
        self.until.is_none_or(|until| Instant::now() + time < until)
    }

    /// Returns whether there is a time limit.
    pub(in crate::store) fn is_short(&self) -> bool {
        self.until.is_some()
    }

    /// Begins a step, that is, a transaction.
    pub(in crate::store) fn begin_step(&self) {
        self.began.set(Instant::now());
    }

    /// Returns whether the step has lasted long enough.
    pub(in crate::store) fn step_is_over(&self) -> bool {
        self.began.get().elapsed() >= planned_step().unwrap_or(LONGEST_STEP) || self.is_over()
    }

    /// Rests after a step, so that writers get their chance.
    pub(in crate::store) fn rest(&self) {
        if self.rests {
            thread::sleep(self.began.get().elapsed().min(4 * LONGEST_STEP));
        }
        self.begin_step();
    }
}

/// Returns how long a step may last according to the plan of a test.
#[cfg(feature = "failpoints")]
fn planned_step() -> Option<Duration> {
    crate::failpoint::longest_step()
}

#[cfg(not(feature = "failpoints"))]
fn planned_step() -> Option<Duration> {
    None
}
