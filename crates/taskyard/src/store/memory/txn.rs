//! Changing one list, or two at once.

use taskyard_core::rules::numbering::Numbers;
use taskyard_core::{Event, Image, Lease, Revision, Rules, Task, TaskId};

use super::list_cell::Turn;
use crate::store::staged::Staging;
use crate::store::{Lookup, NewLease, Problem, Signature, Snapshot, StoreError, Txn, TxnPair};

/// A transaction on one list. It holds the list's turn until it is dropped.
#[derive(Debug)]
pub(super) struct MemoryTxn {
    turn: Turn,
    rules: Rules,
    staging: Staging,
}

impl MemoryTxn {
    pub(super) fn open(turn: Turn, rules: Rules) -> Self {
        let staging = Staging::over(turn.cell().state());
        Self { turn, rules, staging }
    }
}

impl Snapshot for MemoryTxn {
    fn exists(&self) -> bool {
        self.staging.exists()
    }

    fn revision(&self) -> Revision {
        self.staging.base.revision
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        Ok(self.staging.find(id))
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

    fn broken(&self, id: &TaskId) -> Result<Option<Image>, StoreError> {
        Ok(self.staging.get(id).and_then(|kept| kept.broken(&self.staging.base.home)))
    }
}

impl Txn for MemoryTxn {
    fn numbers(&self) -> Result<Numbers, StoreError> {
        Ok(self.staging.numbers())
    }

    fn put(&mut self, task: Task) -> Result<(), StoreError> {
        self.staging.put(&task, self.rules)
    }

    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        self.staging.put_image(id, image)
    }

    fn replace_broken(&mut self, id: &TaskId, broken: &Image, by: Option<Image>) -> Result<bool, StoreError> {
        Ok(self.staging.replace_broken(id, broken, by))
    }

    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.staging.remove(id)
    }

    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.staging.note_absent(id);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.staging.clear(self.rules);
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
        let Self { turn, staging, .. } = *self;
        let cell = turn.cell();
        let event = cell.book().apply(&cell.list, staging, signature);
        cell.wake_watchers();
        Ok(event)
    }
}

/// A transaction on two lists.
#[derive(Debug)]
pub(super) struct MemoryTxnPair {
    pub(super) from: MemoryTxn,
    pub(super) into: MemoryTxn,
}

impl TxnPair for MemoryTxnPair {
    fn source(&mut self) -> &mut dyn Txn {
        &mut self.from
    }

    fn target(&mut self) -> &mut dyn Txn {
        &mut self.into
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError> {
        // Nothing can fail from here on, and each list is locked only while its own half is applied.
        let Self { from, into } = *self;
        Ok([Box::new(from).commit(signature)?, Box::new(into).commit(signature)?])
    }
}
