//! The clock of the server, as this process knows it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use taskyard::core::{Moment, Timestamp};

/// What tells the time by the server's clock, in milliseconds since 1970.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// How old what we know of the clock may be: a process that follows anything asks the server more often than this.
const FRESH: Duration = Duration::from_secs(30);
/// A step back of no more than this is our own inaccuracy, and does not show.
pub(crate) const JITTER: i64 = 2_000;

/// The clock of the server. What it said last is counted on from by a clock of this machine that cannot be set.
#[derive(Debug, Default)]
pub(crate) struct ServerClock {
    observed: Mutex<Option<Observed>>,
    /// Whether the server's clock was set back, and nothing has been done about that yet.
    is_set_back: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct Observed {
    wall: i64,
    here: Duration,
    /// The latest that was told.
    told: i64,
}

impl ServerClock {
    /// Learns what the server's clock says now.
    pub(crate) fn observe(&self, wall: i64) {
        let (mut observed, here) = (self.observed(), own_clock());
        if observed.is_some_and(|earlier| earlier.at(here) - wall > JITTER) {
            self.note_set_back();
        }
        let told = observed.map_or(wall, |earlier| earlier.told);
        let told = if told - wall > JITTER { wall } else { told };
        *observed = Some(Observed { wall, here, told });
    }

    /// Takes note that the server's clock was set back, or that what had to be done about that was not.
    pub(crate) fn note_set_back(&self) {
        self.is_set_back.store(true, Ordering::SeqCst);
    }

    /// Tells whether the server's clock was set back since this was last asked.
    pub(crate) fn take_set_back(&self) -> bool {
        self.is_set_back.swap(false, Ordering::SeqCst)
    }

    fn observed(&self) -> MutexGuard<'_, Option<Observed>> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the moment it is on the server; none where that was last heard too long ago.
    pub(crate) fn now(&self) -> Option<Moment> {
        let mut observed = self.observed();
        let known = observed.as_mut()?;
        let here = own_clock();
        here.checked_sub(known.here).filter(|since| *since < FRESH)?;
        Some(known.tell(here))
    }

    /// Returns the moment it is on the server, however long ago that was last heard: within a transaction the server waits no longer.
    pub(crate) fn now_in_transaction(&self) -> Moment {
        let mut observed = self.observed();
        let here = own_clock();
        observed.get_or_insert(Observed { wall: 0, here, told: 0 }).tell(here)
    }
}

impl Observed {
    /// Returns what the server's clock says at a time by the clock of this machine.
    fn at(&self, here: Duration) -> i64 {
        let since = here.saturating_sub(self.here).as_millis();
        self.wall.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }

    fn tell(&mut self, here: Duration) -> Moment {
        self.told = self.told.max(self.at(here));
        moment(self.told)
    }
}

/// Returns a moment of the server's clock. There is one clock, and it counts for every process, whatever machine the server runs on.
pub(crate) fn moment(wall: i64) -> Moment {
    Moment { wall: Timestamp(wall), boot: "server".to_owned(), since_boot: wall }
}

/// Returns the time by a clock that also counts while the machine sleeps.
pub(crate) fn own_clock() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::ServerClock;

    #[test]
    fn it_goes_on_from_what_the_server_said_and_not_back_by_a_little() {
        let clock = ServerClock::default();
        assert!(clock.now().is_none());
        clock.observe(1_000_000);
        let first = clock.now().unwrap();
        assert!((1_000_000..1_001_000).contains(&first.wall.0));
        clock.observe(first.wall.0 - 5);
        assert!(clock.now().unwrap().wall >= first.wall);
    }

    #[test]
    fn a_server_whose_clock_is_far_behind_is_believed() {
        let clock = ServerClock::default();
        clock.observe(1_000_000);
        clock.now();
        assert!(!clock.take_set_back());
        clock.observe(900_000);
        assert!(clock.now().unwrap().wall.0 < 901_000);
        assert!(clock.take_set_back() && !clock.take_set_back());
        clock.observe(900_000);
        assert!(!clock.take_set_back(), "it was not set back once more");
    }
}
