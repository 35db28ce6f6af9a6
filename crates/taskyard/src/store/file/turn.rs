//! One writer's turn at a list: the head of our queue, the client's lock on the list, and its locks on single tasks.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use taskyard_core::TaskId;

use super::failpoint::reach;
use super::fingerprint::{Look, look_at};
use super::held;
use super::lock::{self, LIFE, Lock};
use super::place::{Place, lock_name};
use super::queue::{self, PATIENCE, Queue};
use super::state::{self, HeldName, State};
use super::{backoff::Backoff, clock};
use crate::store::StoreError;

/// How long the locks of single tasks are waited for while the list is locked; then the list is given back first.
const TASK_PATIENCE: Duration = Duration::from_millis(600);
/// Two looks at a dead lock are this far apart.
const SECOND_LOOK: Duration = Duration::from_millis(25);
/// ... and this far when the clock was set since the list was last used, for then every lock looks old until it is refreshed.
const LONG_SECOND_LOOK: Duration = Duration::from_secs(6);
const CLOCK_WAS_SET: i64 = 2_000_000_000;
/// The longest pause we leave between two holders of ours.
const LONGEST_GAP: i64 = 5_000_000;

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
}

impl Turn {
    /// Waits for a turn. The list's directory is made where there is none.
    pub(super) fn take(place: &Place, queue_file: &std::path::Path) -> Result<Self, StoreError> {
        let seen = place.open()?;
        let queue = queue::enter(queue_file, &place.directory, seen.as_ref().map(AsFd::as_fd))?;
        Self::take_from(place, queue, PATIENCE)
    }

    /// Takes a turn if nobody of ours is at it and the list's lock is free.
    pub(super) fn try_take(place: &Place, queue_file: &std::path::Path) -> Result<Option<Self>, StoreError> {
        match queue::try_enter(queue_file)? {
            Some(queue) => Self::take_from(place, queue, Duration::ZERO).map(Some),
            None => Ok(None),
        }
    }

    fn take_from(place: &Place, queue: Queue, patience: Duration) -> Result<Self, StoreError> {
        let mut state = state::load(&queue.file).unwrap_or_default();
        leave_a_gap(&state);
        let offset = clock::wall() - clock::since_boot();
        let clock_was_set = state.turns > 0 && (offset - state.clock_offset).abs() > CLOCK_WAS_SET;
        let is_after_a_death = state.busy && queue.is_head && is_dead(state.holder);
        let dead = if is_after_a_death { state::load_held(&queue.file) } else { Vec::new() };
        reach("list lock: before");
        let second_look = if clock_was_set { LONG_SECOND_LOOK } else { SECOND_LOOK };
        let is_new = !place.directory.exists();
        let (directory, list_lock) = lock_list(place, &dead, second_look, patience)?;
        reach("list lock: taken");
        let taken = clock::since_boot();
        // What others wrote while we waited for the lock without the queue counts, not what we read before.
        state = state::load(&queue.file).unwrap_or_default();
        let unclean = state.busy;
        state.busy = true;
        state.turns += 1;
        state.clock_offset = offset;
        state.holder = std::process::id();
        let mut turn = Self {
            place: place.clone(),
            directory,
            state,
            is_after_a_death: unclean,
            is_new,
            queue: Some(queue),
            list_lock,
            task_locks: Vec::new(),
            taken,
        };
        turn.save()?;
        turn.save_held(&[])?;
        reach("list lock: remembered");
        Ok(turn)
    }

    /// Takes the client's locks on single tasks, by rising number.
    pub(super) fn lock_tasks(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut names: Vec<(&TaskId, String)> = ids.iter().map(|id| (id, format!("{}.json", id.file_stem()))).collect();
        names.sort_by(|one, two| one.0.cmp(two.0));
        let intents: Vec<String> = names.iter().map(|(_, name)| format!("{name}.lock")).collect();
        self.save_held(&intents)?;
        let started = Instant::now();
        for (_, name) in &names {
            reach("task lock: before");
            let path = self.place.directory.join(format!("{name}.lock"));
            let waiting = Waiting { name: &lock_name(name), path, second_look: SECOND_LOOK };
            let patience = TASK_PATIENCE.saturating_sub(started.elapsed());
            let lock = waiting.acquire(&self.directory, patience).map_err(|error| match error {
                StoreError::Locked { path, age, .. } => StoreError::Busy { path, age },
                other => other,
            })?;
            self.task_locks.push(held::keep(lock));
            reach("task lock: taken");
        }
        self.save_held(&[])
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

    /// Writes what our processes tell each other.
    pub(super) fn save(&mut self) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        state::save(&queue.file, &self.state).map_err(StoreError::io("cannot write", &queue.path))
    }

    /// Gives the locks of the tasks back.
    pub(super) fn unlock_tasks(&mut self) {
        for lock in self.task_locks.drain(..) {
            lock.remove();
            reach("task lock: given back");
        }
    }

    fn save_held(&self, intents: &[String]) -> Result<(), StoreError> {
        let locks = self.task_locks.iter().chain([&self.list_lock]);
        let mut held: Vec<HeldName> = locks
            .map(|lock| HeldName {
                name: lock.name().to_string_lossy().into_owned(),
                inode: lock.inode,
                born: lock.born,
            })
            .collect();
        held.extend(intents.iter().map(|name| HeldName { name: name.clone(), inode: 0, born: 0 }));
        let Some(queue) = &self.queue else { return Ok(()) };
        state::save_held(&queue.file, &held).map_err(StoreError::io("cannot write", &queue.path))
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
            let _ = self.save();
            self.list_lock.remove();
            reach("list lock: given back");
        }
        self.queue = None;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.release();
    }
}

/// One lock that is waited for.
pub(super) struct Waiting<'a> {
    pub(super) name: &'a CStr,
    pub(super) path: PathBuf,
    pub(super) second_look: Duration,
}

impl Waiting<'_> {
    /// Waits until the lock is free or its holder is dead, and takes it.
    pub(super) fn acquire(&self, directory: &Arc<OwnedFd>, patience: Duration) -> Result<Lock, StoreError> {
        let io = |doing| StoreError::io(doing, &self.path);
        let started = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            if let Some(lock) = Lock::make(directory, self.name).map_err(io("cannot take the lock"))? {
                return Ok(lock);
            }
            let Some(look) = look_at(directory.as_fd(), self.name).map_err(io("cannot look at the lock"))? else {
                continue;
            };
            let age = lock::age(&look);
            if age > LIFE && lock::is_directory(&look) && self.take_over(directory, &look)? {
                continue;
            }
            let waited = started.elapsed();
            if waited >= patience {
                return Err(StoreError::Locked { path: self.path.clone(), age, waited });
            }
            thread::sleep(backoff.next().min(patience - waited));
        }
    }

    fn take_over(&self, directory: &OwnedFd, look: &Look) -> Result<bool, StoreError> {
        let io = |doing| StoreError::io(doing, &self.path);
        let still = lock::is_motionless(directory.as_fd(), self.name, look, self.second_look)
            .map_err(io("cannot look at the lock"))?;
        if !still {
            return Ok(false);
        }
        tracing::info!(lock = %self.path.display(), age_s = lock::age(look).as_secs(), "taking over a dead lock");
        lock::take_aside(directory.as_fd(), self.name, look).map_err(io("cannot take over the lock"))
    }
}

/// Takes the list's lock, making the list's directory where there is none.
fn lock_list(
    place: &Place,
    dead: &[HeldName],
    second_look: Duration,
    patience: Duration,
) -> Result<(Arc<OwnedFd>, Arc<Lock>), StoreError> {
    let waiting = Waiting { name: c".lock.lock", path: place.directory.join(".lock.lock"), second_look };
    let mut attempts = 0;
    loop {
        let directory = Arc::new(place.make()?);
        reclaim(place, &directory, dead, patience)?;
        match waiting.acquire(&directory, patience) {
            Ok(lock) => return Ok((directory, held::keep(lock))),
            // Somebody removed the whole list in that instant.
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && attempts < 3 => {
                attempts += 1
            }
            Err(error) => return Err(error),
        }
    }
}

/// Waits until rivals that poll had a fair chance at the lock since one of ours gave it back.
fn leave_a_gap(state: &State) {
    let due = state.released + (state.held_for / 2).clamp(0, LONGEST_GAP);
    if let Ok(early) = u64::try_from(due - clock::since_boot())
        && early > 0
        && early < LONGEST_GAP.unsigned_abs()
    {
        thread::sleep(Duration::from_nanos(early));
    }
}

/// Removes the locks of a writer of ours that died. One that it was only about to take may be a rival's: that one is
/// waited for, before the list is locked, so that nobody waits for us meanwhile.
fn reclaim(place: &Place, directory: &Arc<OwnedFd>, held: &[HeldName], patience: Duration) -> Result<(), StoreError> {
    for HeldName { name, inode, born } in held {
        let lock = super::place::c_name(name);
        let Ok(Some(look)) = look_at(directory.as_fd(), &lock) else { continue };
        if *born != 0 && look.print.inode == *inode && look.born == *born {
            let _ = lock::take_aside(directory.as_fd(), &lock, &look);
        } else if *inode == 0 && &*lock != c".lock.lock" {
            let waiting = Waiting { name: &lock, path: place.directory.join(name), second_look: SECOND_LOOK };
            drop(waiting.acquire(directory, patience)?);
        }
    }
    Ok(())
}

fn is_dead(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}
