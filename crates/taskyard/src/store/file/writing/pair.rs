//! How the engine commits a transaction on the client's files, and one on two lists of them.

use std::sync::Arc;

use taskyard_core::{Event, Image, TaskId};

use super::commit;
use super::plan::{self, Plan};
use super::txn::FileTxn;
use crate::store::engine::{self, Alongside, ListWriter};
use crate::store::file::handle::{ClientFiles, Handle};
use crate::store::journal::Journal;
use crate::store::{Signature, StoreError, Txn, TxnPair};

/// Two lists while things move between them.
#[derive(Debug)]
pub(in crate::store) struct FilePair {
    from: FileTxn,
    into: FileTxn,
}

impl FilePair {
    /// Waits for a turn at both lists, always in the same order, so that two that cross each other do not wait for ever.
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
        let leaving = plan::prepare(&mut from)?;
        let coming = plan::prepare(&mut into).inspect_err(|_| {
            if let Some(leaving) = &leaving {
                plan::discard(&from.turn, leaving);
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
        let change = |write: &plan::Write| (write.id.clone(), write.after.as_ref().map(|after| after.image.clone()));
        plan.writes.iter().map(change).collect()
    }

    fn hold(&mut self, plan: &mut Plan) -> Result<(), StoreError> {
        self.turn.lock(&plan.locks_to_commit())?;
        plan::verify(&self.turn, plan, false)
    }

    fn announce_move(&mut self) -> Result<(), StoreError> {
        // Odd until both lists have followed or the note is withdrawn: a reader of this list first finds out which it is.
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
        plan::discard(&self.turn, plan);
    }

    fn leave_to_the_note(mut self, plan: &Plan) -> Result<(), StoreError> {
        plan::discard(&self.turn, plan);
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
