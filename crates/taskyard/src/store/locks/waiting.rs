//! Waiting for one lock, and taking it over when its holder is dead.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::fingerprint::{Look, look_at};
use super::held_locks;
use super::lock::{self, Attempt, Candidate, LIFE, Lock, temporary_name};
use super::sightings::{Sightings, time_ahead};
use super::turn_record::HeldName;
use crate::regular_file::special;
use crate::store::lock_waits::note_wait;
use crate::store::{Occupant, StoreError};

/// Two looks at a dead lock are at least this far apart.
pub(in crate::store) const SHORT_SECOND_LOOK: Duration = Duration::from_millis(25);
/// Two looks at a dead lock are this far apart when the clock was set since the list was last locked, for then every lock looks old until it is refreshed.
pub(in crate::store) const LONG_SECOND_LOOK: Duration = Duration::from_secs(6);
/// How long we wait for something that stands in a lock's place and can be none: the program that put it there does not know the protocol.
const NO_LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// One lock that is waited for.
#[derive(Debug)]
pub(in crate::store) struct Waiting {
    pub(in crate::store) name: CString,
    pub(in crate::store) path: PathBuf,
    /// Two looks at a dead lock are this far apart.
    pub(in crate::store) second_look: Duration,
    pub(in crate::store) sightings: Sightings,
    pub(in crate::store) names: LockNames,
    /// Whether a rival turned out to hold it.
    pub(in crate::store) met_a_rival: Cell<bool>,
}

/// The names of ours that are used on the way to one lock.
#[derive(Debug)]
pub(in crate::store) struct LockNames {
    candidate: CString,
    /// What a dead lock is moved to.
    pub(in crate::store) aside: CString,
}

impl LockNames {
    /// Returns names that no other process uses.
    pub(in crate::store) fn new() -> Self {
        Self { candidate: Candidate::name(), aside: temporary_name("stale") }
    }

    /// Returns what has to be written down before they are used.
    pub(in crate::store) fn held(&self) -> [HeldName; 2] {
        [HeldName::of_ours(&self.candidate), HeldName::of_ours(&self.aside)]
    }

    /// Makes the directory that is to become the lock.
    pub(in crate::store) fn make(&self, directory: &Arc<OwnedFd>) -> io::Result<Candidate> {
        Candidate::make(directory, self.candidate.clone())
    }
}

impl Candidate {
    /// Returns what has to be written down before it becomes the lock of that name.
    pub(in crate::store) fn as_lock(&self, name: &CStr) -> HeldName {
        HeldName { name: name.to_string_lossy().into_owned(), inode: self.inode, born: self.born }
    }
}

impl Waiting {
    /// Returns what is needed to wait for a lock.
    pub(in crate::store) fn new(name: CString, path: PathBuf, second_look: Duration, sightings: Sightings) -> Self {
        Self { name, path, second_look, sightings, names: LockNames::new(), met_a_rival: Cell::new(false) }
    }

    /// Waits until the lock is free or its holder is dead, and takes it.
    pub(in crate::store) fn acquire(
        &self,
        directory: &Arc<OwnedFd>,
        mut candidate: Candidate,
        patience: Duration,
    ) -> Result<Arc<Lock>, StoreError> {
        let io = |doing| StoreError::io(doing, &self.path);
        let started = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            candidate = match held_locks::take(candidate, &self.name).map_err(io("cannot take the lock"))? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held(candidate) => {
                    self.met_a_rival.set(true);
                    candidate
                }
                // A process of ours cleared it away, taking us for dead: the turn is no longer ours.
                Attempt::Gone => {
                    candidate = self.names.make(directory).map_err(io("cannot take the lock"))?;
                    continue;
                }
            };
            if let Err(error) = self.wait(directory, &mut backoff, started, patience) {
                candidate.discard();
                return Err(error);
            }
        }
    }

    /// Waits until no rival holds the lock.
    pub(in crate::store) fn wait_until_free(&self, directory: &OwnedFd, patience: Duration) -> Result<(), StoreError> {
        let (started, mut backoff) = (Instant::now(), Backoff::default());
        while look_at(directory.as_fd(), &self.name).is_ok_and(|look| look.is_some()) {
            self.wait(directory, &mut backoff, started, patience)?;
        }
        Ok(())
    }

    /// Returns when it is worth another attempt.
    fn wait(
        &self,
        directory: &OwnedFd,
        backoff: &mut Backoff,
        started: Instant,
        patience: Duration,
    ) -> Result<(), StoreError> {
        let look = look_at(directory.as_fd(), &self.name);
        let Some(look) = look.map_err(StoreError::io("cannot look at the lock", &self.path))? else { return Ok(()) };
        let age = self.sightings.silence(&self.name, &look);
        if age > LIFE && self.take_over(directory, &look)? {
            return Ok(());
        }
        let waited = started.elapsed();
        if !lock::is_directory(&look) && waited >= patience.min(NO_LOCK_PATIENCE) {
            return Err(StoreError::NoLock { path: self.path.clone(), found: special(look.kind) });
        }
        if waited >= patience {
            let by = Occupant::LockHolder { lock: self.path.clone(), age };
            return Err(StoreError::Busy { by, waited });
        }
        let began = Instant::now();
        thread::sleep(backoff.next().min(patience - waited));
        note_wait(began);
        Ok(())
    }

    fn take_over(&self, directory: &OwnedFd, look: &Look) -> Result<bool, StoreError> {
        let io = |doing| StoreError::io(doing, &self.path);
        // A lock from the future was watched by the clock that is never set.
        let pause = if time_ahead(look).is_some() { SHORT_SECOND_LOOK } else { self.second_look };
        let still =
            lock::is_motionless(directory.as_fd(), &self.name, look, pause).map_err(io("cannot look at the lock"))?;
        if !still {
            return Ok(false);
        }
        tracing::info!(lock = %self.path.display(), age_s = lock::age(look).as_secs(), "taking over a dead lock");
        lock::take_aside(directory.as_fd(), &self.name, look, &self.names.aside)
            .map_err(io("cannot take over the lock"))
    }
}
