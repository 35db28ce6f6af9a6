//! The threads calls are made on: so many and no more. A call that finds none free waits for its turn.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use taskyard::blocking::allow_blocking;
use taskyard::process::Workplace;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};

use super::admission::Admission;

/// So many calls that only look are made at once, and as many that change something, by how much the machine does at once. Each kind has
/// seats of its own, because calls that change something wait for each other and for the locks of other programs, and looking needs no
/// lock.
const SEATS: std::ops::RangeInclusive<usize> = 2..=4;
/// So many calls wait for another program at once, a hook or a job, without a seat among the others.
const WAITING: usize = 64;

/// The threads calls are made on.
#[derive(Clone, Debug)]
pub(crate) struct Workers {
    looking: Arc<Semaphore>,
    changing: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// A seat among the workers.
#[derive(Debug)]
pub(crate) struct WorkerSeat {
    /// Where it came from, and where it is asked for again.
    of: Arc<Semaphore>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
    waiting: Arc<Semaphore>,
    /// The request that asked for the call, which makes room for other requests, too, while the call waits.
    admission: Option<Admission>,
}

impl Workers {
    /// Returns the workers of a server in a process that may open so many files.
    pub(crate) fn new(open_files: usize) -> Self {
        // A hook needs some descriptors for as long as it runs, a job that is waited for one or two.
        let waiting = (open_files / 16).clamp(2, WAITING);
        let seats = available_parallelism().map_or(*SEATS.start(), |at_once| at_once.get());
        let seats = seats.clamp(*SEATS.start(), *SEATS.end());
        let [looking, changing, waiting] = [seats, seats, waiting].map(|seats| Arc::new(Semaphore::new(seats)));
        Self { looking, changing, waiting }
    }

    /// Waits for a seat of a call that only looks.
    pub(crate) async fn seat_to_look(&self, admission: Option<Admission>) -> Arc<WorkerSeat> {
        self.seat(&self.looking, admission).await
    }

    /// Waits for a seat of a call that may change something.
    pub(crate) async fn seat_to_change(&self, admission: Option<Admission>) -> Arc<WorkerSeat> {
        self.seat(&self.changing, admission).await
    }

    /// Looks at something that may block, when it is its turn.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let seat = self.seat_to_look(None).await;
        let looking = spawn(move || {
            let seen = look();
            drop(seat);
            seen
        });
        looking.await
    }

    async fn seat(&self, of: &Arc<Semaphore>, admission: Option<Admission>) -> Arc<WorkerSeat> {
        // The seats are never closed; without one the call would be made beyond the number.
        let taken = Arc::clone(of).acquire_owned().await.ok();
        let waiting = Arc::clone(&self.waiting);
        Arc::new(WorkerSeat { of: Arc::clone(of), taken: Mutex::new(taken), waiting, admission })
    }
}

/// Does something that may block on a thread of its own, however many calls are at work.
pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(|| allow_blocking(work))
}

impl Workplace for WorkerSeat {
    fn leave_while(&self, wait: &mut dyn FnMut()) {
        // Where too many wait already, it keeps its seat: threads and programs are limited, too.
        let Ok(_waiting) = Arc::clone(&self.waiting).try_acquire_owned() else { return wait() };
        drop(self.taken.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.admission.iter().for_each(Admission::make_room);
        wait();
        let taken = Handle::current().block_on(Arc::clone(&self.of).acquire_owned()).ok();
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = taken;
    }
}

#[cfg(test)]
mod tests {
    use taskyard::process::Workplace as _;

    use super::Workers;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn those_who_change_something_do_not_keep_those_who_look_waiting() {
        run(async {
            let workers = Workers::new(1_024);
            let seats = workers.changing.available_permits();
            let mut taken = Vec::new();
            for _ in 0..seats {
                taken.push(workers.seat_to_change(None).await);
            }
            assert_eq!(workers.changing.available_permits(), 0);
            assert_eq!(workers.look(|| 7).await.unwrap(), 7);
            drop(taken);
            assert_eq!((workers.changing.available_permits(), workers.looking.available_permits()), (seats, seats));
        });
    }

    #[test]
    fn a_seat_is_free_while_its_worker_waits_for_a_program_and_taken_again_afterwards() {
        run(async {
            let workers = Workers::new(1_024);
            let (of, seats) = (workers.changing.clone(), workers.changing.available_permits());
            let seat = workers.seat_to_change(None).await;
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
    fn where_too_many_wait_a_worker_keeps_its_seat() {
        run(async {
            let workers = Workers::new(0);
            let (of, seats) = (workers.looking.clone(), workers.looking.available_permits());
            let seat = workers.seat_to_look(None).await;
            let _waiting = workers.waiting.acquire_many(2).await.unwrap();
            let during = tokio::task::spawn_blocking(move || {
                let mut during = 0;
                seat.leave_while(&mut || during = of.available_permits());
                during
            });
            assert_eq!(during.await.unwrap(), seats - 1);
        });
    }
}
