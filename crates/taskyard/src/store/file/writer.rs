//! How a transaction is written: it implements the contract of every store, and is what the engine commits. [`FilePair`]
//! is a transaction on two lists.

use std::os::fd::AsFd;
use std::sync::Arc;

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::dialect::native;
use taskyard_core::{Event, Image, Lease, Task, TaskId};

use super::client_files::{ClientFiles, Handle};
use super::commit;
use super::commit::Plan;
use super::reading::files;
use super::reading::files::Contents;
use super::txn::{FileTxn, Staged};
use crate::store::engine::{Alongside, ListWriter};
use crate::store::journal::Journal;
use crate::store::kit::free_numbers;
use crate::store::locks::list_paths;
use crate::store::{Lookup, NewLease, Signature, Snapshot as _, StoreError, Txn, TxnPair, engine};

impl Txn for FileTxn {
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError> {
        free_numbers(self.numbers()?, count, self.handle.rules, |id| self.is_free(id))
    }

    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        let (place, directory) = (&self.turn.place, self.turn.directory.as_fd());
        let is_hidden = files::is_out_of_sight(place, directory, id);
        let is_hidden = is_hidden.map_err(StoreError::io("cannot look at", place.task_file(id)))?;
        Ok(!is_hidden && matches!(self.find(id)?, Lookup::Missing))
    }

    fn has_met_outside_writes(&self) -> Result<bool, StoreError> {
        for (id, contents) in &*self.read.borrow() {
            let found = contents.image().map(|(image, _)| image);
            if self.journal().known(id)?.is_some_and(|known| Some(&known.image) != found) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn put(&mut self, task: Task) -> Result<(), StoreError> {
        let rules = self.handle.rules;
        let id = task.id.clone();
        let staged = self.stage(&id)?;
        let image = native::write(staged.after.as_ref(), &task, rules)
            .map_err(|source| StoreError::TooLarge { task: id, source })?;
        staged.after = Some(image);
        self.needs_lock_file |= staged.before.is_none();
        Ok(())
    }

    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        let former_mode = if self.stage(id)?.before.is_none() { self.journal().last_mode(id)? } else { None };
        let staged = self.stage(id)?;
        staged.after = Some(image);
        staged.former_mode = former_mode;
        self.needs_lock_file |= staged.before.is_none();
        Ok(())
    }

    fn replace_broken(&mut self, id: &TaskId, broken: &Image, by: Option<Image>) -> Result<bool, StoreError> {
        match self.read(id)? {
            Contents::Broken(_, Some((image, look))) if image == *broken && !self.staged.contains_key(id) => {
                self.staged.insert(id.clone(), Staged::over(Some((image, look)), by));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.stage(id)?.after = None;
        Ok(())
    }

    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError> {
        if matches!(self.find(id)?, Lookup::Missing) {
            self.stage(id)?.is_noted = true;
        }
        Ok(())
    }

    fn lock_list(&mut self) -> Result<(), StoreError> {
        self.turn.lock_list()?;
        self.turn.locks.keeps_list = true;
        self.read.borrow_mut().clear();
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.needs_lock_file = true;
        self.is_reset = true;
        let names = list_paths::names(self.turn.directory.as_fd(), &self.turn.place.directory)?;
        let sees_hidden = self.turn.place.sees_hidden;
        let task_of =
            |name: &String| list_paths::task_of(name).or_else(|| hidden_task_of(name).filter(|_| sees_hidden));
        for id in names.iter().filter_map(task_of) {
            let is_task = matches!(self.read(&id)?, Contents::Task(..));
            let is_file = matches!(self.read(&id)?, Contents::Broken(_, Some(_)));
            if is_task || (is_file && self.handle.rules.is_client()) {
                self.stage(&id)?.after = None;
            }
        }
        let made_here: Vec<TaskId> = self.staged.keys().cloned().collect();
        for id in made_here {
            self.stage(&id)?.after = None;
        }
        Ok(())
    }

    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError> {
        let now = self.handle.files.clock.now();
        Ok(self.leases_to_change()?.grant(lease, &now))
    }

    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.leases_to_change()?.set(lease);
        Ok(())
    }

    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError> {
        if self.standing.has_leases || self.leases.get().is_some() {
            self.leases_to_change()?.end(task);
        }
        Ok(())
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit::commit(*self, signature)
    }
}

/// A transaction over two lists.
#[derive(Debug)]
pub(in crate::store) struct FilePair {
    from: FileTxn,
    into: FileTxn,
}

impl FilePair {
    /// Waits for a turn on both lists, always in the same order, so that two crossing moves do not deadlock.
    pub(in crate::store) fn open(from: Arc<Handle>, into: Arc<Handle>) -> Result<Self, StoreError> {
        if from.files.place.directory <= into.files.place.directory {
            let from = FileTxn::open(from)?;
            Ok(Self { from, into: FileTxn::open(into)? })
        } else {
            let into = FileTxn::open(into)?;
            Ok(Self { from: FileTxn::open(from)?, into })
        }
    }
}

impl TxnPair for FilePair {
    fn source(&mut self) -> &mut dyn Txn {
        &mut self.from
    }

    fn target(&mut self) -> &mut dyn Txn {
        &mut self.into
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError> {
        let Self { mut from, mut into } = *self;
        let leaving = commit::prepare(&mut from)?;
        let coming = commit::prepare(&mut into).inspect_err(|_| {
            if let Some(leaving) = &leaving {
                commit::discard(&from.turn, leaving);
            }
        })?;
        match (leaving, coming) {
            (Some(leaving), Some(coming)) => {
                engine::commit_both((from, leaving), (into, coming), signature).map(|events| events.map(Some))
            }
            (leaving, coming) => commit_one_side(from, into, leaving, coming, signature),
        }
    }
}

impl ListWriter for FileTxn {
    type Files = ClientFiles;
    type Plan = Plan;
    type Journaled = ();

    fn open_list(&self) -> &Arc<Handle> {
        &self.handle
    }

    fn journal(&self) -> &Journal {
        Self::journal(self)
    }

    fn changes(plan: &Plan) -> Vec<(TaskId, Option<Image>)> {
        let change = |write: &commit::Write| (write.id.clone(), write.after.as_ref().map(|after| after.image.clone()));
        plan.writes.iter().map(change).collect()
    }

    fn hold(&mut self, plan: &mut Plan) -> Result<(), StoreError> {
        self.turn.lock(&plan.locks_to_commit())?;
        commit::verify(&self.turn, plan, false)
    }

    fn announce_move(&mut self) -> Result<(), StoreError> {
        // The sequence is odd until both lists are written or the move is withdrawn: readers of this list first
        // determine which.
        self.turn.state.sequence |= 1;
        self.turn.save()
    }

    fn withdraw_move(&mut self) {
        if self.turn.state.sequence % 2 == 1 {
            self.turn.state.sequence += 1;
            let _ = self.turn.save();
        }
    }

    fn write_journal_alone(&mut self, plan: &mut Plan, signature: &Signature) -> Result<(Event, ()), StoreError> {
        commit::write_journal(self, plan, signature).map(|event| (event, ()))
    }

    fn write_journal(
        &mut self,
        plan: &mut Plan,
        signature: &Signature,
        with: Alongside<'_>,
    ) -> Result<(Event, ()), StoreError> {
        commit::write_locked(self, plan, signature, with).map(|event| (event, ()))
    }

    fn must_stand_as_read(&self, task: &TaskId) -> Result<(), StoreError> {
        match Self::journal(self).stands_as(&self.standing)? {
            true => Ok(()),
            false => Err(StoreError::Conflict { task: task.clone() }),
        }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Self::sync(self)
    }

    fn can_be_halved(plan: &Plan) -> bool {
        plan.can_be_halved()
    }

    fn write_out(self, plan: &Plan, (): (), event: &mut Event) -> Result<(), StoreError> {
        commit::carry_out(self, plan, event)
    }

    fn end_turn(&mut self) {
        self.turn.release();
    }

    fn discard(&self, plan: &Plan) {
        commit::discard(&self.turn, plan);
    }

    fn leave_to_the_note(mut self, plan: &Plan) -> Result<(), StoreError> {
        commit::discard(&self.turn, plan);
        self.announce_move()
    }
}

fn commit_one_side(
    from: FileTxn,
    into: FileTxn,
    leaving: Option<Plan>,
    coming: Option<Plan>,
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    let one = |txn: FileTxn, plan: Option<Plan>| plan.map(|plan| engine::commit(txn, plan, signature)).transpose();
    Ok([one(from, leaving)?, one(into, coming)?])
}
