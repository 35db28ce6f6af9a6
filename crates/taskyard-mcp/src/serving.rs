//! A bounded pool of threads that make calls, and the cache of answers for repeated calls.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use rustix::process::{Resource, getrlimit};
use taskyard::process::Workplace;
use taskyard::system::allow_blocking;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;

/// The minimum number of concurrent calls of one kind.
const FEWEST_SEATS: usize = 2;
/// The maximum number of calls that sleep, or that have given up their seat while they wait for another program.
const WAITING: usize = 64;
/// The maximum number of calls that wait for a seat.
const QUEUE: usize = 4_096;

/// The kind of a call. Reading and writing calls have separate seats, because writing calls wait for each other and for
/// the locks of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It reads, and waits for no lock.
    Looks,
    /// It may change something, and may wait for locks and hooks.
    Changes,
    /// It sleeps until something happens.
    Sleeps,
}

/// Limits the number of concurrent calls.
#[derive(Clone, Debug)]
pub struct Workers {
    looking: Arc<Semaphore>,
    changing: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// The number of seats for waiting calls.
    waiting_seats: usize,
    queued: Arc<AtomicUsize>,
}

/// A seat among the workers, released on drop.
pub struct Seat {
    /// The semaphore that the seat belongs to.
    of: Arc<Semaphore>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
    waiting: Arc<Semaphore>,
    make_room: Option<Box<dyn Fn() + Send + Sync>>,
}

/// Why a call was not made, or did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// No seat is free, and too many calls are queued.
    TooMany,
    /// The call panicked; stderr says where.
    Panicked,
}

/// Counts a queued call, until it is dropped.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Returns workers that make as many concurrent calls of each kind as the machine has processors, but at most
    /// `most_seats`. `open_files` is the number of files that the process may open.
    pub fn new(most_seats: usize, open_files: usize) -> Self {
        let seats = available_parallelism().map_or(FEWEST_SEATS, |at_once| at_once.get());
        let seats = seats.clamp(FEWEST_SEATS, most_seats.max(FEWEST_SEATS));
        // A hook needs several descriptors while it runs, a job that is waited for one or two.
        let waiting_seats = (open_files / 16).clamp(2, WAITING);
        let [looking, changing, waiting] = [seats, seats, waiting_seats].map(|seats| Arc::new(Semaphore::new(seats)));
        Self { looking, changing, waiting, waiting_seats, queued: Arc::default() }
    }

    /// Waits for a seat.
    pub async fn seat(&self, work: Work) -> Result<Seat, CallError> {
        let of = match work {
            Work::Looks => &self.looking,
            Work::Changes => &self.changing,
            Work::Sleeps => &self.waiting,
        };
        let taken = match Arc::clone(of).try_acquire_owned() {
            Ok(taken) => taken,
            // Calls that sleep do so for long, so no call queues for their seats.
            Err(_) if work == Work::Sleeps => return Err(CallError::TooMany),
            Err(_) => {
                let before = self.queued.fetch_add(1, Ordering::Relaxed);
                let _queued = Queued(&self.queued);
                if before >= QUEUE {
                    return Err(CallError::TooMany);
                }
                Arc::clone(of).acquire_owned().await.map_err(|_| CallError::TooMany)?
            }
        };
        let waiting = Arc::clone(&self.waiting);
        Ok(Seat { of: Arc::clone(of), taken: Mutex::new(Some(taken)), waiting, make_room: None })
    }

    /// Waits for a seat and makes a call that may block. The call runs to its end even if its client no longer waits.
    pub async fn run<T: Send + 'static>(
        &self,
        work: Work,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let seat = self.seat(work).await?;
        let made = spawn(move || {
            let made = call();
            drop(seat);
            made
        });
        made.await.map_err(|_| CallError::Panicked)
    }

    /// Returns how many calls sleep, or wait for another program.
    pub fn sleeping(&self) -> usize {
        self.waiting_seats - self.waiting.available_permits()
    }

    /// Returns how many calls are queued for a seat.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

/// The assumed limit on open files if the system has none, or a higher one.
pub const MANY_FILES: usize = 8_192;

/// Returns how many files this process may have open at once, at most [`MANY_FILES`].
pub fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MANY_FILES).min(MANY_FILES)
}

/// Runs blocking work on a separate thread, regardless of how many calls are in progress.
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(|| allow_blocking(work))
}

impl Seat {
    /// Also calls `make_room` whenever the seat is given up for a while.
    pub fn making_room(self, make_room: impl Fn() + Send + Sync + 'static) -> Self {
        Self { make_room: Some(Box::new(make_room)), ..self }
    }
}

impl Workplace for Seat {
    fn leave_while(&self, wait: &mut dyn FnMut()) {
        // If too many calls wait already, this one keeps its seat: threads and programs are limited, too.
        let Ok(_waiting) = Arc::clone(&self.waiting).try_acquire_owned() else { return wait() };
        drop(self.taken.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.make_room.iter().for_each(|make_room| make_room());
        wait();
        let taken = Handle::current().block_on(Arc::clone(&self.of).acquire_owned()).ok();
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = taken;
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Seat").finish_non_exhaustive()
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooMany => "too many calls are waiting",
            Self::Panicked => "the call failed because of a bug; see the log",
        })
    }
}

impl std::error::Error for CallError {}

/// The maximum number of remembered calls per sender; the oldest are dropped first.
const CALLS: usize = 1_000;
/// The maximum number of remembered senders; the least recently active are dropped first.
const SENDERS: usize = 100;
/// The maximum size of all remembered answers in bytes; the oldest answers of the least recently active senders are
/// dropped first.
const BYTES: usize = 64 * 1024 * 1024;

/// Remembers the answers to calls, by sender and by the key that the sender gave the call.
pub struct Repeats<S, K, A>(Arc<Mutex<Senders<S, K, A>>>);

struct Senders<S, K, A> {
    known: HashMap<S, Sent<K, A>>,
    /// Counts calls; orders senders by their last activity.
    clock: u64,
    /// The total size of the answers.
    bytes: usize,
}

struct Sent<K, A> {
    calls: HashMap<K, Remembered<A>>,
    order: VecDeque<K>,
    /// The value of the clock at the last call.
    last_call: u64,
}

struct Remembered<A> {
    digest: u64,
    answer: watch::Receiver<Option<A>>,
    bytes: usize,
}

/// Whether a call is new.
#[derive(Debug)]
pub enum Begun<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A> {
    /// It is new: the thread that makes it passes its answer to the recorder.
    First(Recorder<S, K, A>),
    /// It was made before, or is in progress.
    Again(Repetition<A>),
    /// Its key was used before for a different call.
    Reused,
}

/// Takes the answer to a call for repetitions of it. If dropped without an answer, the call counts as not made.
pub struct Recorder<S, K, A> {
    answer: watch::Sender<Option<A>>,
    repeats: Repeats<S, K, A>,
    sender: S,
    key: K,
}

/// A repeated call.
#[derive(Debug)]
pub struct Repetition<A>(watch::Receiver<Option<A>>);

impl<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A: Clone> Repeats<S, K, A> {
    /// Registers a call and returns whether to make it. The digest tells whether a repeated key belongs to the same
    /// call.
    pub fn begin(&self, sender: &S, key: &K, digest: u64) -> Begun<S, K, A> {
        let mut senders = self.senders();
        senders.clock += 1;
        let clock = senders.clock;
        if !senders.known.contains_key(sender) && senders.known.len() >= SENDERS {
            senders.forget_most_silent();
        }
        let sent = senders.known.entry(sender.clone()).or_default();
        sent.last_call = clock;
        if let Some(first) = sent.calls.get(key) {
            // The first call may have ended without an answer.
            if first.answer.borrow().is_some() || first.answer.has_changed().is_ok() {
                return match first.digest == digest {
                    true => Begun::Again(Repetition(first.answer.clone())),
                    false => Begun::Reused,
                };
            }
        } else {
            sent.order.push_back(key.clone());
        }
        let (answer, receiver) = watch::channel(None);
        sent.calls.insert(key.clone(), Remembered { digest, answer: receiver, bytes: 0 });
        let forgotten = if sent.order.len() > CALLS { sent.forget_oldest() } else { 0 };
        senders.bytes -= forgotten;
        Begun::First(Recorder { answer, repeats: self.clone(), sender: sender.clone(), key: key.clone() })
    }

    /// Drops the answer to a call, because its effect was undone.
    pub fn forget(&self, sender: &S, key: &K) {
        let mut senders = self.senders();
        let Some(sent) = senders.known.get_mut(sender) else { return };
        sent.order.retain(|known| known != key);
        let bytes = sent.calls.remove(key).map_or(0, |call| call.bytes);
        senders.bytes -= bytes;
    }

    /// Drops all calls of a sender that will not call again.
    pub fn forget_sender(&self, sender: &S) {
        let mut senders = self.senders();
        let bytes = senders.known.remove(sender).map_or(0, |sent| sent.bytes());
        senders.bytes -= bytes;
    }

    fn senders(&self) -> MutexGuard<'_, Senders<S, K, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A> Senders<S, K, A> {
    fn most_silent(&self) -> Option<S> {
        let longest = self.known.iter().min_by_key(|(_, sent)| sent.last_call);
        longest.map(|(sender, _)| sender.clone())
    }

    fn forget_most_silent(&mut self) {
        let forgotten = self.most_silent().and_then(|sender| self.known.remove(&sender));
        self.bytes -= forgotten.map_or(0, |sent| sent.bytes());
    }

    fn make_room(&mut self) {
        while self.bytes > BYTES {
            let Some(sender) = self.most_silent() else { return };
            let Some(sent) = self.known.get_mut(&sender) else { return };
            self.bytes -= sent.forget_oldest();
            if sent.order.is_empty() {
                self.known.remove(&sender);
            }
        }
    }
}

impl<K: Eq + Hash, A> Sent<K, A> {
    /// Drops the oldest call, and returns the size of its answer.
    fn forget_oldest(&mut self) -> usize {
        let oldest = self.order.pop_front().and_then(|oldest| self.calls.remove(&oldest));
        oldest.map_or(0, |call| call.bytes)
    }

    fn bytes(&self) -> usize {
        self.calls.values().map(|call| call.bytes).sum()
    }
}

impl<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A: Clone> Recorder<S, K, A> {
    /// Stores the answer, whose size is about `bytes`.
    pub fn record(self, answer: A, bytes: usize) {
        self.answer.send_replace(Some(answer));
        let mut senders = self.repeats.senders();
        // It may have been dropped in the meantime.
        let call = senders.known.get_mut(&self.sender).and_then(|sent| sent.calls.get_mut(&self.key));
        if let Some(call) = call {
            call.bytes = bytes;
            senders.bytes += bytes;
            senders.make_room();
        }
    }
}

impl<A: Clone> Repetition<A> {
    /// Waits for the answer to the first call; `None` if that ended without one.
    pub async fn answer(mut self) -> Option<A> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl<S, K, A> Clone for Repeats<S, K, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S, K, A> Default for Repeats<S, K, A> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Senders { known: HashMap::new(), clock: 0, bytes: 0 })))
    }
}

impl<K, A> Default for Sent<K, A> {
    fn default() -> Self {
        Self { calls: HashMap::new(), order: VecDeque::new(), last_call: 0 }
    }
}

impl<S, K, A> fmt::Debug for Repeats<S, K, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Repeats").finish_non_exhaustive()
    }
}

impl<S, K, A> fmt::Debug for Recorder<S, K, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use taskyard::process::Workplace as _;

    use super::{CallError, Work, Workers};

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn changes_do_not_keep_looks_waiting() {
        run(async {
            let workers = Workers::new(4, 1_024);
            let seats = workers.changing.available_permits();
            let mut taken = Vec::new();
            for _ in 0..seats {
                taken.push(workers.seat(Work::Changes).await.unwrap());
            }
            assert_eq!(workers.changing.available_permits(), 0);
            assert_eq!(workers.run(Work::Looks, || 7).await.unwrap(), 7);
            drop(taken);
            assert_eq!((workers.changing.available_permits(), workers.looking.available_permits()), (seats, seats));
        });
    }

    #[test]
    fn a_seat_is_free_while_its_call_waits_for_a_program() {
        run(async {
            let workers = Workers::new(4, 1_024);
            let (of, seats) = (workers.changing.clone(), workers.changing.available_permits());
            let seat = workers.seat(Work::Changes).await.unwrap();
            let during = tokio::task::spawn_blocking(move || {
                let mut during = 0;
                seat.leave_while(&mut || during = of.available_permits());
                (during, of.available_permits())
            });
            assert_eq!(during.await.unwrap(), (seats, seats - 1));
            assert_eq!(workers.changing.available_permits(), seats);
        });
    }

    #[test]
    fn a_call_keeps_its_seat_if_too_many_wait() {
        run(async {
            let workers = Workers::new(4, 0);
            let (of, seats) = (workers.looking.clone(), workers.looking.available_permits());
            let seat = workers.seat(Work::Looks).await.unwrap();
            let _sleeping = (workers.seat(Work::Sleeps).await.unwrap(), workers.seat(Work::Sleeps).await.unwrap());
            assert_eq!((workers.seat(Work::Sleeps).await.err(), workers.sleeping()), (Some(CallError::TooMany), 2));
            let during = tokio::task::spawn_blocking(move || {
                let mut during = 0;
                seat.leave_while(&mut || during = of.available_permits());
                during
            });
            assert_eq!(during.await.unwrap(), seats - 1);
        });
    }
}

#[cfg(test)]
mod repeats_tests {
    use super::{BYTES, Begun, CALLS, Recorder, Repeats, SENDERS};

    type Answers = Repeats<String, usize, &'static str>;

    fn first(repeats: &Answers, sender: &str, key: usize) -> Option<Recorder<String, usize, &'static str>> {
        match repeats.begin(&sender.to_owned(), &key, 0) {
            Begun::First(recorder) => Some(recorder),
            Begun::Again(_) | Begun::Reused => None,
        }
    }

    #[test]
    fn only_the_same_call_with_the_same_key_is_a_repetition() {
        let repeats = Answers::default();
        let ana = "ana".to_owned();
        let running = first(&repeats, "ana", 1).unwrap();
        assert!(matches!(repeats.begin(&ana, &1, 7), Begun::Reused));
        let Begun::Again(waiting) = repeats.begin(&ana, &1, 0) else { panic!("it came before") };
        assert!(first(&repeats, "ben", 1).is_some());
        running.record("done", 4);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(waiting.answer()), Some("done"));
        assert!(matches!(repeats.begin(&ana, &1, 7), Begun::Reused), "it was answered");
        repeats.forget(&ana, &1);
        assert!(first(&repeats, "ana", 1).is_some());
    }

    #[test]
    fn what_is_remembered_takes_bounded_memory() {
        let repeats = Answers::default();
        for key in 0..3 {
            first(&repeats, "ana", key).unwrap().record("large", BYTES / 4);
        }
        first(&repeats, "ben", 0).unwrap().record("large", BYTES / 4);
        first(&repeats, "ben", 1).unwrap().record("large", BYTES / 4);
        assert!(first(&repeats, "ana", 2).is_none() && first(&repeats, "ben", 0).is_none());
        assert!(first(&repeats, "ana", 0).is_some(), "the oldest of the one that called before the other");
        repeats.forget_sender(&"ben".to_owned());
        assert_eq!(repeats.senders().bytes, BYTES / 2);
    }

    #[test]
    fn a_call_that_came_to_nothing_may_be_made_again() {
        let repeats = Answers::default();
        let running = first(&repeats, "ana", 1).unwrap();
        assert!(first(&repeats, "ana", 1).is_none());
        drop(running);
        assert!(first(&repeats, "ana", 1).is_some());
    }

    #[test]
    fn the_oldest_calls_and_the_most_silent_senders_are_forgotten() {
        let repeats = Answers::default();
        for key in 0..=CALLS {
            first(&repeats, "ana", key).unwrap().record("done", 4);
        }
        assert!(first(&repeats, "ana", 1).is_none());
        assert!(first(&repeats, "ana", 0).is_some());
        for number in 0..SENDERS {
            first(&repeats, &number.to_string(), 1).unwrap().record("done", 4);
        }
        assert!(first(&repeats, "ana", 2).is_some());
        assert_eq!(repeats.senders().known.len(), SENDERS);
    }
}
