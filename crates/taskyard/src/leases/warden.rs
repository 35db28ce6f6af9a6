//! Watching over a list while a server, a watcher or a worker runs: its leases, and what stale writes took back.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::alarm::{Alarm, Woken};
use super::bell::Bell;
use crate::{Error, Yard};

/// How long after a failure the next attempt is made.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Records the return of tasks whose lease has ended, as soon as it has, and puts back what stale writes of other programs took back, until
/// it is dropped.
#[derive(Debug)]
pub struct Warden {
    bell: Bell,
    thread: Option<JoinHandle<()>>,
}

impl Warden {
    /// Begins to watch over the leases of a yard's list.
    pub fn over(yard: &Yard) -> Result<Self, Error> {
        let alarm = Alarm::set(yard)?;
        let bell = alarm.bell();
        let yard = yard.clone();
        let thread = thread::Builder::new().name("taskyard-leases".into()).spawn(move || watch(&yard, alarm));
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "leases are not watched over")).ok();
        Ok(Self { bell, thread })
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(yard: &Yard, mut alarm: Alarm) {
    loop {
        // Whoever watches is the first to see a stale write.
        yard.put_back_stale_writes();
        if let Err(error) = yard.return_ended_leases() {
            tracing::warn!(%error, "leases that have ended are not recorded");
            thread::sleep(AFTER_A_FAILURE);
        }
        match alarm.wait(yard, None) {
            Ok(Woken::LookAgain | Woken::TimedOut) => {}
            Ok(Woken::Stopped) => return,
            Err(error) => {
                tracing::warn!(%error, "leases are no longer watched over");
                return;
            }
        }
    }
}
