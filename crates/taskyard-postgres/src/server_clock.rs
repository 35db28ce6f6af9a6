//! The clock of the server, as this process knows it.

use std::sync::{Mutex, PoisonError};
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
pub(crate) struct ServerClock(Mutex<Option<Observed>>);

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
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = observed.map_or(wall, |earlier| earlier.told);
        let told = if told - wall > JITTER { wall } else { told };
        *observed = Some(Observed { wall, here: own_clock(), told });
    }

    /// Returns the moment it is on the server; none where that was last heard too long ago.
    pub(crate) fn now(&self) -> Option<Moment> {
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = observed.as_mut()?;
        let since = own_clock().checked_sub(known.here).filter(|since| *since < FRESH)?;
        Some(known.tell(since))
    }

    /// Returns the moment it is on the server, however long ago that was last heard: within a transaction the server waits no longer.
    pub(crate) fn now_in_transaction(&self) -> Moment {
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = own_clock();
        let known = observed.get_or_insert(Observed { wall: 0, here: now, told: 0 });
        let since = now.saturating_sub(known.here);
        known.tell(since)
    }
}

impl Observed {
    fn tell(&mut self, since: Duration) -> Moment {
        let now = self.wall.saturating_add(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        self.told = self.told.max(now);
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
        clock.observe(900_000);
        assert!(clock.now().unwrap().wall.0 < 901_000);
    }
}
