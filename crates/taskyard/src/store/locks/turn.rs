//! One writer's turn at a list: the head of our queue. A turn excludes our own writers but no other program; the
//! client's locks are taken within a turn, for as long as it takes to write out files (`client_locking.rs`).
//!
//! The writer that has the turn writes the record that our processes share about a list (`turn_record.rs`).

use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client_lock::Lock;
use super::dead_locks::clear_dead_locks;
use super::list_paths::ListPaths;
use super::queue::{PATIENCE, Queue};
use super::turn_record::{HeldName, TurnRecord, load, save, save_all};
use super::{client_lock, queue};
use crate::failpoint::reach;
use crate::liveness::space_tag;
use crate::store::StoreError;
use crate::store::locks::list_paths::Look;
use crate::store::waiting::note_wait;
use crate::system;

/// How long after the last check, in nanoseconds, a turn is still taken to be ours, for writing the record only.
const A_MOMENT: i64 = 1_000_000_000;

/// A turn. Dropping it releases the turn and all its locks.
#[derive(Debug)]
pub(in crate::store) struct WriteTurn {
    pub(in crate::store) place: ListPaths,
    pub(in crate::store) directory: Arc<OwnedFd>,
    pub(in crate::store) state: TurnRecord,
    /// The previous writer died in the middle of its turn.
    pub(in crate::store) is_after_a_death: bool,
    /// The list had no directory before this turn.
    pub(in crate::store) is_new: bool,
    /// The client's locks that we have taken.
    pub(in crate::store) locks: ClientLocks,
    /// `None` once the turn has ended.
    pub(in crate::store) queue: Option<Queue>,
    /// When the turn was last checked to be ours.
    seen_ours: Cell<i64>,
}

impl WriteTurn {
    /// Waits for a turn. Creates the list's directory if necessary.
    pub(in crate::store) fn take(place: &ListPaths, queue_file: &Path) -> Result<Self, StoreError> {
        client_lock::prepare_for_turn();
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

    /// Takes a turn if none of our writers has one. Does not wait for other programs in the turn, either.
    pub(in crate::store) fn try_take(place: &ListPaths, queue_file: &Path) -> Result<Option<Self>, StoreError> {
        client_lock::prepare_for_turn();
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
        // Another process may have bypassed us while we were suspended just now.
        let Some(state) = queue.turn_record(PATIENCE)? else { return Err(queue.held(PATIENCE)) };
        if state.busy {
            clear_dead_locks(directory.as_fd(), &queue.file).map_err(StoreError::io("cannot write", &queue.path))?;
        }
        client_lock::keep_turn(&queue.file);
        let taken = system::since_boot();
        let turn = Self {
            place: place.clone(),
            directory,
            state: TurnRecord {
                busy: true,
                is_past_queue: !queue.is_head,
                turns: state.turns + 1,
                clock_offset: if state.turns == 0 { system::wall() - taken } else { state.clock_offset },
                holder: client_lock::process(),
                // Only needed if the head of the queue does not tell who has the turn.
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

    /// Returns whether the turn and every lock taken in it are still ours.
    pub(in crate::store) fn is_ours(&self) -> bool {
        self.is_mine() && self.locks.are_ours()
    }

    /// Returns whether the turn, the list's lock and that of one task are still ours. Locks we did not take are not
    /// checked.
    pub(in crate::store) fn is_ours_with(&self, lock_of_task: &CStr) -> bool {
        self.is_mine() && self.locks.are_ours_with(lock_of_task)
    }

    /// Returns whether no other process of ours has taken over the turn.
    pub(in crate::store) fn is_mine(&self) -> bool {
        let Some(queue) = &self.queue else { return false };
        let now = load(&queue.file).ok().flatten().unwrap_or_default();
        (now.turns, now.holder) == (self.state.turns, self.state.holder)
    }

    /// Returns whether we may still write the shared record. A turn that was ours a moment ago still is: no process
    /// takes one over within seconds, and the worst outcome is that files are checked once more.
    fn may_tell(&self) -> bool {
        let now = system::since_boot();
        if now - self.seen_ours.get() < A_MOMENT {
            return true;
        }
        let is_mine = self.is_mine();
        if is_mine {
            self.seen_ours.set(now);
        }
        is_mine
    }

    /// Writes the shared record, unless the turn is no longer ours: a writer that was suspended while its turn was
    /// taken over must not overwrite the newer record.
    pub(in crate::store) fn save(&mut self) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => {
                save(&queue.file, &self.state).map_err(StoreError::io("cannot write", &queue.path))
            }
            _ => Ok(()),
        }
    }

    /// Writes the record together with the locks that we hold or are about to create.
    pub(in crate::store) fn write_down(&self, held: &[HeldName]) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) if self.may_tell() => {
                save_all(&queue.file, &self.state, held).map_err(StoreError::io("cannot write", &queue.path))
            }
            _ => Ok(()),
        }
    }

    /// Releases the client's locks.
    pub(in crate::store) fn unlock(&mut self) {
        self.unlock_tasks();
        self.unlock_list();
    }

    /// Releases the locks on single tasks.
    pub(in crate::store) fn unlock_tasks(&mut self) {
        for lock in self.locks.tasks.drain(..) {
            lock.remove();
            reach("task lock: given back");
        }
    }

    /// Releases the client's lock on the list.
    pub(in crate::store) fn unlock_list(&mut self) {
        if let Some(lock) = self.locks.list.take() {
            self.state.released = system::since_boot();
            self.state.held_for = self.state.released - self.locks.since;
            lock.remove();
            reach("list lock: given back");
        }
    }

    /// Ends the turn.
    pub(in crate::store) fn release(&mut self) {
        self.unlock();
        reach("turn: before giving back");
        // If the turn was taken over, another writer owns the record now.
        if self.state.busy && self.is_mine() {
            self.state.busy = false;
            // Remove the locks from the record: what is created in their place may get the same inode within the same
            // clock tick.
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

/// How long to wait for the client's locks within a turn, before the turn is released.
pub(in crate::store) const PATIENCE_IN_TURN: Duration = Duration::from_millis(600);

/// The client's locks taken in a turn.
#[derive(Debug)]
pub(in crate::store) struct ClientLocks {
    /// How long to wait for rivals.
    pub(in crate::store) patience: Duration,
    /// Whether to keep the list's lock until everything is written out, because the decision depends on the whole list.
    pub(in crate::store) keeps_list: bool,
    /// A rival's lock on the list that we waited for in vain and will not wait for again.
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
    /// Returns whether every lock is still the one we created.
    pub(in crate::store) fn are_ours(&self) -> bool {
        self.all().all(|lock| lock.is_ours())
    }

    /// Returns whether the locks on the list and one task are still the ones we created. Locks we did not take are not
    /// checked.
    pub(in crate::store) fn are_ours_with(&self, lock_of_task: &CStr) -> bool {
        let of_task = self.tasks.iter().find(|lock| lock.name() == lock_of_task);
        self.list.iter().chain(of_task).all(|lock| lock.is_ours())
    }

    /// Returns whether the list's lock is among them.
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

#[cfg(test)]
mod tests {
    use super::{A_MOMENT, WriteTurn};
    use crate::store::locks::list_paths::ListPaths;
    use crate::store::locks::turn_record::{TurnRecord, load, open, save};

    #[test]
    fn resumed_writer_never_overwrites_a_newer_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let mut turn = WriteTurn::take(&ListPaths::of_file(folder.path().to_owned(), "7.json"), &path).unwrap();
        // The writer was suspended, and another one took the turn.
        turn.seen_ours.set(turn.seen_ours.get() - A_MOMENT);
        let newer = TurnRecord { turns: turn.state.turns + 1, ..turn.state };
        let file = open(&path).unwrap();
        save(&file, &newer).unwrap();
        for attempt in 0..2 {
            turn.save().unwrap();
            turn.write_down(&[]).unwrap();
            assert_eq!(load(&file).unwrap(), Some(newer), "attempt {attempt}");
        }
    }
}
