//! The client's locks within a turn: on the list, where a name or the mark is new, and on the tasks whose files are rewritten
//! or removed.
//!
//! A lock is made ready under a name of ours, written down, and then takes its place in one step, so that a rival finds it taken
//! for no longer than we need it.

use crate::store::locks::client_locks::PATIENCE_IN_TURN;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard_core::TaskId;

use super::fingerprint::{Look, look_at};
use super::gap;
use super::held_locks;
use super::list_paths::lock_name;
use super::lock::{Attempt, Candidate, LIFE, Lock, age};
use super::queue::is_offset;
use super::sightings::Sightings;
use super::turn::WriteTurn;
use super::waiting::{LONG_SECOND_LOOK, LockNames, SHORT_SECOND_LOOK, Waiting};
use crate::clock;
use crate::failpoint::reach;
use crate::store::StoreError;

/// What a change has to lock.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Wanted {
    /// Whether the list as a whole.
    pub(in crate::store) list: bool,
    /// The tasks.
    pub(in crate::store) tasks: Vec<TaskId>,
}

/// Locks that are made and written down, and not in their places yet. Dropping it removes them.
#[derive(Debug)]
pub(in crate::store) struct Ready {
    /// The list's first, then those of the tasks by rising number; taken from the front.
    locks: VecDeque<(Waiting, Candidate)>,
    has_list: bool,
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.locks.iter().for_each(|(_, candidate)| candidate.discard());
    }
}

impl WriteTurn {
    /// Takes the client's lock on the list, waiting for rivals as long as this turn does.
    pub(in crate::store) fn lock_list(&mut self) -> Result<(), StoreError> {
        self.lock(&Wanted { list: true, tasks: Vec::new() })
    }

    /// Takes the client's locks on single tasks, by rising number.
    pub(in crate::store) fn lock_tasks(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.lock(&Wanted { list: false, tasks: ids.to_vec() })
    }

    /// Takes the client's locks, waiting for rivals as long as this turn does.
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
                // The writer that has the turn gives it back before it waits on.
                StoreError::Busy { by, .. } if self.locks.patience <= PATIENCE_IN_TURN => {
                    StoreError::Busy { by, waited: Duration::ZERO }
                }
                other => other,
            })?;
            self.hold(lock, is_list);
        }
        Ok(())
    }

    /// Makes the locks ready.
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
            self.state.streak = gap::leave(&self.state);
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

    /// Takes the locks where no rival holds one of them; else none, and returns one that is held.
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
            let taken = held_locks::take(candidate, &waiting.name);
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

    /// Returns the list's lock and how it looks, where a living rival holds it.
    pub(in crate::store) fn list_lock_of_others(&self) -> Option<(Waiting, Look)> {
        if self.locks.has_list() {
            return None;
        }
        let look = look_at(self.directory.as_fd(), &self.place.lock).ok().flatten()?;
        let waiting =
            || Waiting::new(self.place.lock.clone(), self.place.lock_path(), SHORT_SECOND_LOOK, self.sightings());
        (age(&look) < LIFE).then(|| (waiting(), look))
    }

    /// Waits until no rival holds a lock, as long as this turn waits for rivals.
    pub(in crate::store) fn wait_until_free(&self, waiting: &Waiting, started: Instant) -> Result<(), StoreError> {
        let patience = self.locks.patience.saturating_sub(started.elapsed());
        waiting.wait_until_free(&self.directory, patience).map_err(|error| match error {
            StoreError::Busy { by, .. } => StoreError::Busy { by, waited: Duration::ZERO },
            other => other,
        })
    }

    fn hold(&mut self, lock: Arc<Lock>, is_list: bool) {
        if is_list {
            self.locks.since = clock::since_boot();
            self.state.clock_offset = clock::wall() - self.locks.since;
            self.locks.list = Some(lock);
            reach("list lock: taken");
        } else {
            self.locks.tasks.push(lock);
            reach("task lock: taken");
        }
    }

    fn note_rival(&mut self, waiting: &Waiting) {
        if waiting.met_a_rival.get() && waiting.name == self.place.lock {
            self.state.rival_met = clock::since_boot();
        }
    }

    fn sightings(&self) -> Sightings {
        Sightings::beside(self.queue.as_ref().map_or(Path::new(""), |queue| &queue.path))
    }

    /// Two looks at a dead lock are farther apart when the clock was set since one of ours last had the list's lock: then every
    /// lock looks old until it is refreshed.
    fn second_look(&self) -> Duration {
        match is_offset(self.state.clock_offset) {
            true => SHORT_SECOND_LOOK,
            false => LONG_SECOND_LOOK,
        }
    }
}
