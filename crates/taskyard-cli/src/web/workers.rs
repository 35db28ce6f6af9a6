//! The threads that requests are answered on: so many and no more, and so many requests that wait for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use taskyard::blocking::allow_blocking;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many requests that only look are answered at once, and as many that change something, by how much the machine does at once.
const SEATS: std::ops::RangeInclusive<usize> = 2..=8;
/// So many requests wait at once for something to happen: a task to claim, a job to end.
const SLEEPING: usize = 64;
/// So many requests wait for a seat; further requests are sent away.
const QUEUE: usize = 4_096;

/// What a request does with its seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It looks. It waits for no lock.
    Looks,
    /// It changes something, and may wait for locks and hooks.
    Changes,
    /// It sleeps until something happens.
    Sleeps,
}

/// The threads that requests are answered on.
#[derive(Debug)]
pub(crate) struct Workers {
    looking: Arc<Semaphore>,
    changing: Arc<Semaphore>,
    sleeping: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// No worker is free, and too many requests wait already.
#[derive(Debug)]
pub(crate) struct TooMany;

/// Counts a request that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Returns as many as suit this machine.
    pub(crate) fn new() -> Self {
        let seats = available_parallelism().map_or(*SEATS.start(), |at_once| at_once.get());
        let seats = seats.clamp(*SEATS.start(), *SEATS.end());
        let [looking, changing, sleeping] = [seats, seats, SLEEPING].map(|seats| Arc::new(Semaphore::new(seats)));
        Self { looking, changing, sleeping, waiting: AtomicUsize::new(0) }
    }

    /// Does something that may block, when it is its turn. It goes on to its end though no client waits for it any longer.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: Work,
        to_do: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TooMany> {
        let seat = self.seat(work).await?;
        let done = spawn(move || {
            let done = to_do();
            drop(seat);
            done
        });
        // It only fails where the work panicked, and that is told on stderr.
        done.await.map_err(|_| TooMany)
    }

    async fn seat(&self, work: Work) -> Result<OwnedSemaphorePermit, TooMany> {
        let seats = match work {
            Work::Looks => &self.looking,
            Work::Changes => &self.changing,
            // Calls that sleep do so for long: no request waits for their seats.
            Work::Sleeps => return Arc::clone(&self.sleeping).try_acquire_owned().map_err(|_| TooMany),
        };
        if let Ok(seat) = Arc::clone(seats).try_acquire_owned() {
            return Ok(seat);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= QUEUE {
            return Err(TooMany);
        }
        Arc::clone(seats).acquire_owned().await.map_err(|_| TooMany)
    }

    /// Returns how many requests sleep until something happens.
    pub(crate) fn sleeping(&self) -> usize {
        SLEEPING - self.sleeping.available_permits()
    }

    /// Returns how many requests wait for a seat.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// Does something that may block on a thread of its own, however many calls are at work.
pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> tokio::task::JoinHandle<T> {
    tokio::task::spawn_blocking(|| allow_blocking(work))
}
