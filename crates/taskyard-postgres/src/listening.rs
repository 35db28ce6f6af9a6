//! Hearing that something has changed: one connection of each process listens for all followers.
//!
//! A notification is a hint and no more. It may be lost, and a pooler passes none. So the process also asks by itself, one question for all
//! followers: now and then if it is known that notifications arrive, and every second if not.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::core::{AttemptId, Revision};
use taskyard::store::{Moved, StoreError};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Client;

use crate::connecting::{Failure, FailureKind, NotificationSender, Pool, Statement, reach};
use crate::notification::{Notification, sending};
use crate::schema::SchemaName;
use crate::versions::Versions;

/// How often the process asks by itself while notifications arrive. It is not more often than heartbeats are sent: they ask along.
const RARELY: Duration = Duration::from_secs(20);
/// How often it asks while they do not.
const OFTEN: Duration = Duration::from_secs(1);
/// How long a question on the listening connection may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How long we wait before we connect anew.
const RECONNECT: Duration = Duration::from_millis(500);

/// Follows something, and is called on the thread that listens: it must not ask the database.
pub(crate) trait Follower: Send + Sync {
    /// Takes in a notification on its channel.
    fn hear(&self, payload: &str);

    /// Returns the number of the list that it follows, to ask for it.
    fn list(&self) -> Option<i64>;

    /// Takes in what the process asked by itself; returns whether something has changed of which no notification has come yet.
    fn compare(&self, polled: &Polled) -> bool;

    /// Tells whether the process asks for it. One that looks by itself is only called if something may have been missed.
    fn is_asked_for(&self) -> bool {
        true
    }
}

/// A follower that looks by itself.
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

/// What the process learnt when it asked by itself.
#[derive(Debug)]
pub(crate) struct Polled {
    /// The newest commit of each list that was asked for.
    pub(crate) lists: HashMap<i64, ListHead>,
    /// How often what changes seldom had changed.
    pub(crate) versions: Option<Versions>,
    /// The epoch of the database.
    pub(crate) epoch: String,
}

/// How far a list is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListHead {
    pub(crate) revision: Revision,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) lease_version: i64,
    /// Whether the list has moved to another store, or is about to.
    pub(crate) has_moved: bool,
}

/// Asks the database how far lists are.
pub(crate) trait Poll: Send + Sync {
    /// Asks, for the lists of these numbers; `None` if there is no yard yet, or the answer was taken in.
    fn poll(&self, lists: Vec<i64>) -> Result<Option<Polled>, StoreError>;
}

/// The one connection of a process that listens, while a follower wants to know.
pub(crate) struct Listening {
    pool: Arc<Pool>,
    /// The channel on which we tell ourselves whether notifications arrive.
    probe: String,
    state: Mutex<Followers>,
}

/// A follower, and the number by which its [`Following`] knows it.
type NumberedFollower = (u64, Arc<dyn Follower>);

#[derive(Default)]
struct Followers {
    followers: HashMap<String, Vec<NumberedFollower>>,
    last_follower: u64,
    orders: Option<UnboundedSender<Order>>,
    arrives: bool,
    /// Whether a notification may have been lost.
    is_doubtful: bool,
    /// When the process last asked by itself.
    polled: Option<Instant>,
    is_polling: bool,
    /// Whether to ask once more: something may have been missed since the last question was sent.
    polls_again: bool,
    asks: Option<Weak<dyn Poll>>,
}

enum Order {
    Listen(String),
    End,
}

/// A follower that is called when something may have changed, until this is dropped.
pub(crate) struct Following {
    listening: Arc<Listening>,
    channel: String,
    number: u64,
}

impl Listening {
    /// Returns what listens for no follower yet.
    pub(crate) fn new(pool: Arc<Pool>, schema: &SchemaName) -> Self {
        // Of its own: another process that asks the same must not answer for us.
        let own = format!("{}-{:?}", std::process::id(), std::time::SystemTime::now());
        Self { pool, probe: schema.channel("probe", &own), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Followers> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a follower whenever something is told on a channel, and whenever something may have been told that was not heard. `asks` asks
    /// for all followers.
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

    /// Calls `moved` instead, for a follower that looks by itself after [`Following::interval`].
    pub(crate) fn follow_looking(self: &Arc<Self>, channel: &str, moved: Moved) -> Following {
        self.add(channel, Arc::new(LookingFollower(moved)))
    }

    /// Tells whether a notification that this process sends itself arrives within some time.
    pub(crate) fn is_heard_within(self: &Arc<Self>, patience: Duration) -> bool {
        let (heard, hearing) = mpsc::channel();
        let moved: Moved = Arc::new(move || {
            let _ = heard.send(());
        });
        let following = self.follow_looking(&self.probe.clone(), moved);
        let deadline = Instant::now() + patience;
        // It is told of other things as well.
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

    /// Returns the numbers of all lists that are followed, for a question that asks for them along.
    pub(crate) fn lists(&self) -> Vec<i64> {
        let mut lists: Vec<i64> = self.all_followers().iter().filter_map(|follower| follower.list()).collect();
        lists.sort_unstable();
        lists.dedup();
        lists
    }

    /// Takes in what the process learnt when it asked for all followers.
    pub(crate) fn take_in(&self, polled: &Polled) {
        self.state().polled = Some(Instant::now());
        // Each of them is called.
        let was_told = self.all_followers().iter().filter(|follower| follower.compare(polled)).count() == 0;
        self.state().is_doubtful |= !was_told;
    }

    /// Calls the followers that look by themselves.
    fn wake_looking(&self) {
        self.all_followers().iter().filter(|follower| !follower.is_asked_for()).for_each(|follower| follower.hear(""));
    }

    /// Has everything looked at that may have been missed.
    fn look_again(self: &Arc<Self>) {
        self.wake_looking();
        self.poll();
    }

    /// Returns whether a notification may have been lost since this was last asked. Then the process asks often until one arrives.
    fn doubts(&self) -> bool {
        let mut state = self.state();
        let is_doubtful = std::mem::take(&mut state.is_doubtful);
        state.arrives &= !is_doubtful;
        is_doubtful
    }

    /// Returns how long it is until the process asks by itself.
    fn until_poll(&self) -> Duration {
        let state = self.state();
        // A heartbeat that is a little late still asks along.
        let interval = if state.arrives { RARELY + OFTEN } else { OFTEN };
        state.polled.map_or(Duration::ZERO, |polled| interval.saturating_sub(polled.elapsed()))
    }

    /// Asks for all followers, on a thread of its own: this one must go on to listen.
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

    /// Asks for all followers; returns whether to ask once more.
    fn poll_once(&self) -> bool {
        let asks = self.state().asks.as_ref().and_then(Weak::upgrade);
        match asks.map(|asks| asks.poll(self.lists())) {
            Some(Ok(Some(polled))) => self.take_in(&polled),
            Some(Ok(None)) | None => {}
            Some(Err(error)) => {
                // Each of them asks by itself, and tells its caller what is wrong.
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
    /// Tells whether notifications arrive.
    pub(crate) fn is_told(&self) -> bool {
        self.listening.state().arrives
    }

    /// Returns after how long to look without having been told.
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

/// Listens until no follower wants to know any more, on one connection after the other.
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
            // They have to look more often from now on.
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

/// Listens on one connection until that breaks, or no follower wants to know any more.
async fn hear(listening: &Arc<Listening>, orders: &mut UnboundedReceiver<Order>) -> Result<(), Failure> {
    let (heard, mut told) = unbounded_channel();
    let place = Arc::new(listening.pool.place_to_listen().await);
    let client = reach(listening.pool.settings(), Some(NotificationSender { heard, _place: place })).await?;
    let mut channels: Vec<String> = listening.state().followers.keys().cloned().collect();
    channels.push(listening.probe.clone());
    begin(&client, &channels).await?;
    // What happened before was told to no listener.
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
                    // What is between us and the server may not have noticed that the server has gone.
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

/// Tells ourselves something on another connection: if it arrives, the notifications of other processes do as well.
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
