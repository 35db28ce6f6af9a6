//! A transaction over two lists: what leaves the one comes to the other, or neither happens.
//!
//! The moment the change exists is one commit in the journal of the list that things come to. The list they leave has a note of
//! it beforehand, and follows.

use std::sync::Arc;

use taskyard_core::{Event, Op};

use super::committing;
use super::dialect_files::DialectFiles;
use super::writer::DialectWriter;
use crate::clock;
use crate::failpoint::reach;
use crate::store::journal::{Journal, Move};
use crate::store::kit::{Change, Staging};
use crate::store::{Signature, StoreError};

/// Makes what was staged on two lists happen, all of it or nothing.
pub(super) fn commit<F: DialectFiles>(
    (mut from, mut leaving): (DialectWriter<F>, Staging),
    (mut into, mut coming): (DialectWriter<F>, Staging),
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    let task = match &coming.changes()[..] {
        [first, ..] if !leaving.changes().is_empty() => first.task.clone(),
        _ => {
            let left = committing::commit(from, leaving, signature)?;
            return Ok([left, committing::commit(into, coming, signature)?]);
        }
    };
    let token = format!("{}-{:x}", std::process::id(), clock::wall());
    let origin = from.open_list.as_peer()?;
    let confirm = |journal: &Journal| match journal.confirm_move(&token, &origin)? {
        true => Ok(()),
        false => Err(StoreError::Conflict { task: task.clone() }),
    };
    let existing = note(&mut from, &into, &leaving.changes(), signature, &token).and_then(|()| {
        reach("move: noted");
        committing::exist(&mut into, &mut coming, signature, former(&from, signature), confirm)
    });
    let (came, into_files) = match existing {
        Ok(existing) => existing,
        Err(error) => {
            if let Err(error) = from.journal().forget_move(&token) {
                tracing::debug!(%error, "the note of a move that did not happen is left to the next writer");
            }
            return Err(error);
        }
    };
    // From here on it has happened; what is left is carried out now, or by the next command on either list.
    match finish((from, &mut leaving), (into, &came, &into_files), signature, &token) {
        Ok(left) => Ok([Some(left), Some(came)]),
        Err(cause) => Err(StoreError::unfinished(Some(came), cause)),
    }
}

/// Returns the journal whose history comes along: only the renaming of a list brings one.
fn former<'a, F: DialectFiles>(from: &'a DialectWriter<F>, signature: &Signature) -> Option<&'a Journal> {
    (signature.op == Op::Rename).then(|| from.journal())
}

/// Carries out a move that has happened.
fn finish<F: DialectFiles>(
    (mut from, leaving): (DialectWriter<F>, &mut Staging),
    (mut into, came, into_files): (DialectWriter<F>, &Event, &F::Raw),
    signature: &Signature,
    token: &str,
) -> Result<Event, StoreError> {
    // Before anything leaves, what came has to survive a power loss.
    into.sync()?;
    reach("move: exists");
    let strike = |journal: &Journal| journal.forget_move(token);
    let left = match committing::exist(&mut from, leaving, signature, None, strike) {
        Ok(left) => {
            from.sync()?;
            Some(left)
        }
        // A rival wrote to the list that things leave, or its journal could not be written: it follows by its note.
        Err(error) => {
            tracing::debug!(%error, "the list that tasks leave follows by its note");
            None
        }
    };
    reach("move: followed");
    if let Some((left, from_files)) = left {
        if let Err(error) = into.journal().forget_arrival(token) {
            tracing::debug!(%error, "that a move was followed is left for the next writer to find");
        }
        committing::write_out(into, came, into_files)?;
        committing::write_out(from, &left, &from_files)?;
        return Ok(left);
    }
    committing::write_out(into, came, into_files)?;
    let open_list = Arc::clone(&from.open_list);
    drop(from);
    let (_turn, journal) = open_list.take_turn()?;
    let revision = journal.newest()?;
    open_list.give_back(journal);
    Ok(Event { list: open_list.list.clone(), revision, entries: Vec::new() })
}

fn note<F: DialectFiles>(
    from: &mut DialectWriter<F>,
    into: &DialectWriter<F>,
    leaving: &[Change],
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let image = |change: &Change| change.image().cloned();
    let coming = Move {
        token: token.to_owned(),
        peer: into.open_list.as_peer()?,
        signature: signature.clone(),
        changes: leaving.iter().map(|change| (change.task.clone(), image(change))).collect(),
    };
    let transaction = from.journal().begin()?;
    from.journal().note_move(&coming)?;
    from.journal().end(transaction)?;
    from.sync()
}
