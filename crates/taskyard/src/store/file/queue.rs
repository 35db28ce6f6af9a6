//! The queue of our own writers: a kernel lock on a file of ours, so that waiting costs nothing and dies with the waiter.
//!
//! The queue is order, not safety. A waiter that sees no movement for as long as a lock lives stops waiting for it.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::fingerprint::{Fingerprint, Look, look_at};
use super::lock::LIFE;
use super::place::Place;
use super::sightings::Sightings;
use super::state;
use crate::store::{Occupant, StoreError};

/// How often a waiter looks whether the one ahead still moves.
const GLANCE: Duration = Duration::from_millis(200);
/// How long one of ours waits for the lock of a living rival.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);

/// The file our writers queue on, and whether we are at its head.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// False when the one at the head does not move and we went past it.
    pub(super) is_head: bool,
}

/// Goes to the head of the queue if nobody is there.
pub(super) fn try_enter(path: &Path) -> Result<Option<Queue>, StoreError> {
    let file = state::open(path).map_err(StoreError::io("cannot open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Queue { file, path: path.to_owned(), is_head: true })),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(StoreError::io("cannot lock", path)(error.into())),
    }
}

/// Waits for its turn in the queue. `watched` is the directory of the list, open.
pub(super) fn enter(path: &Path, place: &Place, watched: Option<BorrowedFd<'_>>) -> Result<Queue, StoreError> {
    if let Some(queue) = try_enter(path)? {
        return Ok(queue);
    }
    let waiting = state::open(path).map_err(StoreError::io("cannot open", path))?;
    let (sender, receiver) = channel();
    // The kernel has no flock with a time limit, so a thread sleeps in it. When nobody takes what it sends any more, the file
    // is dropped and with it the lock.
    thread::Builder::new()
        .name("taskyard-queue".to_owned())
        .stack_size(64 * 1024)
        .spawn(move || {
            let entered = flock(&waiting, FlockOperation::LockExclusive);
            let _ = sender.send(entered.map(|()| waiting));
        })
        .map_err(StoreError::io("cannot wait for", path))?;
    let glances = state::open(path).map_err(StoreError::io("cannot open", path))?;
    let sightings = Sightings::beside(path);
    let mut last_move = Instant::now();
    let mut seen = glance(&glances, watched, &place.lock);
    loop {
        match receiver.recv_timeout(GLANCE) {
            Ok(Ok(file)) => return Ok(Queue { file, path: path.to_owned(), is_head: true }),
            Ok(Err(error)) => return Err(StoreError::io("cannot lock", path)(error.into())),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(StoreError::io("cannot wait for", path)(std::io::ErrorKind::BrokenPipe.into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = glance(&glances, watched, &place.lock);
        let silence = |look: &Look| sightings.silence(&place.lock, look);
        let dead = now.lock.is_some_and(|look| silence(&look) > LIFE) && now.is_like(&seen);
        if !now.is_like(&seen) {
            if now.turns != seen.turns {
                last_move = Instant::now();
            }
            seen = now;
        }
        let waited = last_move.elapsed();
        match seen.lock {
            _ if dead => return Ok(Queue { file: glances, path: path.to_owned(), is_head: false }),
            Some(look) if waited > PATIENCE => {
                let by = Occupant::LockHolder { lock: place.lock_path(), age: silence(&look) };
                return Err(StoreError::Busy { by, waited });
            }
            // The one ahead holds no lock and does not move: it was stopped on its way in or out.
            None if waited > LIFE => return Ok(Queue { file: glances, path: path.to_owned(), is_head: false }),
            _ => {}
        }
    }
}

/// What a waiter sees of the one ahead.
#[derive(Clone, Copy)]
struct Glance {
    turns: u64,
    lock: Option<Look>,
}

impl Glance {
    fn is_like(&self, other: &Self) -> bool {
        let print = |glance: &Self| -> Option<Fingerprint> { glance.lock.map(|look| look.print) };
        self.turns == other.turns && print(self) == print(other)
    }
}

fn glance(file: &File, watched: Option<BorrowedFd<'_>>, name: &CStr) -> Glance {
    let lock = watched.and_then(|directory| look_at(directory, name).ok().flatten());
    Glance { turns: state::load(file).unwrap_or_default().turns, lock }
}
