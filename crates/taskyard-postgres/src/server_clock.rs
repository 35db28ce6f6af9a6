//! The server's clock, and the epoch of the database that an answer belongs to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use taskyard::core::{Moment, Revision, Timestamp, Token};
use tokio_postgres::Row;

use crate::connecting::Failure;
use crate::schema::VERSION;
use crate::versions::Versions;

/// SQL for the server's time, in milliseconds since 1970.
pub(crate) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// How long an observed time stays usable. A process that follows anything asks the server more often than this.
const FRESH: Duration = Duration::from_secs(30);
/// A step back of up to this many milliseconds is our own inaccuracy and is hidden.
pub(crate) const JITTER: i64 = 2_000;

/// The server's clock, extrapolated from the last observation with a local clock that cannot be set.
#[derive(Debug, Default)]
pub(crate) struct ServerClock {
    observed: Mutex<Option<Observed>>,
    /// Whether the server's clock was set back and that has not been handled yet.
    is_set_back: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct Observed {
    wall: i64,
    here: Duration,
    /// The latest time returned to a caller.
    told: i64,
}

impl ServerClock {
    /// Records the server's current time.
    pub(crate) fn observe(&self, wall: i64) {
        let (mut observed, here) = (self.observed(), own_clock());
        if observed.is_some_and(|earlier| earlier.at(here) - wall > JITTER) {
            self.note_set_back();
        }
        let told = observed.map_or(wall, |earlier| earlier.told);
        let told = if told - wall > JITTER { wall } else { told };
        *observed = Some(Observed { wall, here, told });
    }

    /// Records that the server's clock was set back, or that handling that has failed.
    pub(crate) fn note_set_back(&self) {
        self.is_set_back.store(true, Ordering::SeqCst);
    }

    /// Returns whether the server's clock was set back since the last call.
    pub(crate) fn take_set_back(&self) -> bool {
        self.is_set_back.swap(false, Ordering::SeqCst)
    }

    fn observed(&self) -> MutexGuard<'_, Option<Observed>> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the server's current time, or `None` if it was last observed too long ago.
    pub(crate) fn now(&self) -> Option<Moment> {
        let mut observed = self.observed();
        let known = observed.as_mut()?;
        let here = own_clock();
        here.checked_sub(known.here).filter(|since| *since < FRESH)?;
        Some(known.tell(here))
    }

    /// Returns the server's current time, however old the observation. For use within a transaction, whose length the
    /// server limits.
    pub(crate) fn now_in_transaction(&self) -> Moment {
        let mut observed = self.observed();
        let here = own_clock();
        observed.get_or_insert(Observed { wall: 0, here, told: 0 }).tell(here)
    }
}

impl Observed {
    /// Returns the server's time at a local time.
    fn at(&self, here: Duration) -> i64 {
        let since = here.saturating_sub(self.here).as_millis();
        self.wall.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }

    fn tell(&mut self, here: Duration) -> Moment {
        self.told = self.told.max(self.at(here));
        moment(self.told)
    }
}

/// Returns a moment of the server's clock. All processes share that clock, whichever machine the server runs on.
pub(crate) fn moment(wall: i64) -> Moment {
    Moment { wall: Timestamp(wall), boot: "server".to_owned(), since_boot: wall }
}

/// Returns the local time of a clock that also counts while the machine sleeps.
pub(crate) fn own_clock() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// SQL for the timeline of a primary. The name of the WAL file being written begins with it, and every role may query
/// that. (`pg_control_checkpoint()` returns the timeline of the last checkpoint, which for a while after a promotion
/// is the old one.)
pub(crate) const TIMELINE: &str = "CASE WHEN pg_is_in_recovery() THEN NULL
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END";

/// Fencing tokens start from a time in milliseconds multiplied by this.
const TOKENS_PER_MILLISECOND: u64 = 10;

/// One history of the database. A restore or a failover begins a new one.
#[derive(Clone, Debug)]
pub(crate) struct Epoch {
    id: String,
    /// The server's timeline; `None` for a standby or a server that does not report it.
    timeline: Option<i64>,
}

/// The result of the query that ends every transaction.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// The epoch that the whole answer belongs to.
    pub(crate) epoch: Epoch,
    /// Higher than every token that earlier epochs may have issued.
    pub(crate) least_token: Token,
    /// The server's time.
    pub(crate) now: i64,
    /// Whether the server is a standby.
    pub(crate) is_standby: bool,
    /// Whether the server's timeline differs from the one on which the epoch began.
    pub(crate) is_outdated: bool,
    /// The counts of data that seldom changes; `None` if unavailable.
    pub(crate) versions: Option<Versions>,
}

/// Proof that the database lost commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) list: String,
    /// The revision that this process knew.
    pub(crate) known: Revision,
    /// The lower revision found in the database.
    pub(crate) found: Revision,
}

impl Epoch {
    #[cfg(test)]
    pub(crate) fn named(id: &str) -> Self {
        Self { id: id.to_owned(), timeline: None }
    }

    /// Returns whether both are the same history. An unknown timeline matches any.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let is_other_timeline = self.timeline.zip(other.timeline).is_some_and(|(one, two)| one != two);
        self.id == other.id && !is_other_timeline
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Stamp {
    /// Returns the query for the stamp. If the tables have another version, or the row with their version is missing,
    /// it divides by zero, which aborts the transaction before anything is committed.
    pub(crate) fn question(asks_timeline: bool) -> String {
        let server =
            if asks_timeline { format!("pg_is_in_recovery(), {TIMELINE}") } else { "false, NULL::bigint".into() };
        format!(
            "SELECT 1 / (coalesce(version, 0) = {VERSION})::int, {NOW}, epoch, epoch_began, timeline, {server}, {}
            FROM (VALUES (true)) AS always LEFT JOIN @.yard ON true",
            Versions::QUESTION
        )
    }

    /// Reads the result.
    pub(crate) fn read(row: &Row) -> Result<Self, Failure> {
        let (began, of_epoch): (i64, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
        let timeline: Option<i64> = row.try_get(6)?;
        let epoch = Epoch { id: row.try_get(2)?, timeline };
        Ok(Self {
            versions: Versions::new(&epoch.id, row.try_get(7)?),
            epoch,
            least_token: Token(began.unsigned_abs().saturating_mul(TOKENS_PER_MILLISECOND)),
            now: row.try_get(1)?,
            is_standby: row.try_get(5)?,
            is_outdated: timeline.is_some() && timeline != of_epoch,
        })
    }

    /// Returns the token from which a list continues, given the last one in its row. A list without any takes its
    /// first from the clock.
    pub(crate) fn last_token(&self, in_row: Token) -> Token {
        if in_row == Token(0) { in_row } else { in_row.max(self.least_token) }
    }
}

#[cfg(test)]
mod tests {
    use super::ServerClock;

    #[test]
    fn continuation_uses_server_position_exactly() {
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

#[cfg(test)]
mod epoch_tests {
    use super::Epoch;

    #[test]
    fn epochs_differ_by_id_or_known_timeline() {
        let epoch = |id: &str, timeline| Epoch { id: id.to_owned(), timeline };
        let first = epoch("a", Some(1));
        assert!(first.is(&epoch("a", Some(1))) && first.is(&epoch("a", None)) && epoch("a", None).is(&first));
        assert!(!first.is(&epoch("a", Some(2))) && !first.is(&epoch("b", Some(1))) && !first.is(&epoch("b", None)));
    }
}
