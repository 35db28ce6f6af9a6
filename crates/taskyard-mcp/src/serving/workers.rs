//! The threads that calls are made on: a limited number, and a limited number of calls that wait for one.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use rustix::process::{Resource, getrlimit};
use taskyard::blocking::allow_blocking;
use taskyard::process::Workplace;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// The least number of calls of one kind that are made at once.
const FEWEST_SEATS: usize = 2;
/// The maximum number of calls that wait for something to happen, or for another program, without a seat among the others.
const WAITING: usize = 64;
/// The maximum number of calls that wait for a seat.
const QUEUE: usize = 4_096;

/// What a call does with its seat. Calls that look and calls that change something have seats of their own, because the latter wait for each
/// other and for the locks of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It looks. It waits for no lock.
    Looks,
    /// It changes something, and may wait for locks and hooks.
    Changes,
    /// It sleeps until something happens.
    Sleeps,
}

/// Limits how many calls are made at once.
#[derive(Clone, Debug)]
pub struct Workers {
    looking: Arc<Semaphore>,
    changing: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// How many may wait.
    waiting_seats: usize,
    queued: Arc<AtomicUsize>,
}

/// A seat among the workers, until it is dropped.
pub struct Seat {
    /// Where it came from, and where it is asked for again.
    of: Arc<Semaphore>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
    waiting: Arc<Semaphore>,
    make_room: Option<Box<dyn Fn() + Send + Sync>>,
}

/// Why a call was not made, or came to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// No seat is free, and too many calls wait already.
    TooMany,
    /// The call panicked; stderr says where.
    Panicked,
}

/// Counts a call that waits for a seat, until it is dropped.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Returns workers that make as many calls of each kind at once as the machine has processors, but no more than this; in a process that
    /// may open this many files.
    pub fn new(most_seats: usize, open_files: usize) -> Self {
        let seats = available_parallelism().map_or(FEWEST_SEATS, |at_once| at_once.get());
        let seats = seats.clamp(FEWEST_SEATS, most_seats.max(FEWEST_SEATS));
        // A hook needs some descriptors for as long as it runs, a job that is waited for one or two.
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
            // Calls that sleep do so for long: no call waits for their seats.
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

    /// Makes a call that may block, when it is its turn. It goes on to its end even if no client waits for it any longer.
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

    /// Returns how many calls sleep until something happens, or wait for another program.
    pub fn sleeping(&self) -> usize {
        self.waiting_seats - self.waiting.available_permits()
    }

    /// Returns how many calls wait for a seat.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

/// The number of open files that counts as allowed if the system has no limit, or a higher one.
pub const MANY_FILES: usize = 8_192;

/// Returns how many files this process may have open at once; a server keeps within it.
pub fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MANY_FILES).min(MANY_FILES)
}

/// Does something that may block on a thread of its own, regardless of how many calls are being made.
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(|| allow_blocking(work))
}

impl Seat {
    /// Also calls this whenever the seat is left for a while.
    pub fn making_room(self, make_room: impl Fn() + Send + Sync + 'static) -> Self {
        Self { make_room: Some(Box::new(make_room)), ..self }
    }
}

impl Workplace for Seat {
    fn leave_while(&self, wait: &mut dyn FnMut()) {
        // If too many wait already, it keeps its seat: threads and programs are limited, too.
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
            Self::Panicked => "the call failed because of a bug; the log says where",
        })
    }
}

impl std::error::Error for CallError {}

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
