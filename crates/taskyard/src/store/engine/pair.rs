//! A change of two lists: what leaves the one comes to the other, or neither happens.
//!
//! Each list has its own journal, so the moment the change exists is one commit in one of them: the journal of the list that things come
//! to. The list they leave has a note of it beforehand, and follows.

use std::sync::Arc;

use taskyard_core::{Event, Op, TaskId};

use super::commit::{Alongside, ListWriter};
use super::open_list::{ListFiles, OpenList};
use crate::clock;
use crate::failpoint::reach;
use crate::store::journal::{Journal, Move};
use crate::store::{Signature, StoreError};

/// Makes what was planned for two lists happen, all of it or nothing. Neither plan is empty.
pub(in crate::store) fn commit_both<S: ListWriter>(
    (mut from, mut leaving): (S, S::Plan),
    (mut into, mut coming): (S, S::Plan),
    signature: &Signature,
) -> Result<[Event; 2], StoreError> {
    let token = format!("{}-{:x}", std::process::id(), clock::wall());
    let existing = exist((&mut from, &mut leaving), (&mut into, &mut coming), signature, &token);
    let (mut came, journaled) = existing.inspect_err(|_| {
        from.discard(&leaving);
        into.discard(&coming);
    })?;
    // From here on it has happened; what is left is carried out now, or by the next command on either list.
    match finish((from, leaving), (into, coming, journaled, &mut came), signature, &token) {
        Ok(left) => Ok([left, came]),
        Err(cause) => Err(StoreError::unfinished(Some(came), cause)),
    }
}

/// Notes the move on the list that things leave, and commits it to the list that they come to.
fn exist<S: ListWriter>(
    (from, leaving): (&mut S, &mut S::Plan),
    (into, coming): (&mut S, &mut S::Plan),
    signature: &Signature,
    token: &str,
) -> Result<(Event, S::Journaled), StoreError> {
    // Neither list may change under the decision until it has happened on both.
    from.hold(leaving)?;
    into.hold(coming)?;
    let came = note(from, into, leaving, signature, token).and_then(|()| {
        reach("move: noted");
        let origin = from.open_list().as_peer()?;
        let task = S::changes(coming).into_iter().next().map_or_else(|| TaskId::number(0), |(task, _)| task);
        let confirm = |journal: &Journal| match journal.confirm_move(token, &origin)? {
            true => Ok(()),
            // This process was suspended, and another one wrote to the source list in between.
            false => Err(StoreError::Conflict { task: task.clone() }),
        };
        let former = (signature.op == Op::Rename).then(|| from.journal());
        into.write_journal(coming, signature, Alongside { former, with: Some(&confirm) })
    });
    came.inspect_err(|_| match from.journal().forget_move(token) {
        Ok(()) => from.withdraw_move(),
        Err(error) => tracing::debug!(%error, "the note of a move that did not happen is left to the next writer"),
    })
}

fn note<S: ListWriter>(
    from: &mut S,
    into: &S,
    leaving: &S::Plan,
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let noted = Move {
        token: token.to_owned(),
        peer: into.open_list().as_peer()?,
        signature: signature.clone(),
        changes: S::changes(leaving),
    };
    let journal = from.journal();
    let transaction = journal.begin()?;
    journal.note_move(&noted)?;
    journal.end(transaction)?;
    from.announce_move()?;
    from.sync()
}

/// Carries out a move that has happened. Until the list that things leave has followed, the other one is not marked as written out: so
/// readers of either finish first what this leaves.
fn finish<S: ListWriter>(
    (mut from, mut leaving): (S, S::Plan),
    (mut into, coming, journaled, came): (S, S::Plan, S::Journaled, &mut Event),
    signature: &Signature,
    token: &str,
) -> Result<Event, StoreError> {
    // Before anything leaves, what came has to survive a power loss.
    into.sync()?;
    reach("move: exists");
    let strike = |journal: &Journal| journal.forget_move(token);
    let strike = Alongside { with: Some(&strike), ..Alongside::default() };
    let (followed, mut left) = match from.write_journal(&mut leaving, signature, strike) {
        Ok((left, journaled)) => {
            from.sync()?;
            (Some((from, journaled)), left)
        }
        // Our turn at the list that things leave was taken over while we slept, or another program wrote to it.
        Err(error) => {
            tracing::debug!(%error, "the list that tasks leave follows by its note");
            let list = Arc::clone(from.open_list());
            from.leave_to_the_note(&leaving)?;
            (None, follow_by_the_note(&list)?)
        }
    };
    reach("move: followed");
    if let Err(error) = into.journal().forget_arrival(token) {
        tracing::debug!(%error, "that a move was followed is left for the next writer to find");
    }
    into.write_out(&coming, journaled, came)?;
    if let Some((from, journaled)) = followed {
        from.write_out(&leaving, journaled, &mut left)?;
    }
    Ok(left)
}

/// Lets the list that things leave follow by its note, as the first step of another turn.
fn follow_by_the_note<F: ListFiles>(list: &OpenList<F>) -> Result<Event, StoreError> {
    let (turn, journal) = list.take_turn_again()?;
    drop(turn);
    let revision = journal.newest()?;
    list.give_back(journal);
    Ok(Event { list: list.list.clone(), revision, entries: Vec::new() })
}
