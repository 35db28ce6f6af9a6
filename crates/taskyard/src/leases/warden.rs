//! Watching over a list while a server, a watcher or a worker runs: its leases, and what stale writes took back.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use taskyard_core::Lease;

use super::alarm::{Alarm, AlarmHandle, Woken};
use crate::{Error, Yard};

/// How long after a failure the next attempt is made.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Records the return of tasks whose lease has ended, as soon as it has, and puts back what stale writes of other programs took back, until
/// it is dropped.
#[derive(Debug)]
pub struct Warden {
    alarm: AlarmHandle,
    thread: Option<JoinHandle<()>>,
}

/// Tells whether a lease is one that a warden guards.
type IsGuarded = Box<dyn Fn(&Lease) -> bool + Send>;

impl Warden {
    /// Begins to watch over a yard's list: whatever happens to it is looked at.
    pub fn over(yard: &Yard) -> Result<Self, Error> {
        Ok(Self::with(yard, Alarm::set(yard)?, None))
    }

    /// Begins to watch over a yard's list, which is followed only while there are leases that `is_guarded` tells of.
    ///
    /// While there are none, what other processes write costs nothing: the warden looks at their leases by the clock, and sooner when
    /// [`Self::look_again`] says so. A caller that gives a lease that is to be guarded calls it.
    pub fn guarding(yard: &Yard, is_guarded: impl Fn(&Lease) -> bool + Send + 'static) -> Result<Self, Error> {
        Ok(Self::with(yard, Alarm::by_the_clock()?, Some(Box::new(is_guarded))))
    }

    fn with(yard: &Yard, alarm: Alarm, is_guarded: Option<IsGuarded>) -> Self {
        let (handle, yard) = (alarm.handle(), yard.clone());
        let watching = move || watch(&yard, alarm, is_guarded.as_ref());
        let thread = thread::Builder::new().name("taskyard-leases".into()).spawn(watching);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "leases are not watched over")).ok();
        Self { alarm: handle, thread }
    }

    /// Has it look at the leases now: some may have been given or ended.
    pub fn look_again(&self) {
        self.alarm.look_again();
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.alarm.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(yard: &Yard, mut alarm: Alarm, is_guarded: Option<&IsGuarded>) {
    loop {
        // A warden is the first to see a stale write.
        yard.put_back_stale_writes();
        if let Err(error) = yard.return_ended_leases_seen() {
            tracing::warn!(%error, "leases that have ended are not recorded");
            thread::sleep(AFTER_A_FAILURE);
        }
        let followed = is_guarded.map_or(Ok(()), |is_guarded| follow_while_guarding(yard, &mut alarm, is_guarded));
        match followed.and_then(|()| alarm.wait(yard, None)) {
            Ok(Woken::LookAgain | Woken::TimedOut) => {}
            Ok(Woken::Stopped) => return,
            Err(error) => {
                tracing::warn!(%error, "leases are no longer watched over");
                return;
            }
        }
    }
}

fn follow_while_guarding(yard: &Yard, alarm: &mut Alarm, is_guarded: &IsGuarded) -> Result<(), Error> {
    // A list that is kept in memory costs nothing to follow, and a look at the store does.
    let is_in_memory = yard.store().recollect(yard.list_id()).is_some();
    if is_in_memory || yard.live_leases()?.iter().any(is_guarded) {
        return alarm.follow(yard);
    }
    alarm.follow_no_longer();
    Ok(())
}
