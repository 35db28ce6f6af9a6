//! The tasks a change has to do with: each read once, and written once at the end.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Task, TaskId};

use super::halt::Halt;
use crate::store::{Lookup, StoreError, Txn};

/// What a transaction has read so far, with the changes made to it.
pub(super) struct Workbench<'a> {
    txn: &'a mut dyn Txn,
    pieces: HashMap<TaskId, Piece>,
    changed: BTreeSet<TaskId>,
    /// Which of them must not be there yet.
    new: BTreeSet<TaskId>,
}

/// What stands under an id.
enum Piece {
    Task(Box<Task>),
    Missing,
    Unreadable(Refusal),
}

impl<'a> Workbench<'a> {
    pub(super) fn on(txn: &'a mut dyn Txn) -> Self {
        Self { txn, pieces: HashMap::new(), changed: BTreeSet::new(), new: BTreeSet::new() }
    }

    /// Returns a task, where there is one. What cannot be read counts as absent.
    pub(super) fn find(&mut self, id: &TaskId) -> Result<Option<&Task>, StoreError> {
        match self.piece(id)? {
            Piece::Task(task) => Ok(Some(task)),
            Piece::Missing | Piece::Unreadable(_) => Ok(None),
        }
    }

    /// Returns a task that must be there, or refuses with what `missing` says.
    pub(super) fn demand(&mut self, id: &TaskId, missing: impl FnOnce() -> Refusal) -> Result<&Task, Halt> {
        match self.piece(id)? {
            Piece::Task(task) => Ok(task),
            Piece::Missing => Err(missing().into()),
            Piece::Unreadable(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Returns the tasks a task waits for that are there and still open.
    pub(super) fn open_blockers(&mut self, task: &Task) -> Result<Vec<TaskId>, StoreError> {
        let mut open = Vec::new();
        for id in &task.blocked_by {
            let is_open = match self.piece(id)? {
                Piece::Task(task) => task.status.is_open(),
                Piece::Missing => self.txn.counts_missing(),
                Piece::Unreadable(_) => false,
            };
            if is_open {
                open.push(id.clone());
            }
        }
        Ok(open)
    }

    /// Returns the tasks that wait for a task, by rising number: as they were found, with the changes made to them.
    pub(super) fn waiting_for(&mut self, blocker: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let mut ids: BTreeSet<TaskId> = self.changed.clone();
        for task in self.txn.waiting_for(blocker)? {
            ids.insert(task.id.clone());
            // What is on the bench already may have changed there.
            self.pieces.entry(task.id.clone()).or_insert_with(|| Piece::Task(Box::new(task)));
        }
        let waits = |id: &TaskId| match self.pieces.get(id) {
            Some(Piece::Task(task)) => task.blocked_by.contains(blocker),
            Some(Piece::Missing | Piece::Unreadable(_)) | None => false,
        };
        Ok(ids.into_iter().filter(waits).collect())
    }

    /// Puts a new task on the bench.
    pub(super) fn put_new(&mut self, task: Task) {
        self.changed.insert(task.id.clone());
        self.new.insert(task.id.clone());
        self.pieces.insert(task.id.clone(), Piece::Task(Box::new(task)));
    }

    /// Changes a task that is there; one that is not stays away.
    pub(super) fn change(&mut self, id: &TaskId, change: impl FnOnce(&mut Task)) -> Result<(), StoreError> {
        let Piece::Task(task) = self.piece(id)? else { return Ok(()) };
        let before = task.clone();
        change(task);
        if *task != before {
            self.changed.insert(id.clone());
        }
        Ok(())
    }

    /// Stages everything that was changed.
    pub(super) fn stage(mut self) -> Result<(), StoreError> {
        for id in &self.changed {
            match self.pieces.remove(id) {
                Some(Piece::Task(task)) if self.new.contains(id) => self.txn.put_new(*task)?,
                Some(Piece::Task(task)) => self.txn.put(*task)?,
                Some(Piece::Missing | Piece::Unreadable(_)) | None => {}
            }
        }
        Ok(())
    }

    fn piece(&mut self, id: &TaskId) -> Result<&mut Piece, StoreError> {
        match self.pieces.entry(id.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(match self.txn.find(id)? {
                Lookup::Found(task, _) => Piece::Task(task),
                Lookup::Missing => Piece::Missing,
                Lookup::Unreadable(problem) => Piece::Unreadable(problem.into_refusal()),
            })),
        }
    }
}
