//! Transactions for stores built on the kit.

use std::fmt::Debug;
use std::sync::Arc;

use taskyard_core::{Event, Image, Lease, Moment, Revision, Rules, Task, TaskId};

use super::staging::Staging;
use crate::store::kit::commit::{Kept, ListState};
use crate::store::{LiveView, Lookup, NewLease, Signature, Snapshot, StoreError, Txn, TxnPair, UnreadableTask};

/// The exclusive writer of a list, from the moment it has caught up until it is dropped.
pub trait Writer: Debug {
    /// Returns the current time of the store's clock.
    fn now(&self) -> Result<Moment, StoreError>;

    /// Commits everything staged, atomically. Returns the event for watchers, or `None` if there is none.
    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError>;

    /// Commits everything staged on two lists, both or neither.
    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError>
    where
        Self: Sized;

    /// Returns ids for new tasks. By default, the next unused numbers.
    fn new_ids(&self, staging: &Staging, count: usize, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        staging.next_numbers(count, rules)
    }

    /// Returns the in-memory view of the list, or `None` if the store has none or it is not at the state this
    /// transaction began with.
    fn live(&self, _base: &ListState) -> Option<LiveView<'_>> {
        None
    }

    /// Returns whether another program has written to the list and no process has recorded that yet.
    fn has_met_outside_writes(&self) -> bool {
        false
    }

    /// Returns whether something that is not a task occupies the place of this id.
    fn is_occupied(&self, _id: &TaskId) -> bool {
        false
    }
}

/// A transaction on one list: its writer, and the staged changes.
#[derive(Debug)]
pub struct StagedTxn<W: Writer> {
    writer: W,
    rules: Rules,
    staging: Staging,
}

impl<W: Writer> StagedTxn<W> {
    /// Begins a transaction with a writer that has caught up, over the state it found.
    pub fn new(writer: W, state: Arc<ListState>, rules: Rules) -> Self {
        Self { writer, rules, staging: Staging::over(state) }
    }

    /// Adds tasks to the state the transaction began with, for stores that load tasks on demand.
    pub fn learn(&mut self, tasks: impl IntoIterator<Item = Arc<Kept>>) {
        self.staging.learn(tasks);
    }
}

impl<W: Writer> Snapshot for StagedTxn<W> {
    fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.staging.exists())
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

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        Ok(self.staging.tasks())
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        Ok(self.staging.leases.all())
    }

    fn waiting_for_or_parts(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        Ok(self.staging.waiting_for_or_parts(blocker))
    }

    fn live(&self) -> Result<Option<LiveView<'_>>, StoreError> {
        Ok(self.writer.live(&self.staging.base))
    }

    fn staged(&self) -> Vec<TaskId> {
        self.staging.staged()
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        Ok(self.staging.problems())
    }
}

impl<W: Writer> Txn for StagedTxn<W> {
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError> {
        self.writer.new_ids(&self.staging, count, self.rules)
    }

    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        Ok(self.staging.get(id).is_none() && !self.writer.is_occupied(id))
    }

    fn has_met_outside_writes(&self) -> Result<bool, StoreError> {
        Ok(self.writer.has_met_outside_writes())
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
        Ok(self.staging.grant(lease, &self.writer.now()?))
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
        self.writer.commit(self.staging, signature)
    }
}

/// A transaction on two lists.
#[derive(Debug)]
pub struct StagedPair<W: Writer> {
    from: StagedTxn<W>,
    into: StagedTxn<W>,
}

impl<W: Writer> StagedPair<W> {
    /// Opens both transactions in ascending order of their keys, so that two pairs never deadlock. Fails if the keys
    /// are equal.
    pub fn open<K: Ord>(
        (from, into): (&K, &K),
        open: impl Fn(&K) -> Result<StagedTxn<W>, StoreError>,
    ) -> Result<Self, StoreError> {
        if from == into {
            return Err(StoreError::one_list());
        }
        if from < into {
            let from = open(from)?;
            Ok(Self { from, into: open(into)? })
        } else {
            let into = open(into)?;
            Ok(Self { from: open(from)?, into })
        }
    }
}

impl<W: Writer> TxnPair for StagedPair<W> {
    fn source(&mut self) -> &mut dyn Txn {
        &mut self.from
    }

    fn target(&mut self) -> &mut dyn Txn {
        &mut self.into
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError> {
        let Self { from, into } = *self;
        W::commit_both((from.writer, from.staging), (into.writer, into.staging), signature)
    }
}
