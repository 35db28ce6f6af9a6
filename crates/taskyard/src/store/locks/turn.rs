//! One writer's turn at a list: the head of our queue. It keeps our own writers apart, and no other program: the client's locks are taken
//! within a turn, for as long as it takes to write files out (`client_locking.rs`).

use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client_lock::{self, Lock};
use super::dead_locks::clear_dead_locks;
use super::fingerprint::Look;
use super::held_locks;
use super::list_paths::ListPaths;
use super::queue::{self, PATIENCE, Queue};
use super::turn_record::{self, HeldName, TurnRecord};
use crate::clock;
use crate::failpoint::reach;
use crate::liveness::space_tag;
use crate::store::StoreError;
use crate::store::waiting::note_wait;

/// How long a turn that was seen to be ours is taken to be, for the words only.
const A_MOMENT: i64 = 1_000_000_000;

/// A turn. Dropping it gives everything back.
#[derive(Debug)]
pub(in crate::store) struct WriteTurn {
    pub(in crate::store) place: ListPaths,
    pub(in crate::store) directory: Arc<OwnedFd>,
    pub(in crate::store) state: TurnRecord,
    /// The writer before us died in the middle of its turn.
    pub(in crate::store) is_after_a_death: bool,
    /// The list had no directory before this turn.
    pub(in crate::store) is_new: bool,
    /// The client's locks that we have taken.
    pub(in crate::store) locks: ClientLocks,
    /// Ours until the turn ends.
    pub(in crate::store) queue: Option<Queue>,
    /// When the turn was last seen to be ours.
    seen_ours: Cell<i64>,
}

impl WriteTurn {
    /// Waits for a turn. The list's directory is made where there is none.
    pub(in crate::store) fn take(place: &ListPaths, queue_file: &Path) -> Result<Self, StoreError> {
        let directory = place.open()?;
        let began = Instant::now();
        let mut queue = queue::enter(queue_file)?;
        let record = queue.turn_record(PATIENCE)?;
        note_wait(began);
        match record {
            Some(_) => Self::begin(place, directory, queue),
            None => Err(queue.held(PATIENCE)),
        }
    }

    /// Takes a turn if no writer of ours has one. In it we do not wait for other programs, either.
    pub(in crate::store) fn try_take(place: &ListPaths, queue_file: &Path) -> Result<Option<Self>, StoreError> {
        let Some(mut queue) = queue::try_enter(queue_file)? else { return Ok(None) };
        if queue.turn_record(Duration::ZERO)?.is_none() {
            return Ok(None);
        }
        let mut turn = Self::begin(place, place.open()?, queue)?;
        turn.locks.patience = Duration::ZERO;
        Ok(Some(turn))
    }

    fn begin(place: &ListPaths, directory: Option<OwnedFd>, mut queue: Queue) -> Result<Self, StoreError> {
        reach("turn: entered");
        let is_new = directory.is_none();
        let directory = Arc::new(match directory {
            Some(directory) => directory,
            None => place.make()?,
        });
        // Another process may have gone past us while we were suspended just now.
        let Some(state) = queue.turn_record(PATIENCE)? else { return Err(queue.held(PATIENCE)) };
        if state.busy {
            clear_dead_locks(directory.as_fd(), &queue.file).map_err(StoreError::io("cannot write", &queue.path))?;
        }
        held_locks::keep_turn(&queue.file);
        let taken = clock::since_boot();
        let turn = Self {
            place: place.clone(),
            directory,
            state: TurnRecord {
                busy: true,
                is_past_queue: !queue.is_head,
                turns: state.turns + 1,
                clock_offset: if state.turns == 0 { clock::wall() - taken } else { state.clock_offset },
                holder: client_lock::process(),
                // Of interest only where it does not show in who is at the head of the queue.
                holder_space: if queue.is_head { 0 } else { space_tag() },
                ..state
            },
            is_after_a_death: state.busy,
            is_new,
            locks: ClientLocks::default(),
            queue: Some(queue),
            seen_ours: Cell::new(taken),
        };
        turn.write_down(&[])?;
        reach("turn: taken");
        Ok(turn)
    }

    /// Tells whether the turn and every lock that we have taken in it are still ours.
    pub(in crate::store) fn is_ours(&self) -> bool {
        self.is_mine() && self.locks.are_ours()
    }

    /// Tells whether the turn, the list's lock and that of one task, where we took them, are still ours.
    pub(in crate::store) fn is_ours_with(&self, lock_of_task: &CStr) -> bool {
        self.is_mine() && self.locks.are_ours_with(lock_of_task)
    }

    /// Tells whether no process of ours took the turn over.
    pub(in crate::store) fn is_mine(&self) -> bool {
        let Some(queue) = &self.queue else { return false };
        let now = turn_record::load(&queue.file).ok().flatten().unwrap_or_default();
        (now.turns, now.holder) == (self.state.turns, self.state.holder)
    }

    /// Tells whether the words our processes leave each other are still ours to write. A turn that was ours a moment ago is: no process
    /// takes one over within seconds, and at worst files are looked at once more.
    fn may_tell(&self) -> bool {
        let now = clock::since_boot();
        if now - self.seen_ours.get() < A_MOMENT {
            return true;
        }
        self.seen_ours.set(now);
        self.is_mine()
    }

    /// Writes what our processes tell each other, unless it is no longer ours to tell: a writer that slept while its turn was
    /// taken over must not write yesterday's words over today's.
    pub(in crate::store) fn save(&mut self) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => {
                turn_record::save(&queue.file, &self.state).map_err(StoreError::io("cannot write", &queue.path))
            }
            _ => Ok(()),
        }
    }

    /// Writes the words and the locks that we hold or are about to make.
    pub(in crate::store) fn write_down(&self, held: &[HeldName]) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => turn_record::save_all(&queue.file, &self.state, held)
                .map_err(StoreError::io("cannot write", &queue.path)),
            _ => Ok(()),
        }
    }

    /// Gives the client's locks back.
    pub(in crate::store) fn unlock(&mut self) {
        self.unlock_tasks();
        self.unlock_list();
    }

    /// Gives the locks on single tasks back.
    pub(in crate::store) fn unlock_tasks(&mut self) {
        for lock in self.locks.tasks.drain(..) {
            lock.remove();
            reach("task lock: given back");
        }
    }

    /// Gives the client's lock on the list back.
    pub(in crate::store) fn unlock_list(&mut self) {
        if let Some(lock) = self.locks.list.take() {
            self.state.released = clock::since_boot();
            self.state.held_for = self.state.released - self.locks.since;
            lock.remove();
            reach("list lock: given back");
        }
    }

    /// Ends the turn.
    pub(in crate::store) fn release(&mut self) {
        self.unlock();
        reach("turn: before giving back");
        // A turn that was taken over means that another writer writes these words now.
        if self.state.busy && self.is_mine() {
            self.state.busy = false;
            // The locks are struck off: what is made in their place may get the same inode within the same tick.
            let _ = self.write_down(&[]);
            reach("turn: given back");
        }
        self.queue = None;
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        self.release();
    }
}

/// How long the client's locks are waited for within a turn; then the turn is given back first.
pub(in crate::store) const PATIENCE_IN_TURN: Duration = Duration::from_millis(600);

/// The client's locks that a turn has taken.
#[derive(Debug)]
pub(in crate::store) struct ClientLocks {
    /// How long we wait for rivals.
    pub(in crate::store) patience: Duration,
    /// Whether the list's lock is kept until everything is written out: the decision hangs on the whole list.
    pub(in crate::store) keeps_list: bool,
    /// A rival's lock on the list that we waited for in vain, and do not wait for again.
    pub(in crate::store) passed_by: Option<Look>,
    pub(in crate::store) list: Option<Arc<Lock>>,
    pub(in crate::store) tasks: Vec<Arc<Lock>>,
    /// When the list's lock was taken.
    pub(in crate::store) since: i64,
}

impl Default for ClientLocks {
    fn default() -> Self {
        Self { patience: PATIENCE_IN_TURN, keeps_list: false, passed_by: None, list: None, tasks: Vec::new(), since: 0 }
    }
}

impl ClientLocks {
    /// Tells whether every lock is still the one we made.
    pub(in crate::store) fn are_ours(&self) -> bool {
        self.all().all(|lock| lock.is_ours())
    }

    /// Tells the same of the list's lock and that of one task.
    pub(in crate::store) fn are_ours_with(&self, lock_of_task: &CStr) -> bool {
        let of_task = self.tasks.iter().find(|lock| lock.name() == lock_of_task);
        self.list.iter().chain(of_task).all(|lock| lock.is_ours())
    }

    /// Tells whether the list's lock is among them.
    pub(in crate::store) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Lock>> {
        self.list.iter().chain(&self.tasks)
    }

    pub(in crate::store) fn held(&self) -> Vec<HeldName> {
        let held = |lock: &Arc<Lock>| HeldName {
            name: lock.name().to_string_lossy().into_owned(),
            inode: lock.inode,
            born: lock.born,
        };
        self.all().map(held).collect()
    }
}
