//! One writer's turn at a list: the head of our queue, the client's lock on the list, and its locks on single tasks.

use std::cell::Cell;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::AtFlags;
use taskyard_core::TaskId;

use super::failpoint::reach;
use super::fingerprint::{Look, look_at};
use super::lock::{self, Candidate, Lock};
use super::place::{OURS, Place, c_name, lock_name};
use super::queue::{self, PATIENCE, Queue};
use super::sightings::Sightings;
use super::state::{self, HeldName, State};
use super::waiting::{LockNames, SHORT_SECOND_LOOK, Waiting};
use super::{gap, held};
use crate::clock;
use crate::liveness::{is_seen_dead, space_tag};
use crate::store::StoreError;

/// How long the locks of single tasks are waited for while the list is locked; then the list is given back first.
const TASK_PATIENCE: Duration = Duration::from_millis(600);
/// Two looks at a dead lock are this far apart when the clock was set since the list was last used, for then every lock looks old until it is refreshed.
const LONG_SECOND_LOOK: Duration = Duration::from_secs(6);
/// How long a lock that was seen to be ours is taken to be, for the words only.
const A_MOMENT: i64 = 1_000_000_000;
const CLOCK_WAS_SET: i64 = 2_000_000_000;

/// A turn. Dropping it gives everything back.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) place: Place,
    pub(super) directory: Arc<OwnedFd>,
    pub(super) state: State,
    /// The writer before us died in the middle of its turn.
    pub(super) is_after_a_death: bool,
    /// The list had no directory before this turn.
    pub(super) is_new: bool,
    /// Ours until the turn ends.
    queue: Option<Queue>,
    list_lock: Arc<Lock>,
    task_locks: Vec<Arc<Lock>>,
    taken: i64,
    /// When the list's lock was last seen to be ours.
    seen_ours: Cell<i64>,
}

impl Turn {
    /// Waits for a turn. The list's directory is made where there is none.
    pub(super) fn take(place: &Place, queue_file: &std::path::Path) -> Result<Self, StoreError> {
        let directory = place.open()?;
        let queue = queue::enter(queue_file, place, directory.as_ref().map(AsFd::as_fd))?;
        Self::take_from(place, directory, queue, PATIENCE)
    }

    /// Takes a turn if nobody of ours is at it and the list's lock is free.
    pub(super) fn try_take(place: &Place, queue_file: &std::path::Path) -> Result<Option<Self>, StoreError> {
        match queue::try_enter(queue_file)? {
            Some(queue) => Self::take_from(place, place.open()?, queue, Duration::ZERO).map(Some),
            None => Ok(None),
        }
    }

    fn take_from(
        place: &Place,
        directory: Option<OwnedFd>,
        queue: Queue,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let state = state::load(&queue.file).unwrap_or_default();
        let streak = gap::leave(&state);
        let offset = clock::wall() - clock::since_boot();
        let clock_was_set = state.turns > 0 && (offset - state.clock_offset).abs() > CLOCK_WAS_SET;
        // What a living one wrote down must stay; then our own lock, should we be killed, has to go stale by itself. One that was
        // at the head of the queue, where we are now, in the middle of its turn, is dead, whether or not its parent noticed.
        let is_dead = || state.holder_space == space_tag() && is_seen_dead(state.holder);
        let has_ended = !state.busy || !state.is_past_queue || is_dead();
        let may_write_down = queue.is_head && has_ended;
        reach("list lock: before");
        let second_look = if clock_was_set { LONG_SECOND_LOOK } else { SHORT_SECOND_LOOK };
        let is_new = directory.is_none();
        let memory = may_write_down.then_some(&queue.file);
        let waiting = Waiting::new(place.lock.clone(), place.lock_path(), second_look, Sightings::beside(&queue.path));
        let (directory, list_lock) = lock_list(place, directory, memory, &waiting, patience)?;
        reach("list lock: taken");
        let taken = clock::since_boot();
        // What others wrote while we waited for the lock counts, not what we read before.
        let mut state = state::load(&queue.file).unwrap_or_default();
        let unclean = state.busy;
        state.busy = true;
        state.is_past_queue = !queue.is_head;
        state.turns += 1;
        state.clock_offset = offset;
        state.streak = streak;
        if waiting.met_a_rival.get() {
            state.rival_met = taken;
        }
        state.holder = lock::process();
        // Only the death of one that is past the queue is ever looked for.
        state.holder_space = if state.is_past_queue { space_tag() } else { 0 };
        let turn = Self {
            place: place.clone(),
            directory,
            state,
            is_after_a_death: unclean,
            is_new,
            queue: Some(queue),
            list_lock,
            task_locks: Vec::new(),
            taken,
            seen_ours: Cell::new(taken),
        };
        turn.save_with(&[])?;
        reach("list lock: remembered");
        Ok(turn)
    }

    /// Takes the client's locks on single tasks, by rising number.
    pub(super) fn lock_tasks(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut ids: Vec<&TaskId> = ids.iter().collect();
        ids.sort();
        let names: Vec<LockNames> = ids.iter().map(|_| LockNames::new()).collect();
        self.save_with(&names.iter().flat_map(LockNames::held).collect::<Vec<_>>())?;
        let queue = self.queue.as_ref().map_or(std::path::Path::new(""), |queue| &queue.path);
        let sightings = Sightings::beside(queue);
        let mut candidates = Vec::with_capacity(ids.len());
        let mut held = Vec::with_capacity(ids.len());
        for (id, names) in ids.iter().zip(names) {
            let file = format!("{}.json", id.file_stem());
            let path = self.place.directory.join(format!("{file}.lock"));
            let made = names.make(&self.directory).map_err(StoreError::io("cannot take the lock", &path));
            let candidate = made.inspect_err(|_| discard_all(&candidates))?;
            let name = lock_name(&file);
            held.extend(names.held());
            held.push(candidate.as_lock(&name));
            let waiting = Waiting { names, ..Waiting::new(name, path, SHORT_SECOND_LOOK, sightings.clone()) };
            candidates.push((waiting, candidate));
        }
        self.save_with(&held).inspect_err(|_| discard_all(&candidates))?;
        self.take_all(candidates)
    }

    fn take_all(&mut self, candidates: Vec<(Waiting, Candidate)>) -> Result<(), StoreError> {
        let started = Instant::now();
        let mut candidates = candidates.into_iter();
        while let Some((waiting, candidate)) = candidates.next() {
            reach("task lock: before");
            let patience = TASK_PATIENCE.saturating_sub(started.elapsed());
            match waiting.acquire(&self.directory, candidate, patience, None) {
                Ok(lock) => self.task_locks.push(held::keep(lock)),
                Err(error) => {
                    candidates.for_each(|(_, candidate)| candidate.discard());
                    return Err(match error {
                        StoreError::Busy { by, .. } => StoreError::Busy { by, waited: Duration::ZERO },
                        other => other,
                    });
                }
            }
            reach("task lock: taken");
        }
        Ok(())
    }

    /// Tells whether the list's lock and those of the tasks are still the ones we made.
    pub(super) fn is_ours(&self) -> bool {
        self.list_lock.is_ours() && self.task_locks.iter().all(|lock| lock.is_ours())
    }

    /// Tells whether the list's lock and that of one task, where we took it, are still the ones we made.
    pub(super) fn is_ours_with(&self, lock_of_task: &CStr) -> bool {
        let of_task = self.task_locks.iter().find(|lock| lock.name() == lock_of_task);
        self.list_lock.is_ours() && of_task.is_none_or(|lock| lock.is_ours())
    }

    /// Tells whether the words our processes leave each other are still ours to write. A lock that was ours a moment ago is:
    /// nobody takes one over within seconds, and at worst files are looked at once more.
    fn may_tell(&self) -> bool {
        let now = clock::since_boot();
        if now - self.seen_ours.get() < A_MOMENT {
            return true;
        }
        self.seen_ours.set(now);
        self.list_lock.is_ours()
    }

    /// Writes what our processes tell each other, unless it is no longer ours to tell: a writer that slept while its lock was
    /// taken over must not write yesterday's words over today's.
    pub(super) fn save(&mut self) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => {
                state::save(&queue.file, &self.state).map_err(StoreError::io("cannot write", &queue.path))
            }
            _ => Ok(()),
        }
    }

    /// Gives the locks of the tasks back.
    pub(super) fn unlock_tasks(&mut self) {
        for lock in self.task_locks.drain(..) {
            lock.remove();
            reach("task lock: given back");
        }
    }

    /// Writes the words, the locks that are held, and further names.
    fn save_with(&self, further: &[HeldName]) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        if !self.may_tell() {
            return Ok(());
        }
        let locks = self.task_locks.iter().chain([&self.list_lock]);
        let mut held: Vec<HeldName> = locks
            .map(|lock| HeldName {
                name: lock.name().to_string_lossy().into_owned(),
                inode: lock.inode,
                born: lock.born,
            })
            .collect();
        held.extend_from_slice(further);
        state::save_all(&queue.file, &self.state, &held).map_err(StoreError::io("cannot write", &queue.path))
    }

    /// Ends the turn.
    pub(super) fn release(&mut self) {
        self.unlock_tasks();
        reach("list lock: before giving back");
        // A lock that was taken over means that somebody else writes these words now.
        if self.state.busy && self.list_lock.is_ours() {
            self.state.busy = false;
            self.state.released = clock::since_boot();
            self.state.held_for = self.state.released - self.taken;
            let _ = self.save_with(&[]);
            reach("list lock: said to be given back");
            self.list_lock.remove();
            self.forget_locks();
            reach("list lock: given back");
        }
        self.queue = None;
    }
}

impl Turn {
    /// Strikes off the locks that were given back: what is made in their place may get the same inode within the same tick.
    fn forget_locks(&self) {
        if let Some(queue) = self.queue.as_ref().filter(|queue| queue.is_head) {
            let _ = state::save_held(&queue.file, lock::process(), &[]);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.release();
    }
}

fn discard_all(candidates: &[(Waiting, Candidate)]) {
    candidates.iter().for_each(|(_, candidate)| candidate.discard());
}

/// Takes the list's lock, making the list's directory where there is none. What is about to be made is written down in
/// `memory`, where it may be.
fn lock_list(
    place: &Place,
    mut directory: Option<OwnedFd>,
    memory: Option<&File>,
    waiting: &Waiting,
    patience: Duration,
) -> Result<(Arc<OwnedFd>, Arc<Lock>), StoreError> {
    let mut attempts = 0;
    loop {
        let directory = Arc::new(match directory.take() {
            Some(directory) => directory,
            None => place.make()?,
        });
        if let Some(memory) = memory {
            bury(&directory, memory, &waiting.names).map_err(StoreError::io("cannot write", "queue"))?;
        }
        let taken = waiting.candidate(&directory, memory).and_then(|candidate| {
            reach("list lock: ready");
            waiting.acquire(&directory, candidate, patience, memory)
        });
        match taken {
            Ok(lock) => return Ok((directory, held::keep(lock))),
            // Somebody removed the whole list in that instant.
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && attempts < 3 => {
                attempts += 1
            }
            Err(error) => return Err(error),
        }
    }
}

/// Removes the locks that a dead writer of ours left, and writes down the names under which we may leave some.
fn bury(directory: &Arc<OwnedFd>, memory: &File, names: &LockNames) -> io::Result<()> {
    let ours = names.held();
    let is_there = |held: &&HeldName| {
        let look = look_at(directory.as_fd(), &c_name(&held.name)).ok().flatten();
        look.is_some_and(|look| is_named(held, &look))
    };
    let dead: Vec<HeldName> = state::load_held(memory).iter().filter(is_there).cloned().collect();
    if !dead.is_empty() {
        let all: Vec<HeldName> = dead.iter().chain(&ours).cloned().collect();
        state::save_held(memory, lock::process(), &all)?;
        reach("locks of the dead: written down");
        for held in &dead {
            remove_dead(directory.as_fd(), held, &names.aside);
            reach("locks of the dead: removed one");
        }
    }
    state::save_held(memory, lock::process(), &ours)
}

fn remove_dead(directory: BorrowedFd<'_>, held: &HeldName, aside: &CStr) {
    let name = c_name(&held.name);
    let Ok(Some(look)) = look_at(directory, &name) else { return };
    if held.name.starts_with(OURS) {
        let _ = rustix::fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR);
    } else if is_named(held, &look) {
        let _ = lock::take_aside(directory, &name, &look, aside);
    }
}

/// Tells whether what stands under a name is the directory that was written down. Inode numbers are used again; where the file
/// system does not tell when a directory was made, it may be a rival's, and has to go stale by itself.
fn is_named(held: &HeldName, look: &Look) -> bool {
    let is_the_one = || look.print.inode == held.inode && look.born == held.born && held.born != 0;
    held.name.starts_with(OURS) || (is_the_one() && lock::is_of_ours(look))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::{HeldName, is_named, look_at};

    #[test]
    fn a_rivals_lock_with_the_inode_and_the_birth_of_one_of_ours_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".lock.lock")).unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let look = look_at(directory.as_fd(), c".lock.lock").unwrap().unwrap();
        let held = HeldName { name: ".lock.lock".into(), inode: look.print.inode, born: look.born };
        assert!(!is_named(&held, &look));
    }
}
