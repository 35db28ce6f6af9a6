//! The queue of our own writers: a kernel lock on a file of ours, so that waiting costs nothing and dies with the waiter.
//!
//! The holder of the turn shows signs of life by the file's time. A waiter that sees none for as long as a lock lives
//! goes past (`passing.rs`).

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::lock::LIFE;
use super::passing::{self, Passing};
use super::queue_waiters;
use super::turn_record::{self, TurnRecord};
use crate::clock;
use crate::lock_table::flock_holder;
use crate::store::{Occupant, StoreError};

/// How often a waiter looks whether the one ahead still moves.
const GLANCE: Duration = Duration::from_millis(200);
/// How long a process of ours waits for a holder that is alive and does not make way.
pub(in crate::store) const PATIENCE: Duration = Duration::from_secs(12);
/// A clock that is this far off was set.
const CLOCK_WAS_SET: i64 = 2_000_000_000;

/// The file our writers queue on, and whether we are at its head.
#[derive(Debug)]
pub(in crate::store) struct Queue {
    pub(in crate::store) file: Arc<File>,
    pub(in crate::store) path: PathBuf,
    /// False when the one at the head does not move and we went past it.
    pub(in crate::store) is_head: bool,
    /// Keeps other processes from going past.
    passing: Option<Passing>,
}

impl Queue {
    /// Returns the record of the last turn, once no other process can have the turn; none where one kept it for so long.
    pub(in crate::store) fn turn_record(&mut self, patience: Duration) -> Result<Option<TurnRecord>, StoreError> {
        loop {
            let state = turn_record::load_or_new(&self.file, &self.path)?;
            // We are at the head, and yet a writer is said to be busy or to have gone past: it is dead, or went past another head.
            let is_doubtful = self.is_head && (state.busy || state.is_past_queue);
            if !is_doubtful || self.passing.is_some() {
                return Ok(Some(state));
            }
            self.passing = passing::take(&self.path, patience).map_err(StoreError::io("cannot lock", &self.path))?;
            if self.passing.is_none() {
                return Ok(None);
            }
        }
    }

    /// Says who keeps the turn.
    pub(in crate::store) fn held(&self, waited: Duration) -> StoreError {
        held(&self.path, waited)
    }
}

impl Drop for Queue {
    /// Lets the next one in at once: another process may still have the file open for a moment.
    fn drop(&mut self) {
        if self.is_head {
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

/// Goes to the head of the queue if no writer is there.
pub(in crate::store) fn try_enter(path: &Path) -> Result<Option<Queue>, StoreError> {
    let file = turn_record::open(path).map_err(StoreError::io("cannot open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if was_put_away(&file) => Ok(None),
        Ok(()) => Ok(Some(head(file, path))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(StoreError::io("cannot lock", path)(error.into())),
    }
}

/// Waits for its turn in the queue.
pub(in crate::store) fn enter(path: &Path) -> Result<Queue, StoreError> {
    let waiting = match try_enter(path) {
        Ok(Some(queue)) => return Ok(queue),
        Ok(None) => turn_record::open(path).map_err(StoreError::io("cannot open", path))?,
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(held_for_a_moment(path));
        }
        Err(error) => return Err(error),
    };
    let receiver = queue_waiters::lock(waiting).map_err(StoreError::io("cannot wait for", path))?;
    let glances = turn_record::open(path).map_err(StoreError::io("cannot open", path))?;
    let mut ahead = Ahead::first_seen(&glances);
    loop {
        match receiver.recv_timeout(GLANCE) {
            // The list was put away while we waited: a caller that begins anew finds it.
            Ok(Ok(file)) if was_put_away(&file) => return Err(held_for_a_moment(path)),
            Ok(Ok(file)) => return Ok(head(file, path)),
            Ok(Err(error)) => return Err(StoreError::io("cannot lock", path)(error.into())),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(StoreError::io("cannot wait for", path)(std::io::ErrorKind::BrokenPipe.into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if ahead.may_be_passed(&glances)
            && let Some(passing) = pass(path, &glances, &ahead.seen.state)?
        {
            return Ok(Queue {
                file: Arc::new(glances),
                path: path.to_owned(),
                is_head: false,
                passing: Some(passing),
            });
        }
        if ahead.last_move.elapsed() > PATIENCE {
            return Err(held(path, ahead.last_move.elapsed()));
        }
    }
}

fn head(file: File, path: &Path) -> Queue {
    Queue { file: Arc::new(file), path: path.to_owned(), is_head: true, passing: None }
}

/// Goes past the head, if it still is as it was seen.
fn pass(path: &Path, file: &File, seen: &TurnRecord) -> Result<Option<Passing>, StoreError> {
    let taken = passing::try_take(path).map_err(StoreError::io("cannot lock", path))?;
    let now = turn_record::load(file).map_err(StoreError::io("cannot read", path))?.unwrap_or_default();
    // Other processes may have gone past meanwhile, and be done. But where there is a new head, the queue counts again.
    Ok(taken.filter(|_| now.is_past_queue || now.turns == seen.turns))
}

/// Says who keeps the turn.
pub(in crate::store) fn held(path: &Path, waited: Duration) -> StoreError {
    let process = flock_holder(path).map(|holder| holder.as_raw_nonzero().get());
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process }, waited }
}

/// Tells whether the file is not the queue any more, because the memory of the list was put away.
fn was_put_away(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.nlink() == 0)
}

/// Says that a process is at the list that will not be there when it is tried again.
fn held_for_a_moment(path: &Path) -> StoreError {
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process: None }, waited: Duration::ZERO }
}

/// What a waiter sees of the one ahead.
struct Ahead {
    seen: Glance,
    /// When it last did anything, a sign of life included.
    last_sign: Instant,
    /// When the turn last changed hands.
    last_move: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Glance {
    state: TurnRecord,
    /// The time of the queue's file.
    touched: i64,
}

impl Ahead {
    fn first_seen(file: &File) -> Self {
        Self { seen: Glance::at(file), last_sign: Instant::now(), last_move: Instant::now() }
    }

    /// Looks again, and tells whether there is no point in waiting behind the head.
    fn may_be_passed(&mut self, file: &File) -> bool {
        let now = Glance::at(file);
        let is_still = now == self.seen;
        if now.state.turns != self.seen.state.turns {
            self.last_move = Instant::now();
        }
        if !is_still {
            self.last_sign = Instant::now();
        }
        self.seen = now;
        let is_old = now.state.busy
            && is_offset(now.state.clock_offset)
            && clock::wall().saturating_sub(now.touched) > nanos(LIFE);
        now.state.is_past_queue || (is_still && is_old) || self.last_sign.elapsed() > LIFE
    }
}

impl Glance {
    fn at(file: &File) -> Self {
        let touched = file.metadata().map(|found| found.mtime() * 1_000_000_000 + found.mtime_nsec());
        let state = turn_record::load(file).ok().flatten().unwrap_or_default();
        Self { state, touched: touched.unwrap_or(0) }
    }
}

/// Tells whether wall time and time since boot still are so far apart: else the clock was set.
pub(in crate::store) fn is_offset(offset: i64) -> bool {
    (clock::wall() - clock::since_boot() - offset).abs() < CLOCK_WAS_SET
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
