//! Taking the client's locks within a turn: on the list, if a name or the mark is new, and on the tasks whose files are
//! rewritten or removed.
//!
//! A lock is prepared under a name of our own, recorded, and then moved into place in one step, so that rivals are
//! locked out no longer than necessary. A lock whose holder is dead is taken over.
//!
//! The list's lock is left free often enough for rivals that poll. The client tries 30 times within 2.7 s and then
//! gives up. Our own writers pass the turn on within microseconds, so without pauses a rival would nearly always find
//! the lock taken.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use taskyard_core::TaskId;

use super::client_lock;
use super::client_lock::{Attempt, Candidate, LIFE, Lock, age, temporary_name};
use super::dead_locks::{Sightings, time_ahead};
use super::list_paths::lock_name;
use super::queue::{Backoff, is_offset};
use super::turn::WriteTurn;
use crate::failpoint::reach;
use crate::regular_file::special;
use crate::store::locks::list_paths::{Look, look_at};
use crate::store::locks::turn::PATIENCE_IN_TURN;
use crate::store::locks::turn_record::{HeldName, TurnRecord};
use crate::store::waiting::note_wait;
use crate::store::{Occupant, StoreError};
use crate::system;

/// The locks that a change needs.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Wanted {
    /// Whether it needs the lock on the list as a whole.
    pub(in crate::store) list: bool,
    pub(in crate::store) tasks: Vec<TaskId>,
}

/// Locks that are created and recorded but not yet in place. Dropping it removes them.
#[derive(Debug)]
pub(in crate::store) struct Ready {
    /// The list's lock first, then those of the tasks in ascending order of number. Taken from the front.
    locks: VecDeque<(Waiting, Candidate)>,
    has_list: bool,
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.locks.iter().for_each(|(_, candidate)| candidate.discard());
    }
}

impl WriteTurn {
    /// Takes the client's lock on the list, waiting for rivals as long as this turn allows.
    pub(in crate::store) fn lock_list(&mut self) -> Result<(), StoreError> {
        self.lock(&Wanted { list: true, tasks: Vec::new() })
    }

    /// Takes the client's locks on single tasks, in ascending order of number.
    pub(in crate::store) fn lock_tasks(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.lock(&Wanted { list: false, tasks: ids.to_vec() })
    }

    /// Takes the client's locks, waiting for rivals as long as this turn allows.
    pub(in crate::store) fn lock(&mut self, wanted: &Wanted) -> Result<(), StoreError> {
        let mut ready = self.ready(wanted)?;
        let started = Instant::now();
        while let Some((waiting, candidate)) = ready.locks.pop_front() {
            let is_list = std::mem::take(&mut ready.has_list);
            reach(if is_list { "list lock: before" } else { "task lock: before" });
            let patience = self.locks.patience.saturating_sub(started.elapsed());
            let taken = waiting.acquire(&self.directory, candidate, patience);
            self.note_rival(&waiting);
            let lock = taken.map_err(|error| match error {
                // The writer releases the turn before it waits again.
                StoreError::Busy { by, .. } if self.locks.patience <= PATIENCE_IN_TURN => {
                    StoreError::Busy { by, waited: Duration::ZERO }
                }
                other => other,
            })?;
            self.hold(lock, is_list);
        }
        Ok(())
    }

    /// Prepares the locks: creates the candidates and records them.
    pub(in crate::store) fn ready(&mut self, wanted: &Wanted) -> Result<Ready, StoreError> {
        let has_list = wanted.list && !self.locks.has_list();
        let mut ready = Ready { locks: VecDeque::new(), has_list };
        let mut ids: Vec<&TaskId> = wanted.tasks.iter().collect();
        ids.sort();
        let mut places: Vec<_> =
            has_list.then(|| (self.place.lock.clone(), self.place.lock_path())).into_iter().collect();
        places.extend(ids.into_iter().map(|id| {
            let file = format!("{}.json", id.file_stem());
            (lock_name(&file), self.place.directory.join(format!("{file}.lock")))
        }));
        if places.is_empty() {
            return Ok(ready);
        }
        if has_list {
            self.state.streak = leave_gap(&self.state);
        }
        let names: Vec<LockNames> = places.iter().map(|_| LockNames::new()).collect();
        let mut held = self.locks.held();
        held.extend(names.iter().flat_map(LockNames::held));
        self.write_down(&held)?;
        let (second_look, sightings) = (self.second_look(), self.sightings());
        for ((name, path), names) in places.into_iter().zip(names) {
            let made = names.make(&self.directory).map_err(StoreError::io("cannot take the lock", &path));
            // Another program removed the whole list in that instant.
            let candidate = made.map_err(|error| match error {
                StoreError::Io { ref source, .. } if source.kind() == io::ErrorKind::NotFound => {
                    StoreError::Conflict { task: wanted.tasks.first().cloned().unwrap_or_else(|| TaskId::number(0)) }
                }
                other => other,
            })?;
            held.push(candidate.as_lock(&name));
            let waiting = Waiting { names, ..Waiting::new(name, path, second_look, sightings.clone()) };
            ready.locks.push_back((waiting, candidate));
        }
        self.write_down(&held)?;
        reach("locks: ready");
        Ok(ready)
    }

    /// Takes all locks without waiting. If a rival holds one of them, releases the others and returns the one that is
    /// held.
    pub(in crate::store) fn try_lock(&mut self, mut ready: Ready) -> Result<Option<Waiting>, StoreError> {
        let had_list = self.locks.has_list();
        let give_back = |turn: &mut Self| {
            turn.unlock_tasks();
            if !had_list {
                turn.unlock_list();
            }
        };
        while let Some((waiting, candidate)) = ready.locks.pop_front() {
            let is_list = std::mem::take(&mut ready.has_list);
            reach(if is_list { "list lock: before" } else { "task lock: before" });
            let taken = client_lock::take(candidate, &waiting.name);
            match taken.map_err(StoreError::io("cannot take the lock", &waiting.path))? {
                Attempt::Taken(lock) => self.hold(lock, is_list),
                Attempt::Held(candidate) => {
                    waiting.met_a_rival.set(true);
                    self.note_rival(&waiting);
                    candidate.discard();
                    give_back(self);
                    return Ok(Some(waiting));
                }
                Attempt::Gone => {
                    give_back(self);
                    return Ok(Some(waiting));
                }
            }
        }
        Ok(None)
    }

    /// Returns the list's lock and its state if a living rival holds it.
    pub(in crate::store) fn list_lock_of_others(&self) -> Option<(Waiting, Look)> {
        if self.locks.has_list() {
            return None;
        }
        let look = look_at(self.directory.as_fd(), &self.place.lock).ok().flatten()?;
        let waiting =
            || Waiting::new(self.place.lock.clone(), self.place.lock_path(), SHORT_SECOND_LOOK, self.sightings());
        (age(&look) < LIFE).then(|| (waiting(), look))
    }

    /// Waits until no rival holds a lock, as long as this turn allows.
    pub(in crate::store) fn wait_until_free(&self, waiting: &Waiting, started: Instant) -> Result<(), StoreError> {
        let patience = self.locks.patience.saturating_sub(started.elapsed());
        waiting.wait_until_free(&self.directory, patience).map_err(|error| match error {
            StoreError::Busy { by, .. } => StoreError::Busy { by, waited: Duration::ZERO },
            other => other,
        })
    }

    fn hold(&mut self, lock: Arc<Lock>, is_list: bool) {
        if is_list {
            self.locks.since = system::since_boot();
            self.state.clock_offset = system::wall() - self.locks.since;
            self.locks.list = Some(lock);
            reach("list lock: taken");
        } else {
            self.locks.tasks.push(lock);
            reach("task lock: taken");
        }
    }

    fn note_rival(&mut self, waiting: &Waiting) {
        if waiting.met_a_rival.get() && waiting.name == self.place.lock {
            self.state.rival_met = system::since_boot();
        }
    }

    fn sightings(&self) -> Sightings {
        Sightings::beside(self.queue.as_ref().map_or(Path::new(""), |queue| &queue.path))
    }

    /// Returns how far apart the two looks at a dead lock must be. If the clock was set since one of our writers last
    /// had the list's lock, every lock looks old until it is refreshed, so they must be farther apart.
    fn second_look(&self) -> Duration {
        match is_offset(self.state.clock_offset) {
            true => SHORT_SECOND_LOOK,
            false => LONG_SECOND_LOOK,
        }
    }
}

/// Two looks at a dead lock are at least this far apart.
pub(in crate::store) const SHORT_SECOND_LOOK: Duration = Duration::from_millis(25);
/// The distance if the clock was set since the list was last locked: every lock then looks old until it is refreshed.
pub(in crate::store) const LONG_SECOND_LOOK: Duration = Duration::from_secs(6);
/// How long to wait if something that cannot be a lock is in a lock's place: the program that put it there does not
/// follow the protocol.
const NO_LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// A lock to wait for.
#[derive(Debug)]
pub(in crate::store) struct Waiting {
    pub(in crate::store) name: CString,
    pub(in crate::store) path: PathBuf,
    /// How far apart the two looks at a dead lock are.
    pub(in crate::store) second_look: Duration,
    pub(in crate::store) sightings: Sightings,
    pub(in crate::store) names: LockNames,
    /// Whether a rival was found to hold it.
    pub(in crate::store) met_a_rival: Cell<bool>,
}

/// Our own names used while taking one lock.
#[derive(Debug)]
pub(in crate::store) struct LockNames {
    candidate: CString,
    /// The name that a dead lock is moved to.
    pub(in crate::store) aside: CString,
}

impl LockNames {
    /// Returns names that no other process uses.
    pub(in crate::store) fn new() -> Self {
        Self { candidate: Candidate::name(), aside: temporary_name("stale") }
    }

    /// Returns what must be recorded before the names are used.
    pub(in crate::store) fn held(&self) -> [HeldName; 2] {
        [HeldName::of_ours(&self.candidate), HeldName::of_ours(&self.aside)]
    }

    /// Creates the directory that is to become the lock.
    pub(in crate::store) fn make(&self, directory: &Arc<OwnedFd>) -> io::Result<Candidate> {
        Candidate::make(directory, self.candidate.clone())
    }
}

impl Candidate {
    /// Returns what must be recorded before the candidate becomes the lock of that name.
    pub(in crate::store) fn as_lock(&self, name: &CStr) -> HeldName {
        HeldName { name: name.to_string_lossy().into_owned(), inode: self.inode, born: self.born }
    }
}

impl Waiting {
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
            candidate = match client_lock::take(candidate, &self.name).map_err(io("cannot take the lock"))? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held(candidate) => {
                    self.met_a_rival.set(true);
                    candidate
                }
                // Another of our processes removed it because it took us for dead: the turn is no longer ours.
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

    /// Waits a while. Returns when another attempt is worthwhile.
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
        if !client_lock::is_directory(&look) && waited >= patience.min(NO_LOCK_PATIENCE) {
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
        // A lock from the future was timed on the monotonic clock, which is never set.
        let pause = if time_ahead(look).is_some() { SHORT_SECOND_LOOK } else { self.second_look };
        let still = client_lock::is_motionless(directory.as_fd(), &self.name, look, pause)
            .map_err(io("cannot look at the lock"))?;
        if !still {
            return Ok(false);
        }
        tracing::info!(lock = %self.path.display(), age_s = client_lock::age(look).as_secs(), "taking over a dead lock");
        client_lock::take_aside(directory.as_fd(), &self.name, look, &self.names.aside)
            .map_err(io("cannot take over the lock"))
    }
}

/// A rival met within this time, in nanoseconds, is assumed to be still there.
const RIVAL_STAYS: i64 = 60_000_000_000;
/// No process of ours waits longer than this for the benefit of rivals.
const LONGEST: i64 = 5_000_000;
/// If no rival was met, our writers may follow each other without a pause for this long ...
const LONGEST_STREAK: i64 = 20_000_000;
/// ... before the lock is left free for this long.
const REST: Duration = Duration::from_millis(4);

/// Waits if rivals have not had a fair chance since one of our writers released the lock. Returns since when our
/// writers have followed each other without a pause.
pub(in crate::store) fn leave_gap(state: &TurnRecord) -> i64 {
    let now = system::since_boot();
    // Times recorded before a reboot may lie in the future.
    let free_for = (now - state.released).max(0);
    let held_for = state.held_for.clamp(0, 2 * LONGEST);
    if state.rival_met > 0 && now - state.rival_met < RIVAL_STAYS {
        let early = held_for / 2 - free_for;
        if early > 0 {
            thread::sleep(Duration::from_nanos(early.unsigned_abs()));
        }
        return system::since_boot();
    }
    // A writer that flushes while the lock is free leaves enough of a pause.
    if free_for > held_for / 3 {
        return now;
    }
    if now - state.streak > LONGEST_STREAK {
        thread::sleep(REST);
        return system::since_boot();
    }
    state.streak
}
