//! The connections of one process to one yard.

use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::failure::{Failure, FailureKind};
use super::session::Session;
use crate::settings::Settings;

/// So many connections are kept for later.
const KEPT: usize = 4;
/// How long a thread waits for a connection that another one uses before it makes one more: most questions take less, and a server has
/// only so many connections.
const SHARED: Duration = Duration::from_millis(50);
/// Connections beyond the first that were of no use for this long are let go of.
const SURPLUS: Duration = Duration::from_secs(2);
/// One that was of no use for so long is let go of: a server has only so many, and a firewall may have forgotten it.
const FRESH: Duration = Duration::from_secs(60);
/// A process that is younger than this most likely ends before that.
const YOUNG: Duration = Duration::from_secs(5);
/// How long we try again where a server that we knew is gone.
const PATIENCE_WITH_A_KNOWN_SERVER: Duration = Duration::from_secs(60);
/// How long we try again where a server says that it takes nothing just now.
const PATIENCE_WITH_A_BUSY_SERVER: Duration = Duration::from_secs(20);
/// How long what came of a first connection counts.
const SAME_FAILURE: Duration = Duration::from_secs(1);
/// The first pause before another try; each one after it is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often this process connected again after a failure.
static RECONNECTS: AtomicU64 = AtomicU64::new(0);

/// Returns how often this process connected again after a connection or a server had failed.
pub(crate) fn reconnects() -> u64 {
    RECONNECTS.load(Ordering::Relaxed)
}

/// The connections of one process to one yard. Nothing is connected before something is asked.
#[derive(Debug)]
pub(crate) struct Pool {
    settings: Settings,
    connections: Mutex<Connections>,
    /// A connection is of no use any more.
    given_back: Condvar,
    was_connected: AtomicBool,
    /// Whether a connection or the server has failed since the last one was made.
    has_failed: AtomicBool,
    made: Instant,
    /// Whether a thread looks after connections that are of no use.
    is_tidied: AtomicBool,
    /// Why the first connection could not be made, and when that was tried.
    failed: Mutex<Option<(Failure, Instant)>>,
}

#[derive(Debug, Default)]
struct Connections {
    /// Those that are kept, each with when it was last used; the one that was used last is at the end.
    idle: Vec<(Session, Instant)>,
    /// The threads that use one, each as often as it does.
    users: Vec<ThreadId>,
}

/// A connection in use; it goes back where it came from when it is dropped, unless it broke.
#[derive(Debug)]
pub(crate) struct Held {
    session: Option<Session>,
    pool: Arc<Pool>,
    user: ThreadId,
}

impl Pool {
    /// Returns a pool without connections.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            connections: Mutex::default(),
            given_back: Condvar::new(),
            was_connected: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            made: Instant::now(),
            is_tidied: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    /// Returns where and how it connects.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something on a connection, and again on another one as long as that may help. It must be something that may be done twice.
    pub(crate) fn persist<T>(
        self: &Arc<Self>,
        mut attempt: impl FnMut(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.persist_holding(|mut held| attempt(&mut held))
    }

    /// Does the same with something that keeps the connection.
    pub(crate) fn persist_holding<T>(
        self: &Arc<Self>,
        mut attempt: impl FnMut(Held) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let was_connected = self.was_connected.load(Ordering::Relaxed);
            let failure = match self.take().and_then(&mut attempt) {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            let patience = match failure.kind() {
                FailureKind::Lost if was_connected => PATIENCE_WITH_A_KNOWN_SERVER,
                FailureKind::NotNow | FailureKind::Clash if was_connected => PATIENCE_WITH_A_KNOWN_SERVER,
                FailureKind::NotNow | FailureKind::Clash => PATIENCE_WITH_A_BUSY_SERVER,
                // A server that we never reached is most likely a wrong address.
                _ => return Err(failure),
            };
            if started.elapsed() > patience {
                return Err(failure);
            }
            tracing::debug!(%failure, "trying again");
            if was_connected && failure.kind() != FailureKind::Clash {
                self.has_failed.store(true, Ordering::Relaxed);
            }
            // Those that are kept broke most likely when this one did.
            self.connections().idle.clear();
            thread::sleep(jittered(pause));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Lets go of connections that were of no use for a while, and returns how many are kept.
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

    /// Connects. Where we never could, what came of it a moment ago counts: a command that asks several things waits once.
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

    fn take(self: &Arc<Self>) -> Result<Held, Failure> {
        self.tidy();
        let user = thread::current().id();
        let mut connections = self.connections();
        // A thread that waited for its own connection would wait in vain.
        if !connections.users.contains(&user) {
            let is_awaited =
                |connections: &mut Connections| connections.idle.is_empty() && !connections.users.is_empty();
            let waited = self.given_back.wait_timeout_while(connections, SHARED, is_awaited);
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let kept = connections.idle.pop();
        connections.users.push(user);
        drop(connections);
        // From here on it is given back in any case.
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
    /// Lets go of the connection for good.
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
        if let Some(place) = connections.users.iter().position(|user| *user == self.user) {
            connections.users.swap_remove(place);
        }
        let is_kept = session.is_some() && connections.idle.len() < KEPT;
        connections.idle.extend(session.filter(|_| is_kept).map(|session| (session, Instant::now())));
        drop(connections);
        self.pool.given_back.notify_one();
        let is_old = self.pool.made.elapsed() > YOUNG;
        if is_kept && is_old && !self.pool.is_tidied.swap(true, Ordering::SeqCst) {
            tidy_later(&self.pool);
        }
    }
}

/// Lets go of connections once they were of no use for a while, on a thread that ends when none is left.
fn tidy_later(pool: &Arc<Pool>) {
    let watched = Arc::downgrade(pool);
    let tidying = thread::Builder::new().name("taskyard-tidy".to_owned()).spawn(move || {
        loop {
            thread::sleep(SURPLUS);
            let Some(pool) = watched.upgrade() else { return };
            if pool.tidy() == 0 {
                // A caller that gives a connection back from here on starts another tidying.
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

/// Returns a pause of about that length, so that processes that lost the same server do not all come back at once.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(Instant::now()) % 1000;
    pause.mul_f64(0.5 + random as f64 / 1000.0)
}
