//! Tidying by whoever runs for long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Household, tidy_a_little};

/// When a server first looks whether something is to be tidied, and how often from then on.
const FIRST_LOOK: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
/// For how long a server tidies at a time.
const AT_MOST: Duration = Duration::from_secs(2);

/// Tidies now and then in a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Caretaker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Caretaker {
    /// Begins to take care; without a thread to be had nobody does.
    pub fn of(household: Household) -> Self {
        Self::looking(household, FIRST_LOOK, LOOK_EVERY)
    }

    /// Begins to take care, and looks after so long and then so often.
    pub fn looking(household: Household, first: Duration, every: Duration) -> Self {
        let (stop, stopped) = channel::<()>();
        let care = move || {
            let mut pause = first;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                tidy_a_little(&household, AT_MOST, || {});
                pause = every;
            }
        };
        let thread = thread::Builder::new().name("taskyard-caretaker".to_owned()).spawn(care).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Caretaker {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It ends within the time that it tidies at most; whoever leaves does not wait for that.
        drop(self.thread.take());
    }
}
