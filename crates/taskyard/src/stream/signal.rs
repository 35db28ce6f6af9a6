//! Waking the thread that waits for a stream.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Wakes the thread that waits.
#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<Asked>,
    changed: Condvar,
    /// Is called besides, for a caller that waits for other things, too.
    wake: Option<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    is_rung: bool,
    is_stopped: bool,
}

impl Signal {
    pub(super) fn waking(wake: Option<Box<dyn Fn() + Send + Sync>>) -> Self {
        Self { wake, ..Self::default() }
    }

    /// Has the waiting thread look again.
    pub(super) fn ring(&self) {
        let was_rung = std::mem::replace(&mut self.state().is_rung, true);
        if !was_rung {
            self.changed.notify_all();
            self.wake.iter().for_each(|wake| wake());
        }
    }

    /// Has the waiting thread stop, for good.
    pub(super) fn stop(&self) {
        self.state().is_stopped = true;
        self.changed.notify_all();
        self.wake.iter().for_each(|wake| wake());
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Takes note that the waiting thread is about to look: what moves from here on rings again.
    pub(super) fn is_looked_after(&self) {
        self.state().is_rung = false;
    }

    /// Waits until a caller rings or stops it, or it is time.
    pub(super) fn wait(&self, until: Option<Instant>) {
        let mut state = self.state();
        while !state.is_rung && !state.is_stopped {
            let Some(until) = until else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, Asked> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state().fmt(formatter)
    }
}
