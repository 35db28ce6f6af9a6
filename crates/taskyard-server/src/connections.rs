//! The open connections of a server: limits on their number, with a lower one for clients that have not
//! authenticated.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Maximum number of connections. Browsers keep one open for events.
const CONNECTIONS: usize = 4_096;
/// File descriptors reserved for the list, its journal and the programs that calls start.
const DESCRIPTORS_KEPT: usize = 128;
/// An unauthenticated client that has begun its request may be evicted after this time.
const GRACE: Duration = Duration::from_millis(100);
/// A client that has sent nothing yet may be evicted after this time; its program may be waiting for the CPU.
const SILENCE: Duration = Duration::from_millis(200);
/// A connection that has been idle for this long may be evicted. Sooner, its client may be about to send a request.
const IDLE: Duration = Duration::from_secs(1);

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
    /// Keyed by a rising number, so ordered by age.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    standing: Standing,
    since: Instant,
    ends: Ends,
}

/// How a connection is evicted.
#[derive(Clone, Debug, Default)]
struct Ends {
    at_once: CancellationToken,
    /// As soon as no request is in progress.
    when_idle: CancellationToken,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The client has not sent anything.
    Silent,
    /// The client has begun to send, but has not authenticated.
    Stranger,
    /// A request is being answered.
    Busy,
    /// An event stream is open. The client can reopen it.
    Streaming,
    /// No request is in progress.
    Idle,
}

impl Standing {
    fn is_of_stranger(self) -> bool {
        matches!(self, Self::Silent | Self::Stranger)
    }
}

/// A slot for a connection, released on drop even if clones of its [`Visit`] remain.
#[derive(Debug)]
pub(crate) struct Entered(Visit);

/// A handle to one connection.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    connections: Arc<Connections>,
    number: u64,
    ends: Ends,
}

impl Connections {
    /// Returns the connection limits of a process that may open this many files.
    pub(crate) fn new(open_files: usize) -> Arc<Self> {
        let most = (open_files.saturating_sub(DESCRIPTORS_KEPT) * 3 / 4).clamp(8, CONNECTIONS);
        Arc::new(Self { open: Mutex::default(), changed: Notify::new(), most, most_strangers: most * 3 / 4 })
    }

    /// Waits for a slot. If all are taken, evicts the connection that will be missed least: the slowest
    /// unauthenticated client, otherwise the client idle for longest, otherwise the oldest stream. If all are busy,
    /// waits.
    pub(crate) async fn enter(self: &Arc<Self>) -> Entered {
        loop {
            if let Some(entered) = self.enter_now() {
                return entered;
            }
            // Connections also become evictable with time.
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
                    // Its next request may be on its way, and is still answered.
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

    /// Waits until all connections are closed.
    pub(crate) async fn all_ended(&self) {
        while !self.open().connections.is_empty() {
            let _ = tokio::time::timeout(GRACE, self.changed.notified()).await;
        }
    }

    /// Returns whether there are so many connections that each should close after its answer.
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

    /// Returns the connection that has been in a state for longest, if that is at least `least`.
    fn oldest(&self, standing: Standing, least: Duration) -> Option<u64> {
        let of_standing = self.connections.iter().filter(|(_, connection)| connection.standing == standing);
        let oldest = of_standing.min_by_key(|(_, connection)| connection.since);
        oldest.filter(|(_, connection)| connection.since.elapsed() >= least).map(|(number, _)| *number)
    }
}

impl Visit {
    /// Sets the state of the connection.
    pub(crate) fn is_now(&self, standing: Standing) {
        let mut open = self.connections.open();
        if let Some(connection) = open.connections.get_mut(&self.number) {
            connection.standing = standing;
            connection.since = Instant::now();
        }
        drop(open);
        self.connections.changed.notify_one();
    }

    /// Returns whether no client has authenticated on this connection.
    pub(crate) fn is_of_stranger(&self) -> bool {
        let open = self.connections.open();
        open.connections.get(&self.number).is_none_or(|connection| connection.standing.is_of_stranger())
    }

    /// Returns the token that is cancelled when the connection must close immediately.
    pub(crate) fn end(&self) -> &CancellationToken {
        &self.ends.at_once
    }

    /// Returns the token that is cancelled when the connection must close as soon as no request is in progress.
    pub(crate) fn leave(&self) -> &CancellationToken {
        &self.ends.when_idle
    }

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
    fn idle_client_makes_room_for_a_stream_and_busy_one_never() {
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
