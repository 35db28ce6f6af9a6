//! Notifications: one listening connection per process serves all followers.
//!
//! A notification is only a hint. It may be lost, and some poolers deliver none. So the process also polls, with one
//! query for all followers: infrequently while notifications are known to arrive, otherwise every second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use taskyard::core::{AttemptId, Revision};
use taskyard::store::{Moved, StoreError};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Client;

use crate::connecting::failure::{Notification, sending};
use crate::connecting::{Failure, FailureKind, NotificationSender, Pool, Statement, reach};
use crate::schema::SchemaName;
use crate::versions::Versions;

/// Polling interval while notifications arrive. Not shorter than the heartbeat interval, since heartbeats poll as
/// well.
const RARELY: Duration = Duration::from_secs(20);
/// Polling interval while they do not arrive.
const OFTEN: Duration = Duration::from_secs(1);
/// Timeout of a query on the listening connection.
const ANSWER: Duration = Duration::from_secs(10);
/// How long to wait before reconnecting.
const RECONNECT: Duration = Duration::from_millis(500);

/// A follower of something. Its methods run on the listening thread and must not query the database.
pub(crate) trait Follower: Send + Sync {
    /// Handles a notification on its channel.
    fn hear(&self, payload: &str);

    /// Returns the number of the list it follows, so that the poll includes that list.
    fn list(&self) -> Option<i64>;

    /// Handles the result of a poll. Returns true if it shows a change for which no notification has arrived.
    fn compare(&self, polled: &Polled) -> bool;

    /// Returns whether the poll covers this follower. One that polls by itself is only called if a notification may
    /// have been missed.
    fn is_asked_for(&self) -> bool {
        true
    }
}

/// A follower that polls by itself.
struct LookingFollower(Moved);

impl Follower for LookingFollower {
    fn hear(&self, _payload: &str) {
        (self.0)();
    }

    fn list(&self) -> Option<i64> {
        None
    }

    fn compare(&self, _polled: &Polled) -> bool {
        false
    }

    fn is_asked_for(&self) -> bool {
        false
    }
}

/// The result of a poll.
#[derive(Debug)]
pub(crate) struct Polled {
    /// The newest commit of each list asked for.
    pub(crate) lists: HashMap<i64, ListHead>,
    /// The counts of data that seldom changes.
    pub(crate) versions: Option<Versions>,
    pub(crate) epoch: String,
}

/// The extent of a list: its newest commit and lease changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListHead {
    pub(crate) revision: Revision,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) lease_version: i64,
    /// Whether the list has moved to another store, or is moving.
    pub(crate) has_moved: bool,
}

/// Polls the database for all followers.
pub(crate) trait Poll: Send + Sync {
    /// Polls these lists. Returns `None` if there are no tables yet, or the result was already handled.
    fn poll(&self, lists: Vec<i64>) -> Result<Option<Polled>, StoreError>;
}

/// The listening connection of a process. Open only while there are followers.
pub(crate) struct Listening {
    pool: Arc<Pool>,
    /// The channel on which we test whether notifications arrive.
    probe: String,
    state: Mutex<Followers>,
}

/// A follower and the number that its [`Following`] identifies it by.
type NumberedFollower = (u64, Arc<dyn Follower>);

#[derive(Default)]
struct Followers {
    followers: HashMap<String, Vec<NumberedFollower>>,
    last_follower: u64,
    orders: Option<UnboundedSender<Order>>,
    arrives: bool,
    /// Whether a notification may have been lost.
    is_doubtful: bool,
    /// When the process last polled.
    polled: Option<Instant>,
    is_polling: bool,
    /// Whether to poll once more, since something may have been missed after the last query was sent.
    polls_again: bool,
    asks: Option<Weak<dyn Poll>>,
}

enum Order {
    Listen(String),
    End,
}

/// A registered follower. Dropping this unregisters it.
pub(crate) struct Following {
    listening: Arc<Listening>,
    channel: String,
    number: u64,
}

impl Listening {
    pub(crate) fn new(pool: Arc<Pool>, schema: &SchemaName) -> Self {
        // Unique, so that another process's probe does not pass for ours.
        let own = format!("{}-{:?}", std::process::id(), std::time::SystemTime::now());
        Self { pool, probe: schema.channel("probe", &own), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Followers> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a follower, which is called on each notification on `channel` and whenever one may have been missed.
    /// `asks` polls for all followers.
    pub(crate) fn follow(
        self: &Arc<Self>,
        channel: &str,
        follower: Arc<dyn Follower>,
        asks: Weak<dyn Poll>,
    ) -> Following {
        self.state().asks = Some(asks);
        self.add(channel, follower)
    }

    fn add(self: &Arc<Self>, channel: &str, follower: Arc<dyn Follower>) -> Following {
        let mut state = self.state();
        state.last_follower += 1;
        let number = state.last_follower;
        let followers = state.followers.entry(channel.to_owned()).or_default();
        followers.push((number, follower));
        let is_first = followers.len() == 1;
        match &state.orders {
            Some(orders) if is_first => drop(orders.send(Order::Listen(channel.to_owned()))),
            Some(_) => {}
            None => {
                let (orders, taken) = unbounded_channel();
                let listening = Arc::downgrade(self);
                let thread = thread::Builder::new().name("taskyard-listen".to_owned());
                match thread.spawn(move || listen(&listening, taken)) {
                    Ok(_) => state.orders = Some(orders),
                    Err(error) => tracing::warn!(%error, "what other processes change is not noticed"),
                }
            }
        }
        drop(state);
        Following { listening: Arc::clone(self), channel: channel.to_owned(), number }
    }

    /// Registers a follower that polls by itself, at [`Following::interval`]; `moved` is called instead.
    pub(crate) fn follow_looking(self: &Arc<Self>, channel: &str, moved: Moved) -> Following {
        self.add(channel, Arc::new(LookingFollower(moved)))
    }

    /// Returns whether a notification sent by this process to itself arrives within `patience`.
    pub(crate) fn is_heard_within(self: &Arc<Self>, patience: Duration) -> bool {
        let (heard, hearing) = mpsc::channel();
        let moved: Moved = Arc::new(move || {
            let _ = heard.send(());
        });
        let following = self.follow_looking(&self.probe.clone(), moved);
        let deadline = Instant::now() + patience;
        // It is also woken for other reasons.
        while !following.is_told() {
            let left = deadline.saturating_duration_since(Instant::now());
            if hearing.recv_timeout(left).is_err() {
                return following.is_told();
            }
        }
        true
    }

    fn followers_of(&self, channel: &str) -> Vec<Arc<dyn Follower>> {
        self.state().followers.get(channel).into_iter().flatten().map(|(_, follower)| Arc::clone(follower)).collect()
    }

    fn all_followers(&self) -> Vec<Arc<dyn Follower>> {
        self.state().followers.values().flatten().map(|(_, follower)| Arc::clone(follower)).collect()
    }

    fn hear(&self, Notification { channel, payload }: &Notification) {
        if *channel == self.probe {
            self.state().arrives = true;
        }
        self.followers_of(channel).iter().for_each(|follower| follower.hear(payload));
    }

    /// Returns the numbers of all followed lists, for a query that polls them.
    pub(crate) fn lists(&self) -> Vec<i64> {
        let mut lists: Vec<i64> = self.all_followers().iter().filter_map(|follower| follower.list()).collect();
        lists.sort_unstable();
        lists.dedup();
        lists
    }

    /// Handles the result of a poll for all followers.
    pub(crate) fn take_in(&self, polled: &Polled) {
        self.state().polled = Some(Instant::now());
        // `filter` and `count`, not `any`: every follower must be called.
        let was_told = self.all_followers().iter().filter(|follower| follower.compare(polled)).count() == 0;
        self.state().is_doubtful |= !was_told;
    }

    /// Calls the followers that poll by themselves.
    fn wake_looking(&self) {
        self.all_followers().iter().filter(|follower| !follower.is_asked_for()).for_each(|follower| follower.hear(""));
    }

    /// Checks everything for which a notification may have been missed.
    fn look_again(self: &Arc<Self>) {
        self.wake_looking();
        self.poll();
    }

    /// Returns whether a notification may have been lost since the last call. If so, the process polls often until
    /// one arrives.
    fn doubts(&self) -> bool {
        let mut state = self.state();
        let is_doubtful = std::mem::take(&mut state.is_doubtful);
        state.arrives &= !is_doubtful;
        is_doubtful
    }

    /// Returns the time until the next poll.
    fn until_poll(&self) -> Duration {
        let state = self.state();
        // A slightly late heartbeat still replaces the poll.
        let interval = if state.arrives { RARELY + OFTEN } else { OFTEN };
        state.polled.map_or(Duration::ZERO, |polled| interval.saturating_sub(polled.elapsed()))
    }

    /// Polls for all followers on its own thread, so that this one goes on listening.
    fn poll(self: &Arc<Self>) {
        let mut state = self.state();
        state.polled = Some(Instant::now());
        if !state.followers.values().flatten().any(|(_, follower)| follower.is_asked_for()) {
            return;
        }
        if state.is_polling {
            state.polls_again = true;
            return;
        }
        state.is_polling = true;
        drop(state);
        let listening = Arc::clone(self);
        let polling = move || {
            while listening.poll_once() {}
        };
        if let Err(error) = thread::Builder::new().name("taskyard-poll".to_owned()).spawn(polling) {
            tracing::warn!(%error, "what other processes change is not noticed for the moment");
            self.state().is_polling = false;
        }
    }

    /// Polls for all followers. Returns whether to poll once more.
    fn poll_once(&self) -> bool {
        let asks = self.state().asks.as_ref().and_then(Weak::upgrade);
        match asks.map(|asks| asks.poll(self.lists())) {
            Some(Ok(Some(polled))) => self.take_in(&polled),
            Some(Ok(None)) | None => {}
            Some(Err(error)) => {
                // Each follower queries for itself and reports the error to its caller.
                tracing::debug!(%error, "what other processes changed is not known for the moment");
                self.all_followers().iter().for_each(|follower| follower.hear(""));
            }
        }
        let mut state = self.state();
        state.is_polling = std::mem::take(&mut state.polls_again);
        state.is_polling
    }
}

impl Following {
    /// Returns whether notifications are known to arrive.
    pub(crate) fn is_told(&self) -> bool {
        self.listening.state().arrives
    }

    /// Returns how often to poll for changes that were not announced.
    pub(crate) fn interval(&self) -> Duration {
        if self.is_told() { RARELY } else { OFTEN }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut state = self.listening.state();
        if let Some(followers) = state.followers.get_mut(&self.channel) {
            followers.retain(|(number, _)| *number != self.number);
            if followers.is_empty() {
                state.followers.remove(&self.channel);
            }
        }
        if state.followers.is_empty() {
            state.arrives = false;
            if let Some(orders) = state.orders.take() {
                let _ = orders.send(Order::End);
            }
        }
    }
}

/// Listens until no follower is left, reconnecting after failures.
fn listen(listening: &Weak<Listening>, mut orders: UnboundedReceiver<Order>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tracing::warn!(%error, "what other processes change is not noticed"),
    };
    runtime.block_on(async {
        while let Some(listening) = listening.upgrade() {
            match hear(&listening, &mut orders).await {
                Ok(()) => return,
                Err(failure) => tracing::debug!(%failure, "nothing is heard for a moment"),
            }
            listening.state().arrives = false;
            // They must poll more often from now on.
            listening.wake_looking();
            if listening.until_poll().is_zero() {
                listening.poll();
            }
            drop(listening);
            let pause = tokio::time::sleep(RECONNECT);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    order = orders.recv() => if !matches!(order, Some(Order::Listen(_))) { return },
                }
            }
        }
    });
}

/// Listens on one connection until it breaks or no follower is left.
async fn hear(listening: &Arc<Listening>, orders: &mut UnboundedReceiver<Order>) -> Result<(), Failure> {
    let (heard, mut told) = unbounded_channel();
    let place = Arc::new(listening.pool.place_to_listen().await);
    let client = reach(listening.pool.settings(), Some(NotificationSender { heard, _place: place })).await?;
    let mut channels: Vec<String> = listening.state().followers.keys().cloned().collect();
    channels.push(listening.probe.clone());
    begin(&client, &channels).await?;
    // Earlier changes were not announced to this connection.
    listening.look_again();
    probe(listening);
    let (mut probed, mut has_heard) = (Instant::now(), false);
    loop {
        tokio::select! {
            notification = told.recv() => match notification {
                Some(notification) => {
                    has_heard = true;
                    listening.hear(&notification);
                }
                None => return Err(Failure::new(FailureKind::Lost, "the connection ended")),
            },
            order = orders.recv() => match order {
                Some(Order::Listen(channel)) => {
                    begin(&client, std::slice::from_ref(&channel)).await?;
                    listening.look_again();
                }
                Some(Order::End) | None => return Ok(()),
            },
            () = listening.pool.asked_to_step_aside() => {
                return Err(Failure::new(FailureKind::NotNow, "the connection makes room for another one"));
            }
            () = tokio::time::sleep(listening.until_poll()) => {
                if listening.until_poll().is_zero() {
                    listening.poll();
                }
                let is_silent = !listening.state().arrives && probed.elapsed() >= RARELY;
                if is_silent && has_heard {
                    // A proxy in between may not have noticed that the server is gone.
                    return Err(Failure::new(FailureKind::Lost, "notifications do not arrive any more"));
                }
                if is_silent || listening.doubts() {
                    probe(listening);
                    probed = Instant::now();
                }
            }
        }
    }
}

async fn begin(client: &Client, channels: &[String]) -> Result<(), Failure> {
    let listen: Vec<String> = channels.iter().map(|channel| format!("LISTEN {channel}")).collect();
    let begun = tokio::time::timeout(ANSWER, client.batch_execute(&listen.join("; "))).await;
    Ok(begun.map_err(|_| Failure::timed_out(ANSWER))??)
}

/// Notifies ourselves on another connection. If that arrives, so do other processes' notifications.
fn probe(listening: &Arc<Listening>) {
    let (pool, notify) = (Arc::clone(&listening.pool), sending(&listening.probe, ""));
    let thread = thread::Builder::new().name("taskyard-probe".to_owned());
    let probed = thread.spawn(move || {
        let probed = pool.persist(|session| session.ask(&[Statement::script(notify.as_str())], ANSWER));
        if let Err(failure) = probed {
            tracing::debug!(%failure, "whether notifications arrive is not known");
        }
    });
    drop(probed);
}

impl fmt::Debug for Following {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Following")
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Listening")
    }
}
