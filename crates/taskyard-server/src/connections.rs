//! The clients that are connected: so many and no more, and fewer still of those that have not proved yet that they may come in.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// So many connections there are at most: browsers keep one open for events.
const CONNECTIONS: usize = 4_096;
/// So many descriptors stay free for the list, its journal and the programs that calls start.
const DESCRIPTORS_KEPT: usize = 128;
/// A stranger that has begun to send its request has this long for the rest before another may take its place.
const GRACE: Duration = Duration::from_millis(100);
/// One that has sent nothing yet has this long to begin: its program may be waiting for the processor.
const SILENCE: Duration = Duration::from_millis(200);
/// A connection on which nothing is asked for this long may be ended for another. Sooner, its client may just be about to ask.
const IDLE: Duration = Duration::from_secs(1);

/// The connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<Open>,
    changed: Notify,
    most: usize,
    most_strangers: usize,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// By number, and so by age.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    standing: Standing,
    since: Instant,
    ends: Ends,
}

/// The ways in which a connection is ended for another.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// At once.
    at_once: CancellationToken,
    /// As soon as nothing is asked over it.
    when_idle: CancellationToken,
}

/// What a connection is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing has been sent over it.
    Silent,
    /// Something has, but no client has proved that it may come in.
    Stranger,
    /// A request is being answered.
    Busy,
    /// A stream is open on which its client hears of changes. It can be opened anew.
    Streaming,
    /// Nothing is asked.
    Idle,
}

impl Standing {
    fn is_of_stranger(self) -> bool {
        matches!(self, Self::Silent | Self::Stranger)
    }
}

/// A connection that counts until this is dropped, however many still know of it.
#[derive(Debug)]
pub(crate) struct Entered(Visit);

/// What is known of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    connections: Arc<Connections>,
    number: u64,
    ends: Ends,
}

impl Connections {
    /// Returns the connections of a server in a process that may open so many files.
    pub(crate) fn new(open_files: usize) -> Arc<Self> {
        let most = (open_files.saturating_sub(DESCRIPTORS_KEPT) * 3 / 4).clamp(8, CONNECTIONS);
        Arc::new(Self { open: Mutex::default(), changed: Notify::new(), most, most_strangers: most * 3 / 4 })
    }

    /// Takes up a connection. Where there are too many, one that will not be missed ends for it: the stranger that is slowest, else the
    /// client that has asked nothing for longest, else the oldest stream. Where all are at work, it waits.
    pub(crate) async fn enter(self: &Arc<Self>) -> Entered {
        loop {
            if let Some(entered) = self.enter_now() {
                return entered;
            }
            // Time passes, too, and makes room.
            let _ = tokio::time::timeout(GRACE / 4, self.changed.notified()).await;
        }
    }

    fn enter_now(self: &Arc<Self>) -> Option<Entered> {
        let mut open = self.open();
        let strangers = open.count(Standing::is_of_stranger);
        let is_full = open.connections.len() >= self.most;
        if is_full || strangers >= self.most_strangers {
            let slowest = open.oldest(Standing::Stranger, GRACE).or_else(|| open.oldest(Standing::Silent, SILENCE));
            let elsewhere = || open.oldest(Standing::Idle, IDLE).or_else(|| open.oldest(Standing::Streaming, IDLE));
            let victim = slowest.or_else(|| is_full.then(elsewhere).flatten())?;
            if let Some(ended) = open.connections.remove(&victim) {
                tracing::debug!(standing = ?ended.standing, "a connection ends for another");
                match ended.standing {
                    // Its next request may be on its way, and is answered.
                    Standing::Idle => ended.ends.when_idle.cancel(),
                    Standing::Silent | Standing::Stranger | Standing::Busy | Standing::Streaming => {
                        ended.ends.at_once.cancel();
                    }
                }
            }
        }
        let number = open.next;
        open.next += 1;
        let ends = Ends::default();
        let new = Connection { standing: Standing::Silent, since: Instant::now(), ends: ends.clone() };
        open.connections.insert(number, new);
        Some(Entered(Visit { connections: Arc::clone(self), number, ends }))
    }

    /// Waits until all connections have ended.
    pub(crate) async fn all_ended(&self) {
        while !self.open().connections.is_empty() {
            let _ = tokio::time::timeout(GRACE, self.changed.notified()).await;
        }
    }

    /// Tells whether so many are connected that each should leave after its answer.
    pub(crate) fn are_many(&self) -> bool {
        self.open().connections.len() >= self.most * 3 / 4
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn count(&self, counts: impl Fn(Standing) -> bool) -> usize {
        self.connections.values().filter(|connection| counts(connection.standing)).count()
    }

    /// Returns the connection that has been at something for longest, and at least for this long.
    fn oldest(&self, standing: Standing, least: Duration) -> Option<u64> {
        let of_standing = self.connections.iter().filter(|(_, connection)| connection.standing == standing);
        let oldest = of_standing.min_by_key(|(_, connection)| connection.since);
        oldest.filter(|(_, connection)| connection.since.elapsed() >= least).map(|(number, _)| *number)
    }
}

impl Visit {
    /// Says what the connection is at from now on.
    pub(crate) fn is_now(&self, standing: Standing) {
        let mut open = self.connections.open();
        if let Some(connection) = open.connections.get_mut(&self.number) {
            connection.standing = standing;
            connection.since = Instant::now();
        }
        drop(open);
        self.connections.changed.notify_one();
    }

    /// Tells whether no client has proved over it that it may come in.
    pub(crate) fn is_of_stranger(&self) -> bool {
        let open = self.connections.open();
        open.connections.get(&self.number).is_none_or(|connection| connection.standing.is_of_stranger())
    }

    /// Returns what says that it has to end at once, for another.
    pub(crate) fn end(&self) -> &CancellationToken {
        &self.ends.at_once
    }

    /// Returns what says that it has to end as soon as nothing is asked over it, for another.
    pub(crate) fn leave(&self) -> &CancellationToken {
        &self.ends.when_idle
    }

    /// Returns all connections.
    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }
}

impl Deref for Entered {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.0
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.connections.open().connections.remove(&self.number);
        self.connections.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Connections, GRACE, IDLE, Standing, Visit};

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    fn age(visit: &Visit, by: Duration) {
        let mut open = visit.connections.open();
        open.connections.get_mut(&visit.number).unwrap().since -= by;
    }

    #[test]
    fn the_slowest_stranger_makes_room_and_those_let_in_stay() {
        run(async {
            let connections = Connections::new(0);
            let mut known = Vec::new();
            for _ in 0..connections.most - connections.most_strangers {
                let visit = connections.enter().await;
                visit.is_now(Standing::Busy);
                known.push(visit);
            }
            let mut strangers = Vec::new();
            for _ in 0..connections.most_strangers {
                strangers.push(connections.enter().await);
            }
            assert!(connections.enter_now().is_none(), "all are busy or have just come");
            strangers[1].is_now(Standing::Stranger);
            [0, 1].into_iter().for_each(|number| age(&strangers[number], GRACE));
            let late = connections.enter().await;
            assert!(strangers[1].end().is_cancelled() && !late.end().is_cancelled());
            assert!(
                known.iter().chain(&strangers[2..]).chain(&strangers[..1]).all(|visit| !visit.end().is_cancelled())
            );
        });
    }

    #[test]
    fn an_idle_client_makes_room_before_a_stream_and_a_busy_one_never() {
        run(async {
            let connections = Connections::new(0);
            let mut visits = Vec::new();
            for _ in 0..connections.most {
                let visit = connections.enter().await;
                visit.is_now(Standing::Busy);
                age(&visit, IDLE);
                visits.push(visit);
            }
            assert!(connections.are_many() && connections.enter_now().is_none());
            visits[3].is_now(Standing::Streaming);
            visits[5].is_now(Standing::Idle);
            [3, 5].into_iter().for_each(|number| age(&visits[number], IDLE));
            let _new = connections.enter().await;
            assert!(visits[5].leave().is_cancelled() && !visits[3].end().is_cancelled());
            visits.truncate(5);
            let _more = [connections.enter().await, connections.enter().await];
            assert!(!visits[3].end().is_cancelled(), "there was room");
        });
    }
}
