//! A transaction over two lists: what leaves the one comes to the other, or neither happens.
//!
//! The moment the change exists is one commit in the journal of the list that things come to. The list they leave has a note of
//! it beforehand, and follows.

use std::sync::Arc;

use taskyard_core::Event;

use super::commit;
use super::form::Form;
use super::writer::TranslatedWriter;
use crate::clock;
use crate::failpoint::reach;
use crate::store::kit::{Change, Staging};
use crate::store::sidecar::{Journal, Move};
use crate::store::{Signature, StoreError};

/// Makes what was staged on two lists happen, all of it or nothing.
pub(super) fn commit<F: Form>(
    (mut from, mut leaving): (TranslatedWriter<F>, Staging),
    (mut into, mut coming): (TranslatedWriter<F>, Staging),
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    let task = match &coming.changes()[..] {
        [first, ..] if !leaving.changes().is_empty() => first.task.clone(),
        _ => {
            let left = commit::commit(from, leaving, signature)?;
            return Ok([left, commit::commit(into, coming, signature)?]);
        }
    };
    let token = format!("{}-{:x}", std::process::id(), clock::wall());
    note(&mut from, &into, &leaving.changes(), signature, &token)?;
    reach("move: noted");
    let confirm = |journal: &Journal| match journal.confirm_move(&token)? {
        true => Ok(()),
        false => Err(StoreError::Conflict { task: task.clone() }),
    };
    let (came, into_files) = match commit::exist(&mut into, &mut coming, signature, confirm) {
        Ok(existing) => existing,
        Err(error) => {
            let _ = from.journal().forget_move(&token);
            return Err(error);
        }
    };
    reach("move: exists");
    // From here on it has happened; what is left is carried out now, or by the next command on either list.
    let strike = |journal: &Journal| journal.forget_move(&token);
    let left = commit::exist(&mut from, &mut leaving, signature, strike);
    reach("move: followed");
    commit::write_out(into, &came, &into_files)?;
    let left = match left {
        Ok((left, from_files)) => {
            commit::write_out(from, &left, &from_files)?;
            left
        }
        // Somebody wrote to the list that things leave: it follows by its note.
        Err(_) => {
            let handle = Arc::clone(&from.handle);
            drop(from);
            let (_turn, journal) = handle.take_turn()?;
            let revision = journal.newest()?;
            handle.give_back(journal);
            Event { list: handle.list.clone(), revision, entries: Vec::new() }
        }
    };
    Ok([Some(left), Some(came)])
}

fn note<F: Form>(
    from: &mut TranslatedWriter<F>,
    into: &TranslatedWriter<F>,
    leaving: &[Change],
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let image = |change: &Change| change.image().cloned();
    let coming = Move {
        token: token.to_owned(),
        peer: into.handle.sidecar.clone(),
        signature: signature.clone(),
        changes: leaving.iter().map(|change| (change.task.clone(), image(change))).collect(),
    };
    let transaction = from.journal().begin()?;
    from.journal().note_move(&coming)?;
    from.journal().end(transaction)?;
    from.sync()
}
