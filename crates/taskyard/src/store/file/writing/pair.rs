//! A transaction over two lists: what leaves the one comes to the other, or neither happens.
//!
//! Each list has its own journal, so the moment the change exists is one commit in one of them: the journal of the list
//! that things come to. The list they leave has a note of it beforehand, and follows.

use std::sync::Arc;
use std::time::Instant;

use taskyard_core::{Event, Op};

use super::commit::{self, Alongside};
use super::plan::{self, Plan};
use super::txn::FileTxn;
use crate::clock;
use crate::failpoint::reach;
use crate::store::file::handle::Handle;
use crate::store::locks::queue::PATIENCE;
use crate::store::sidecar::{Journal, Move};
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
        if from.place.directory <= into.place.directory {
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
        let coming = match plan::prepare(&mut into) {
            Ok(coming) => coming,
            Err(error) => {
                discard(&from, leaving.as_ref());
                return Err(error);
            }
        };
        let (mut leaving, mut coming) = match (leaving, coming) {
            (Some(leaving), Some(coming)) => (leaving, coming),
            (leaving, coming) => return commit_one_side(from, into, leaving, coming, signature),
        };
        // Neither list may change under the decision until it has happened on both.
        let locked = lock(&mut from, &mut leaving).and_then(|()| lock(&mut into, &mut coming));
        if let Err(error) = locked {
            plan::discard(&from.turn, &leaving);
            plan::discard(&into.turn, &coming);
            return Err(error);
        }
        let token = format!("{}-{:x}", std::process::id(), clock::wall());
        let written = note(&mut from, &into, &leaving, signature, &token).and_then(|()| {
            reach("move: noted");
            let task = coming.writes[0].id.clone();
            let origin = from.handle.as_peer()?;
            let confirm = |journal: &Journal| match journal.confirm_move(&token, &origin)? {
                true => Ok(()),
                // This process was suspended, and another one wrote to the source list in between.
                false => Err(StoreError::Conflict { task: task.clone() }),
            };
            let former = (signature.op == Op::Rename).then(|| from.journal());
            let alongside = Alongside { former, with: Some(&confirm) };
            commit::write_locked(&mut into, &mut coming, signature, alongside)
        });
        let mut came = match written {
            Ok(event) => event,
            Err(error) => {
                withdraw(&mut from, &token);
                plan::discard(&from.turn, &leaving);
                plan::discard(&into.turn, &coming);
                return Err(error);
            }
        };
        // From here on it has happened; what is left is carried out now, or by the next command on either list.
        match finish((from, &mut leaving), (into, &coming, &mut came), signature, &token) {
            Ok(left) => Ok([Some(left), Some(came)]),
            Err(cause) => Err(StoreError::unfinished(Some(came), cause)),
        }
    }
}

/// Carries out a move that has happened. Until the list that things leave has followed, the other one is not marked as written out: so
/// readers of either finish first what this leaves.
fn finish(
    (mut from, leaving): (FileTxn, &mut Plan),
    (mut into, coming, came): (FileTxn, &Plan, &mut Event),
    signature: &Signature,
    token: &str,
) -> Result<Event, StoreError> {
    // Before anything leaves, what came has to survive a power loss.
    into.sync()?;
    reach("move: exists");
    let strike = |journal: &Journal| journal.forget_move(token);
    let strike = Alongside { with: Some(&strike), ..Alongside::default() };
    let left = match commit::write_locked(&mut from, leaving, signature, strike) {
        Ok(left) => {
            from.sync()?;
            Ok(left)
        }
        Err(error) => {
            tracing::debug!(%error, "the list that tasks leave follows by its note");
            Err(follow_by_the_note(&mut from, leaving)?)
        }
    };
    reach("move: followed");
    if let Err(error) = into.journal().forget_arrival(token) {
        tracing::debug!(%error, "that a move was followed is left for the next writer to find");
    }
    commit::carry_out(into, coming, came)?;
    match left {
        Ok(mut left) => commit::carry_out(from, leaving, &mut left).map(|()| left),
        Err(followed) => Ok(followed),
    }
}

/// Removes the note of a move that did not happen. If that fails, the list's next writer does it.
fn withdraw(from: &mut FileTxn, token: &str) {
    if let Err(error) = from.journal().forget_move(token) {
        tracing::debug!(%error, "the note of a move that did not happen is left to the next writer");
        return;
    }
    if from.turn.state.sequence % 2 == 1 {
        from.turn.state.sequence += 1;
        let _ = from.turn.save();
    }
}

/// Lets the list that things leave follow by its note: our turn at it was taken over while we slept.
fn follow_by_the_note(from: &mut FileTxn, leaving: &Plan) -> Result<Event, StoreError> {
    plan::discard(&from.turn, leaving);
    from.turn.state.sequence |= 1;
    from.turn.save()?;
    from.turn.release();
    let started = Instant::now();
    let (mut turn, journal) = loop {
        match from.handle.take_turn() {
            Ok(taken) => break taken,
            Err(StoreError::Busy { .. } | StoreError::Conflict { .. }) if started.elapsed() < PATIENCE => {}
            Err(error) => return Err(error),
        }
    };
    turn.release();
    let revision = journal.newest()?;
    from.handle.give_back(journal);
    Ok(Event { list: from.handle.list.clone(), revision, entries: Vec::new() })
}

fn commit_one_side(
    from: FileTxn,
    into: FileTxn,
    leaving: Option<Plan>,
    coming: Option<Plan>,
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    let one = |txn: FileTxn, plan: Option<Plan>| plan.map(|plan| commit::commit_plan(txn, plan, signature)).transpose();
    Ok([one(from, leaving)?, one(into, coming)?])
}

fn note(
    from: &mut FileTxn,
    into: &FileTxn,
    leaving: &Plan,
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let change = |write: &plan::Write| (write.id.clone(), write.after.as_ref().map(|after| after.image.clone()));
    let coming = Move {
        token: token.to_owned(),
        peer: into.handle.as_peer()?,
        signature: signature.clone(),
        changes: leaving.writes.iter().map(change).collect(),
    };
    let journal = from.journal();
    let transaction = journal.begin()?;
    journal.note_move(&coming)?;
    journal.end(transaction)?;
    // Odd until both lists have followed or the note is withdrawn: a reader of this list first finds out which it is.
    from.turn.state.sequence |= 1;
    from.turn.save()?;
    from.sync()
}

/// Takes the locks of the tasks that are rewritten or removed, and looks that they are what the decision was made on.
fn lock(txn: &mut FileTxn, plan: &mut Plan) -> Result<(), StoreError> {
    txn.turn.lock(&plan.locks_to_commit())?;
    plan::verify(&txn.turn, plan, false)
}

fn discard(txn: &FileTxn, plan: Option<&Plan>) {
    if let Some(plan) = plan {
        plan::discard(&txn.turn, plan);
    }
}
