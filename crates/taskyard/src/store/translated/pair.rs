//! A transaction over two lists: what leaves the one comes to the other, or neither happens.
//!
//! The moment the change exists is one commit in the journal of the list that things come to. The list they leave has a note of
//! it beforehand, and follows.

use std::io;
use std::sync::Arc;

use taskyard_core::{Event, Image};

use super::commit::{self, Change};
use super::form::Form;
use super::handle::Handle;
use super::txn::TranslatedTxn;
use crate::clock;
use crate::store::file::failpoint::reach;
use crate::store::sidecar::{Formed, Journal, Move, NewEntry};
use crate::store::{Signature, StoreError, Txn, TxnPair};

/// Two lists while things move between them.
#[derive(Debug)]
pub(super) struct TranslatedPair<F: Form> {
    from: TranslatedTxn<F>,
    into: TranslatedTxn<F>,
}

impl<F: Form> TranslatedPair<F> {
    /// Waits for a turn at both lists, always in the same order, so that two that cross each other do not wait for ever.
    pub(super) fn open(from: Arc<Handle<F>>, into: Arc<Handle<F>>) -> Result<Self, StoreError> {
        if from.path == into.path {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is one list, not two");
            return Err(StoreError::Io { doing: "cannot write twice to", path: from.path.clone(), source });
        }
        if from.path < into.path {
            let from = TranslatedTxn::open(from)?;
            Ok(Self { from, into: TranslatedTxn::open(into)? })
        } else {
            let into = TranslatedTxn::open(into)?;
            Ok(Self { from: TranslatedTxn::open(from)?, into })
        }
    }
}

impl<F: Form> TxnPair for TranslatedPair<F> {
    fn source(&mut self) -> &mut dyn Txn {
        &mut self.from
    }

    fn target(&mut self) -> &mut dyn Txn {
        &mut self.into
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError> {
        let Self { mut from, mut into } = *self;
        let (leaving, coming) = (commit::changes(&from), commit::changes(&into));
        if leaving.is_empty() || coming.is_empty() {
            let left = Box::new(from).commit(signature)?;
            return Ok([left, Box::new(into).commit(signature)?]);
        }
        let token = format!("{}-{:x}", std::process::id(), clock::wall());
        note(&mut from, &into, &leaving, signature, &token)?;
        reach("move: noted");
        let task = coming[0].task.clone();
        let confirm = |journal: &Journal| match journal.confirm_move(&token)? {
            true => Ok(()),
            false => Err(StoreError::Conflict { task: task.clone() }),
        };
        let (came, into_files) = match commit::exist(&mut into, &coming, signature, confirm) {
            Ok(existing) => existing,
            Err(error) => {
                let _ = from.journal().forget_move(&token);
                return Err(error);
            }
        };
        reach("move: exists");
        // From here on it has happened; what is left is carried out now, or by the next command on either list.
        let strike = |journal: &Journal| journal.forget_move(&token);
        let left = commit::exist(&mut from, &leaving, signature, strike);
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
}

fn note<F: Form>(
    from: &mut TranslatedTxn<F>,
    into: &TranslatedTxn<F>,
    leaving: &[Change],
    signature: &Signature,
    token: &str,
) -> Result<(), StoreError> {
    let image = |change: &Change| change.after.as_ref().map(|kept| kept.image.clone());
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

/// Carries out, on the list that things leave, the moves that did happen, and strikes off those that did not.
pub(super) fn finish_noted_moves<F: Form>(handle: &Handle<F>, journal: &Journal) -> Result<(), StoreError> {
    for noted in journal.noted_moves()? {
        let peer = &noted.peer;
        let happened = match peer.join("journal.sqlite").exists() {
            true => Journal::open(peer, peer)?.decide_move(&noted.token)?,
            false => false,
        };
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), list = %handle.list, "finishing a merge");
            follow(journal, &noted)?;
        }
        journal.forget_move(&noted.token)?;
        journal.end(transaction)?;
    }
    Ok(())
}

/// Writes the entries a move should have written; the files follow with everything else that is not written out.
fn follow(journal: &Journal, noted: &Move) -> Result<(), StoreError> {
    let known = journal.forms()?;
    let before = |task| known.get(task).map(|formed: &Formed| &formed.image);
    let entries: Vec<NewEntry<'_>> = noted
        .changes
        .iter()
        .map(|(task, after)| NewEntry {
            task,
            op: noted.signature.op,
            before: before(task),
            after: after.as_ref(),
            inode: None,
            mode: None,
        })
        .collect();
    journal.append(journal.newest()?.next(), clock::now(), &noted.signature, &entries)?;
    for (task, after) in &noted.changes {
        match after {
            // Its form is not known before it is written: no form is like it, so it will be.
            Some(image) => journal.set_form(task, &Formed { form: Some(Vec::new()), image: Image::clone(image) })?,
            None => journal.forget_form(task)?,
        }
    }
    Ok(())
}
