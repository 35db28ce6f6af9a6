//! How long tidying may take, and how it makes way for processes that have something to do.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

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
