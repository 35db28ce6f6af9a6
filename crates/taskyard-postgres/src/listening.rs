//! Hearing that something has moved: one connection of each process listens for all followers.
//!
//! What is heard is a hint and no more. A notification may be lost, and a pooler passes none: so a follower also looks by itself: now and
//! then where it is known that notifications come through, and every second where it is not.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::store::Moved;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Client;

use crate::connecting::{Failure, FailureKind, Pool, Statement, reach};
use crate::schema::SchemaName;

/// How often a follower looks by itself while notifications come through.
const RARELY: Duration = Duration::from_secs(15);
/// How often it does while they do not.
const OFTEN: Duration = Duration::from_secs(1);
/// How often we make sure that the connection that listens is still one.
const CHECK: Duration = Duration::from_secs(20);
/// How long such a question may take.
const CHECK_TIME: Duration = Duration::from_secs(10);
/// How long we wait before we connect anew.
const RECONNECT: Duration = Duration::from_millis(500);

/// The one connection of a process that listens, while a follower wants to know.
pub(crate) struct Listening {
    pool: Arc<Pool>,
    /// The channel on which we tell ourselves whether notifications come through.
    probe: String,
    state: Mutex<Followers>,
}

#[derive(Default)]
struct Followers {
    followers: HashMap<String, Vec<(u64, Moved)>>,
    last_follower: u64,
    orders: Option<UnboundedSender<Order>>,
    comes_through: bool,
}

enum Order {
    Listen(String),
    End,
}

/// A follower that is called when something may have moved, until this is dropped.
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

    /// Calls `moved` whenever something is told on a channel, and whenever something may have been told that was not heard.
    pub(crate) fn follow(self: &Arc<Self>, channel: &str, moved: Moved) -> Following {
        let mut state = self.state();
        state.last_follower += 1;
        let number = state.last_follower;
        let followers = state.followers.entry(channel.to_owned()).or_default();
        followers.push((number, moved));
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
                    Err(error) => tracing::warn!(%error, "changes are looked for instead of being told"),
                }
            }
        }
        drop(state);
        Following { listening: Arc::clone(self), channel: channel.to_owned(), number }
    }

    /// Tells whether a notification that this process sends itself arrives within some time.
    pub(crate) fn is_heard_within(self: &Arc<Self>, patience: Duration) -> bool {
        let (heard, hearing) = mpsc::channel();
        let moved: Moved = Arc::new(move || {
            let _ = heard.send(());
        });
        let following = self.follow(&self.probe.clone(), moved);
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

    fn tell(&self, channel: &str) {
        let mut state = self.state();
        if channel == self.probe {
            state.comes_through = true;
        }
        let followers: Vec<Moved> =
            state.followers.get(channel).into_iter().flatten().map(|(_, moved)| Arc::clone(moved)).collect();
        drop(state);
        followers.iter().for_each(|moved| moved());
    }

    fn tell_all(&self) {
        let followers: Vec<Moved> =
            self.state().followers.values().flatten().map(|(_, moved)| Arc::clone(moved)).collect();
        followers.iter().for_each(|moved| moved());
    }
}

impl Following {
    /// Tells whether notifications come through.
    pub(crate) fn is_told(&self) -> bool {
        self.listening.state().comes_through
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
            state.comes_through = false;
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
        Err(error) => return tracing::warn!(%error, "changes are looked for instead of being told"),
    };
    runtime.block_on(async {
        while let Some(listening) = listening.upgrade() {
            match hear(&listening, &mut orders).await {
                Ok(()) => return,
                Err(failure) => tracing::debug!(%failure, "nothing is heard for a moment"),
            }
            listening.state().comes_through = false;
            // What happened since may have been told to no listener.
            listening.tell_all();
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
    let client = reach(listening.pool.settings(), Some(heard)).await?;
    let mut channels: Vec<String> = listening.state().followers.keys().cloned().collect();
    channels.push(listening.probe.clone());
    begin(&client, &channels).await?;
    listening.tell_all();
    probe(listening);
    let mut check = tokio::time::interval(CHECK);
    check.tick().await;
    loop {
        tokio::select! {
            channel = told.recv() => match channel {
                Some(channel) => listening.tell(&channel),
                None => return Err(Failure::new(FailureKind::Lost, "the connection ended")),
            },
            order = orders.recv() => match order {
                Some(Order::Listen(channel)) => {
                    begin(&client, std::slice::from_ref(&channel)).await?;
                    listening.tell(&channel);
                }
                Some(Order::End) | None => return Ok(()),
            },
            _ = check.tick() => {
                let checked = tokio::time::timeout(CHECK_TIME, client.batch_execute("")).await;
                checked.map_err(|_| Failure::timed_out(CHECK_TIME))??;
                if !listening.state().comes_through {
                    probe(listening);
                }
                // A notification may be lost.
                listening.tell_all();
            }
        }
    }
}

async fn begin(client: &Client, channels: &[String]) -> Result<(), Failure> {
    let listen: Vec<String> = channels.iter().map(|channel| format!("LISTEN {channel}")).collect();
    let begun = tokio::time::timeout(CHECK_TIME, client.batch_execute(&listen.join("; "))).await;
    Ok(begun.map_err(|_| Failure::timed_out(CHECK_TIME))??)
}

/// Tells ourselves something on another connection: where it arrives, the notifications of other processes do as well.
fn probe(listening: &Arc<Listening>) {
    let (pool, notify) = (Arc::clone(&listening.pool), format!("NOTIFY {}", listening.probe));
    let thread = thread::Builder::new().name("taskyard-probe".to_owned());
    let probed = thread.spawn(move || {
        let probed = pool.persist(|session| session.ask(&[Statement::script(notify.as_str())], CHECK_TIME));
        if let Err(failure) = probed {
            tracing::debug!(%failure, "whether notifications come through is not known");
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
