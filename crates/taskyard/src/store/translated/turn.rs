//! A writer's turn: first among ourselves, then with those who know the dialect's own lock.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::form::Form;
use crate::store::StoreError;

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long our own writers are waited for, as long as they move: there may be many of them.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// The right to write to a list.
#[derive(Debug)]
pub(super) struct Turn<F: Form> {
    /// Given back before the queue moves on.
    _held: F::Held,
    _queue: File,
}

impl<F: Form> Turn<F> {
    /// Waits for the turn.
    pub(super) fn take(form: &F, path: &Path, queue: &Path) -> Result<Self, StoreError> {
        let started = Instant::now();
        let locked = |waited| StoreError::Locked { path: path.to_owned(), age: waited, waited };
        let file = open(queue)?;
        let file = lock_in_time(file, LONG_PATIENCE)
            .map_err(StoreError::io("cannot lock", queue))?
            .ok_or_else(|| locked(started.elapsed()))?;
        let waiting = Instant::now();
        match form.hold(path, PATIENCE)? {
            Some(held) => Ok(Self { _held: held, _queue: file }),
            None => Err(locked(waiting.elapsed())),
        }
    }

    /// Takes the turn where nobody else has it.
    pub(super) fn try_take(form: &F, path: &Path, queue: &Path) -> Result<Option<Self>, StoreError> {
        let file = open(queue)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(StoreError::io("cannot lock", queue)(error.into())),
        }
        Ok(form.hold(path, Duration::ZERO)?.map(|held| Self { _held: held, _queue: file }))
    }
}

/// Locks a file, waiting no longer than this; none where others kept it.
pub(in crate::store) fn lock_in_time(file: File, patience: Duration) -> std::io::Result<Option<File>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(Some(file)),
        Err(Errno::WOULDBLOCK) if patience.is_zero() => return Ok(None),
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(error.into()),
    }
    let (sender, receiver) = channel();
    // The kernel has no flock with a time limit, so a thread sleeps in it. When nobody takes what it sends any more, the file
    // is dropped and with it the lock.
    thread::Builder::new().name("taskyard-queue".to_owned()).stack_size(64 * 1024).spawn(move || {
        let locked = flock(&file, FlockOperation::LockExclusive);
        let _ = sender.send(locked.map(|()| file));
    })?;
    match receiver.recv_timeout(patience) {
        Ok(locked) => Ok(Some(locked?)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(std::io::ErrorKind::BrokenPipe.into()),
    }
}

fn open(queue: &Path) -> Result<File, StoreError> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).read(true);
    options.open(queue).map_err(StoreError::io("cannot open", queue))
}
