//! A transaction over two lists: what leaves the one comes to the other, or neither happens.
//!
//! Each list has its own journal, so the moment the change exists is one commit in one of them: the journal of the list
//! that things come to. The list they leave has a note of it beforehand, and follows.

use std::path::Path;
use std::sync::Arc;

use taskyard_core::{Event, Image, TaskId};

use super::clock;
use super::commit;
use super::failpoint::reach;
use super::handle::Handle;
use super::journal::{Journal, Move, NewEntry};
use super::plan::{self, Plan};
use super::repair;
use super::turn::Turn;
use super::txn::FileTxn;
use crate::store::{Signature, StoreError, Txn, TxnPair};

/// Two lists while things move between them.
#[derive(Debug)]
pub(super) struct FilePair {
    from: FileTxn,
    into: FileTxn,
}

impl FilePair {
    /// Waits for a turn at both lists, always in the same order, so that two that cross each other do not wait for ever.
    pub(super) fn open(from: Arc<Handle>, into: Arc<Handle>) -> Result<Self, StoreError> {
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
    fn from(&mut self) -> &mut dyn Txn {
        &mut self.from
    }

    fn into(&mut self) -> &mut dyn Txn {
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
        let (Some(leaving), Some(coming)) = (&leaving, &coming) else {
            return commit_one_side(from, into, leaving.as_ref(), coming.as_ref(), signature);
        };
        let token = format!("{}-{:x}", std::process::id(), clock::wall());
        let written = note(&mut from, &into, leaving, signature, &token).and_then(|()| {
            reach("move: noted");
            let confirm = |journal: &Journal| journal.confirm_move(&token);
            commit::write_journal(&mut into, coming, signature, confirm)
        });
        let came = match written {
            Ok(event) => event,
            Err(error) => {
                let _ = from.journal().forget_move(&token);
                plan::discard(&from.turn, leaving);
                plan::discard(&into.turn, coming);
                return Err(error);
            }
        };
        into.journal_mut().sync()?;
        reach("move: exists");
        // From here on it has happened; what is left is carried out now, or by the next command on either list.
        let strike = |journal: &Journal| journal.forget_move(&token);
        let left = commit::write_journal(&mut from, leaving, signature, strike)?;
        from.journal_mut().sync()?;
        reach("move: followed");
        let came = commit::carry_out(into, coming, came)?;
        let left = commit::carry_out(from, leaving, left)?;
        Ok([Some(left), Some(came)])
    }
}

fn commit_one_side(
    from: FileTxn,
    into: FileTxn,
    leaving: Option<&Plan>,
    coming: Option<&Plan>,
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    let one =
        |txn: FileTxn, plan: Option<&Plan>| plan.map(|plan| commit::commit_plan(txn, plan, signature)).transpose();
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
        peer: into.handle.sidecar()?.clone(),
        signature: signature.clone(),
        changes: leaving.writes.iter().map(change).collect(),
    };
    let journal = from.journal();
    let transaction = journal.begin()?;
    journal.note_move(&coming)?;
    journal.end(transaction)?;
    from.journal_mut().sync()
}

fn discard(txn: &FileTxn, plan: Option<&Plan>) {
    if let Some(plan) = plan {
        plan::discard(&txn.turn, plan);
    }
}

/// Carries out, on the list that things leave, the moves that did happen, and strikes off those that did not.
pub(super) fn finish_noted_moves(turn: &mut Turn, journal: &mut Journal) -> Result<(), StoreError> {
    for noted in journal.noted_moves()? {
        let happened = has_happened(&noted.peer, &noted.token);
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), "finishing a merge that its writer did not finish");
            append(turn, journal, &noted)?;
        }
        journal.forget_move(&noted.token)?;
        journal.end(transaction)?;
    }
    Ok(())
}

fn has_happened(peer: &Path, token: &str) -> bool {
    Journal::open_to_read(peer).ok().flatten().is_some_and(|journal| journal.has_move(token).unwrap_or(false))
}

/// Writes the entries a move should have written; the files follow with everything else that is not written out.
fn append(turn: &Turn, journal: &Journal, noted: &Move) -> Result<(), StoreError> {
    let changes: Vec<Followed<'_>> = noted
        .changes
        .iter()
        .map(|(task, after)| follow(turn, journal, task, after.as_ref()))
        .collect::<Result<_, _>>()?;
    let entries: Vec<NewEntry<'_>> = changes
        .iter()
        .map(|change| NewEntry {
            task: change.task,
            op: noted.signature.op,
            before: change.before.as_ref(),
            after: change.after,
            inode: change.inode,
        })
        .collect();
    journal.append(journal.newest()?.next(), clock::now(), &noted.signature, &entries)
}

/// What a move does to one file of the list that things leave.
struct Followed<'a> {
    task: &'a TaskId,
    before: Option<Image>,
    after: Option<&'a Image>,
    inode: Option<u64>,
}

fn follow<'a>(
    turn: &Turn,
    journal: &Journal,
    task: &'a TaskId,
    after: Option<&'a Image>,
) -> Result<Followed<'a>, StoreError> {
    let found = repair::contents(turn, task)?;
    let inode = match after {
        Some(image) => Some(repair::write_temporary(turn, task, image)?),
        None => found.image().map(|(_, look)| look.print.inode),
    };
    if after.is_none() {
        journal.forget(task)?;
    }
    Ok(Followed { task, before: found.image().map(|(image, _)| image.clone()), after, inode })
}
