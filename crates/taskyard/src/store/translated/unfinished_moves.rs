//! Carrying out, on the list that things leave, a move between two lists that its writer did not finish.

use taskyard_core::Image;

use super::dialect_files::DialectFiles;
use super::open_list::OpenList;
use crate::clock;
use crate::store::StoreError;
use crate::store::sidecar::{Formed, Journal, Move, NewEntry};

/// Carries out, on the list that things leave, the moves that did happen, and strikes off those that did not.
pub(super) fn finish_noted_moves<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: &Journal,
) -> Result<(), StoreError> {
    for noted in journal.noted_moves()? {
        let peer = &noted.peer;
        let happened = match peer.join("journal.sqlite").exists() {
            true => Journal::open(peer, peer)?.decide_move(&noted.token)?,
            false => false,
        };
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), list = %open_list.list, "finishing a merge");
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
