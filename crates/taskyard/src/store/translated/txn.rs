//! A transaction: what was read under the lock, and what is to happen.

use std::collections::HashSet;
use std::sync::Arc;

use taskyard_core::rules::numbering::Numbers;
use taskyard_core::{Event, Image, Lease, Revision, Rules, Task, TaskId};

use super::commit;
use super::form::Form;
use super::handle::Handle;
use super::looking::{Files, Sight, look};
use super::present::Outside;
use super::repair;
use super::turn::Turn;
use crate::clock;
use crate::store::sidecar::Journal;
use crate::store::staged::Staging;
use crate::store::{HistoryQuery, Lookup, NewLease, Problem, Signature, Snapshot, StoreError, Txn};

/// A list while we change it.
#[derive(Debug)]
pub(super) struct TranslatedTxn<F: Form> {
    pub(super) handle: Arc<Handle<F>>,
    /// Given back when the transaction ends.
    journal: Option<Journal>,
    pub(super) sight: Seen<F>,
    pub(super) staging: Staging,
    pub(super) turn: Turn<F>,
}

/// What was seen of the files when the turn began.
#[derive(Debug)]
pub(super) struct Seen<F: Form> {
    pub(super) files: Files<F>,
    pub(super) outside: Vec<Outside>,
}

impl<F: Form> TranslatedTxn<F> {
    /// Waits for a turn at the list.
    pub(super) fn open(handle: Arc<Handle<F>>) -> Result<Self, StoreError> {
        let (turn, journal) = handle.take_turn()?;
        Self::begin(handle, turn, journal)
    }

    /// Begins where nobody else is at it.
    pub(super) fn try_open(handle: Arc<Handle<F>>) -> Result<Option<Self>, StoreError> {
        match handle.try_take_turn()? {
            Some((turn, journal)) => Self::begin(handle, turn, journal).map(Some),
            None => Ok(None),
        }
    }

    fn begin(handle: Arc<Handle<F>>, turn: Turn<F>, journal: Journal) -> Result<Self, StoreError> {
        let Sight { state, files, outside, .. } = look(&handle, Some(&journal))?;
        let staging = Staging::over(Arc::new(state));
        Ok(Self { handle, journal: Some(journal), sight: Seen { files, outside }, staging, turn })
    }

    /// Returns the journal.
    pub(super) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the transaction ends")
    }

    /// Finishes, within this turn, what is in the journal and not in the files.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        repair::repair(&self.handle, &mut self.turn, journal_mut(&mut self.journal))
    }

    /// Tells whether nothing stands under a task's name, in the list and in its place.
    fn has_room_for(&self, id: &TaskId) -> bool {
        let form = &self.handle.form;
        self.staging.get(id).is_none() && !form.is_occupied(&self.handle.path, self.sight.files.raw(), id)
    }

    /// Waits until a commit that exists is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        journal_mut(&mut self.journal).sync()
    }
}

fn journal_mut(journal: &mut Option<Journal>) -> &mut Journal {
    journal.as_mut().expect("the journal is there until the transaction ends")
}

impl<F: Form> Drop for TranslatedTxn<F> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.handle.give_back(journal);
        }
    }
}

impl<F: Form> Snapshot for TranslatedTxn<F> {
    fn exists(&self) -> bool {
        self.staging.exists()
    }

    fn revision(&self) -> Revision {
        self.staging.base.revision
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        Ok(self.staging.find(id))
    }

    fn counts_missing(&self) -> bool {
        self.staging.base.counts_missing
    }

    fn gives_numbers(&self) -> bool {
        false
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        Ok(self.staging.tasks())
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        Ok(self.staging.leases.all())
    }

    fn waiting_for(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        Ok(self.staging.waiting_for(blocker))
    }

    fn problems(&self) -> Result<Vec<Problem>, StoreError> {
        Ok(self.staging.problems())
    }
}

impl<F: Form> Txn for TranslatedTxn<F> {
    fn numbers(&self) -> Result<Numbers, StoreError> {
        Ok(self.staging.numbers())
    }

    fn new_id(&self, _rules: Rules) -> Result<TaskId, StoreError> {
        loop {
            let id = self.handle.form.new_id(clock::now());
            // What the journal knows may be missing, and come back under its id.
            let known = HistoryQuery { task: Some(id.clone()), newest: Some(1), ..HistoryQuery::default() };
            if self.has_room_for(&id) && self.journal().select(&known)?.is_empty() {
                return Ok(id);
            }
        }
    }

    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        Ok(self.has_room_for(id))
    }

    fn new_ids(&self, count: usize, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let mut ids = Vec::with_capacity(count);
        let mut given = HashSet::with_capacity(count);
        while ids.len() < count {
            let id = self.new_id(rules)?;
            if given.insert(id.clone()) {
                ids.push(id);
            }
        }
        // Tasks are kept by their names: what comes in one order is to be seen in it.
        ids.sort();
        Ok(ids)
    }

    fn put(&mut self, task: Task) -> Result<(), StoreError> {
        self.staging.put(&task, self.handle.rules)
    }

    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        self.staging.put_image(id, image)
    }

    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.staging.remove(id)
    }

    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.staging.note_absent(id);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.staging.clear(self.handle.rules);
        Ok(())
    }

    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError> {
        Ok(self.staging.grant(lease))
    }

    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.staging.leases.set(lease);
        Ok(())
    }

    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError> {
        self.staging.end_lease(task);
        Ok(())
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit::commit(*self, signature)
    }
}
