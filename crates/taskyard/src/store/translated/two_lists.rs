//! A transaction over two lists: what leaves the one comes to the other, or neither happens.
//!
//! The moment the change exists is one commit in the journal of the list that things come to. The list they leave has a note of
//! it beforehand, and follows.

use std::sync::Arc;

use taskyard_core::Event;

use super::committing;
use super::dialect_files::DialectFiles;
use super::writer::TranslatedWriter;
use crate::clock;
use crate::failpoint::reach;
use crate::store::kit::{Change, Staging};
use crate::store::sidecar::{Journal, Move};
use crate::store::{Signature, StoreError};

/// Makes what was staged on two lists happen, all of it or nothing.
pub(super) fn commit<F: DialectFiles>(
    (mut from, mut leaving): (TranslatedWriter<F>, Staging),
    (mut into, mut coming): (TranslatedWriter<F>, Staging),
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
    note(&mut from, &into, &leaving.changes(), signature, &token)?;
    reach("move: noted");
    let confirm = |journal: &Journal| match journal.confirm_move(&token)? {
        true => Ok(()),
        false => Err(StoreError::Conflict { task: task.clone() }),
    };
    let (came, into_files) = match committing::exist(&mut into, &mut coming, signature, confirm) {
        Ok(existing) => existing,
        Err(error) => {
            let _ = from.journal().forget_move(&token);
            return Err(error);
        }
    };
    reach("move: exists");
    // From here on it has happened; what is left is carried out now, or by the next command on either list.
    let strike = |journal: &Journal| journal.forget_move(&token);
    let left = committing::exist(&mut from, &mut leaving, signature, strike);
    reach("move: followed");
    committing::write_out(into, &came, &into_files)?;
    let left = match left {
        Ok((left, from_files)) => {
            committing::write_out(from, &left, &from_files)?;
            left
        }
        // A rival wrote to the list that things leave: it follows by its note.
        Err(_) => {
            let open_list = Arc::clone(&from.open_list);
            drop(from);
            let (_turn, journal) = open_list.take_turn()?;
            let revision = journal.newest()?;
            open_list.give_back(journal);
            Event { list: open_list.list.clone(), revision, entries: Vec::new() }
        }
    };
    Ok([Some(left), Some(came)])
}

fn note<F: DialectFiles>(
    from: &mut TranslatedWriter<F>,
    into: &TranslatedWriter<F>,
    leaving: &[Change],
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let image = |change: &Change| change.image().cloned();
    let coming = Move {
        token: token.to_owned(),
        peer: into.open_list.sidecar.clone(),
        signature: signature.clone(),
        changes: leaving.iter().map(|change| (change.task.clone(), image(change))).collect(),
    };
    let transaction = from.journal().begin()?;
    from.journal().note_move(&coming)?;
    from.journal().end(transaction)?;
    from.sync()
}
