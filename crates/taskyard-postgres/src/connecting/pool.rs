//! The connection pool of one process: at most two connections to a database, one of which listens while something is
//! followed.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::failure::{Failure, FailureKind};
use super::session::Session;
use crate::settings::Settings;

/// Maximum number of connections per process, including the listening one. Servers limit connections.
const MOST: usize = 2;
/// How long a thread waits for a connection in use before it opens another one, if allowed. Most queries take less.
const SHARED: Duration = Duration::from_millis(50);
/// How long a thread waits for a connection once the pool is full. No thread holds one for longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// How often the listening thread checks whether it may connect.
const LISTENER_WAIT: Duration = Duration::from_millis(20);
/// Connections beyond the first are closed after being idle for this long.
const SURPLUS: Duration = Duration::from_secs(2);
/// The last connection is closed after being idle for this long: servers limit connections, and a firewall may have
/// dropped it.
const FRESH: Duration = Duration::from_secs(60);
/// A process younger than this will most likely exit before its idle connections time out.
const YOUNG: Duration = Duration::from_secs(5);
/// How long to keep retrying after a server we were connected to disappears.
const PATIENCE_WITH_A_KNOWN_SERVER: Duration = Duration::from_secs(60);
/// How long to keep retrying while a server temporarily refuses connections.
const PATIENCE_WITH_A_BUSY_SERVER: Duration = Duration::from_secs(20);
/// How long the failure of the first connection is cached.
const SAME_FAILURE: Duration = Duration::from_secs(1);
/// The initial pause between retries; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether this thread takes precedence over threads that have waited longer for a connection.
    static IS_URGENT: Cell<bool> = const { Cell::new(false) };
    /// The number of [`TakesNoConnection`] guards on this thread.
    static LOCKS_HELD: Cell<usize> = const { Cell::new(0) };
}

/// While this guard exists, its thread must not take a connection: a thread that has one may be waiting for the lock
/// this one holds.
#[derive(Debug)]
pub(crate) struct TakesNoConnection {
    _not_send: PhantomData<*const ()>,
}

impl TakesNoConnection {
    pub(crate) fn new() -> Self {
        LOCKS_HELD.set(LOCKS_HELD.get() + 1);
        Self { _not_send: PhantomData }
    }
}

impl Drop for TakesNoConnection {
    fn drop(&mut self) {
        LOCKS_HELD.set(LOCKS_HELD.get() - 1);
    }
}

/// Gives this thread precedence for connections from now on.
pub(crate) fn make_this_thread_urgent() {
    IS_URGENT.set(true);
}

static RECONNECTS: AtomicU64 = AtomicU64::new(0);

/// Returns how often this process reconnected after a connection or server failure.
pub(crate) fn reconnects() -> u64 {
    RECONNECTS.load(Ordering::Relaxed)
}

/// The connections of one process to one database. Connects lazily, on the first request.
#[derive(Debug)]
pub(crate) struct Pool {
    settings: Settings,
    connections: Mutex<Connections>,
    /// Signalled when a connection is returned.
    given_back: Condvar,
    /// Signalled when a thread needs a second connection and the listening one occupies its slot.
    stepping_aside: Notify,
    was_connected: AtomicBool,
    /// Whether a connection or the server has failed since the last one was made.
    has_failed: AtomicBool,
    made: Instant,
    /// Whether a thread is running that closes idle connections.
    is_tidied: AtomicBool,
    /// Why the first connection failed, and when it was attempted.
    failed: Mutex<Option<(Failure, Instant)>>,
}

#[derive(Debug, Default)]
struct Connections {
    /// Idle connections and when each was last used; the most recently used is last.
    idle: Vec<(Session, Instant)>,
    users: Vec<User>,
    /// Whether a listening connection is open or being opened.
    listens: bool,
    /// Whether the listening thread is waiting for a slot.
    listener_waits: bool,
    /// The number of waiting urgent threads.
    urgent: usize,
    last_user: u64,
}

impl Connections {
    fn count(&self) -> usize {
        self.idle.len() + self.users.len() + usize::from(self.listens)
    }

    fn is_used_by(&self, thread: ThreadId) -> bool {
        self.users.iter().any(|user| user.thread == thread)
    }

    /// Describes the users, for an error message.
    fn in_words(&self) -> String {
        let user = |user: &User| {
            let what_for = if user.what_for == Use::Transaction { "a transaction" } else { "a question" };
            format!("thread `{}` for {what_for}, for {} s", user.name, user.since.elapsed().as_secs())
        };
        let mut users: Vec<String> = self.users.iter().map(user).collect();
        users.extend(self.listens.then(|| "the one that listens".to_owned()));
        users.join("; ")
    }

    /// Returns whether a thread may take an idle connection or open one.
    fn can_give(&self, wanted: &Wanted) -> bool {
        if self.urgent > 0 && !wanted.is_urgent && !wanted.is_second {
            return false;
        }
        // Only one thread at a time has a transaction. The second connection it may need becomes free once a query is
        // answered or the listening connection steps aside, so no two threads wait for each other.
        let has_transaction = self.users.iter().any(|user| user.what_for == Use::Transaction);
        if wanted.what_for == Use::Transaction && has_transaction && !wanted.is_second {
            return false;
        }
        let may_make = wanted.is_second || self.users.is_empty() || wanted.since.elapsed() >= SHARED;
        let has_room = self.count() < MOST && (wanted.is_second || self.users.is_empty() || !self.listener_waits);
        !self.idle.is_empty() || (may_make && has_room)
    }
}

/// What a thread uses a connection for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// A query. The connection is returned with the answer, and the thread never waits for another one in the
    /// meantime.
    Question,
    /// A transaction, during which the thread may query on a second connection.
    Transaction,
}

struct Wanted {
    since: Instant,
    is_urgent: bool,
    what_for: Use,
    /// Whether the thread already has a connection. Waiting for its own would be a deadlock.
    is_second: bool,
}

#[derive(Debug)]
struct User {
    number: u64,
    thread: ThreadId,
    name: String,
    what_for: Use,
    since: Instant,
}

/// The slot of the listening connection in the pool.
#[derive(Debug)]
pub(crate) struct ListenersPlace {
    pool: Arc<Pool>,
}

impl Drop for ListenersPlace {
    fn drop(&mut self) {
        self.pool.connections().listens = false;
        self.pool.given_back.notify_all();
    }
}

/// A connection in use. Returned to the pool on drop, unless it broke.
#[derive(Debug)]
pub(crate) struct Held {
    session: Option<Session>,
    pool: Arc<Pool>,
    /// The number of the [`User`].
    user: u64,
}

impl Pool {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            connections: Mutex::default(),
            given_back: Condvar::new(),
            stepping_aside: Notify::new(),
            was_connected: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            made: Instant::now(),
            is_tidied: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `attempt` on a connection, and retries on another one while a retry may help. `attempt` must be safe to
    /// run twice.
    pub(crate) fn persist<T>(
        self: &Arc<Self>,
        mut attempt: impl FnMut(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.persist_in(Use::Question, |mut held| attempt(&mut held))
    }

    /// Like [`persist`](Self::persist), for a transaction that keeps the connection.
    pub(crate) fn persist_holding<T>(
        self: &Arc<Self>,
        attempt: impl FnMut(Held) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.persist_in(Use::Transaction, attempt)
    }

    fn persist_in<T>(
        self: &Arc<Self>,
        what_for: Use,
        mut attempt: impl FnMut(Held) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let was_connected = self.was_connected.load(Ordering::Relaxed);
            let failure = match self.take(what_for).and_then(&mut attempt) {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            let patience = match failure.kind() {
                FailureKind::Lost if was_connected => PATIENCE_WITH_A_KNOWN_SERVER,
                FailureKind::NotNow | FailureKind::Clash if was_connected => PATIENCE_WITH_A_KNOWN_SERVER,
                FailureKind::NotNow | FailureKind::Clash => PATIENCE_WITH_A_BUSY_SERVER,
                // A server that we never reached most likely has a wrong address.
                _ => return Err(failure),
            };
            if started.elapsed() > patience {
                return Err(failure);
            }
            tracing::debug!(%failure, "trying again");
            if was_connected && failure.kind() != FailureKind::Clash {
                self.has_failed.store(true, Ordering::Relaxed);
            }
            // The idle connections most likely broke along with this one.
            self.connections().idle.clear();
            thread::sleep(jittered(pause));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Closes connections that have been idle for too long and returns how many idle ones remain.
    fn tidy(&self) -> usize {
        let mut connections = self.connections();
        let last = connections.idle.len().saturating_sub(1);
        let mut place = 0;
        connections.idle.retain(|(_, since)| {
            let longest = if place == last { FRESH } else { SURPLUS };
            place += 1;
            since.elapsed() < longest
        });
        connections.idle.len()
    }

    /// Opens a connection. If none was ever opened, returns a recent failure again, so that a command with several
    /// queries waits only once.
    fn connect(&self) -> Result<Session, Failure> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((failure, _)) = failed.as_ref().filter(|(_, at)| at.elapsed() < SAME_FAILURE) {
            return Err(failure.clone());
        }
        if self.was_connected.load(Ordering::Relaxed) {
            drop(failed);
            return Session::connect(&self.settings);
        }
        Session::connect(&self.settings).inspect_err(|failure| {
            let is_final = !matches!(failure.kind(), FailureKind::NotNow | FailureKind::Clash);
            *failed = is_final.then(|| (failure.clone(), Instant::now()));
        })
    }

    pub(crate) fn is_used_by_this_thread(&self) -> bool {
        self.connections().is_used_by(thread::current().id())
    }

    /// Waits for a free slot for the listening connection and takes it.
    pub(crate) async fn place_to_listen(self: &Arc<Self>) -> ListenersPlace {
        while !self.try_listen() {
            tokio::time::sleep(LISTENER_WAIT).await;
        }
        ListenersPlace { pool: Arc::clone(self) }
    }

    fn try_listen(&self) -> bool {
        let mut connections = self.connections();
        // Evict an idle connection to make room. It is closed after the lock is released.
        let surplus = if connections.count() < MOST || connections.idle.is_empty() {
            None
        } else {
            Some(connections.idle.remove(0))
        };
        connections.listens |= connections.count() < MOST;
        connections.listener_waits = !connections.listens;
        let listens = connections.listens;
        drop((connections, surplus));
        listens
    }

    /// Returns when the listening connection must give up its slot for a while.
    pub(crate) async fn asked_to_step_aside(&self) {
        self.stepping_aside.notified().await;
    }

    fn take(self: &Arc<Self>, what_for: Use) -> Result<Held, Failure> {
        debug_assert!(LOCKS_HELD.get() == 0, "a list in memory is locked while the database is asked");
        self.tidy();
        let thread = thread::current();
        let mut connections = self.connections();
        let is_second = connections.is_used_by(thread.id());
        let wanted = Wanted { since: Instant::now(), is_urgent: IS_URGENT.get(), what_for, is_second };
        connections.urgent += usize::from(wanted.is_urgent);
        while !connections.can_give(&wanted) && wanted.since.elapsed() < LONGEST_WAIT {
            if is_second && connections.listens {
                self.stepping_aside.notify_waiters();
            }
            let waited = self.given_back.wait_timeout(connections, SHARED);
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        connections.urgent -= usize::from(wanted.is_urgent);
        if !connections.can_give(&wanted) {
            let (waited, users) = (wanted.since.elapsed().as_secs(), connections.in_words());
            let said = format!("no connection of this process became free within {waited} s; in use: {users}");
            return Err(Failure::new(FailureKind::NotNow, said));
        }
        let kept = connections.idle.pop();
        connections.last_user += 1;
        let user = connections.last_user;
        let name = thread.name().unwrap_or("unnamed").to_owned();
        connections.users.push(User { number: user, thread: thread.id(), name, what_for, since: Instant::now() });
        drop(connections);
        // From here on, dropping `held` frees the slot.
        let mut held = Held { session: None, pool: Arc::clone(self), user };
        held.session = Some(match kept {
            Some((session, _)) => session,
            None => {
                let session = self.connect()?;
                if self.has_failed.swap(false, Ordering::Relaxed) {
                    RECONNECTS.fetch_add(1, Ordering::Relaxed);
                }
                session
            }
        });
        self.was_connected.store(true, Ordering::Relaxed);
        Ok(held)
    }
}

impl Held {
    /// Closes the connection instead of returning it to the pool.
    pub(crate) fn discard(mut self) {
        self.session = None;
    }
}

impl Deref for Held {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("only `discard` takes it, and that takes all of this")
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("only `discard` takes it, and that takes all of this")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let session = self.session.take().filter(Session::is_usable);
        let mut connections = self.pool.connections();
        if let Some(place) = connections.users.iter().position(|user| user.number == self.user) {
            connections.users.swap_remove(place);
        }
        // The listening thread may be waiting for this slot.
        let is_only = connections.idle.is_empty() && connections.users.is_empty();
        let is_kept = session.is_some() && (is_only || !connections.listener_waits);
        connections.idle.extend(session.filter(|_| is_kept).map(|session| (session, Instant::now())));
        drop(connections);
        self.pool.given_back.notify_all();
        let is_old = self.pool.made.elapsed() > YOUNG;
        if is_kept && is_old && !self.pool.is_tidied.swap(true, Ordering::SeqCst) {
            tidy_later(&self.pool);
        }
    }
}

/// Spawns a thread that closes idle connections and ends when none is left.
fn tidy_later(pool: &Arc<Pool>) {
    let watched = Arc::downgrade(pool);
    let tidying = thread::Builder::new().name("taskyard-tidy".to_owned()).spawn(move || {
        loop {
            thread::sleep(SURPLUS);
            let Some(pool) = watched.upgrade() else { return };
            if pool.tidy() == 0 {
                // A caller that returns a connection after this starts another tidying thread.
                pool.is_tidied.store(false, Ordering::SeqCst);
                if pool.tidy() == 0 || pool.is_tidied.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        }
    });
    if tidying.is_err() {
        pool.is_tidied.store(false, Ordering::SeqCst);
    }
}

/// Returns a randomized pause of about this length, so that processes that lost the same server do not all reconnect
/// at once.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(Instant::now()) % 1000;
    pause.mul_f64(0.5 + random as f64 / 1000.0)
}
