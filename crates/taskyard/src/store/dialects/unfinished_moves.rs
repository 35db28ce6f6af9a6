//! Carrying out, on the list that things leave, a move between two lists that its writer did not finish.

use taskyard_core::Image;

use super::dialect_files::DialectFiles;
use super::open_list::OpenList;
use crate::clock;
use crate::store::StoreError;
use crate::store::journal::{Formed, Journal, Move, MovePeer, NewEntry};

/// Carries out, on the list that things leave, the moves that did happen, and strikes off those that did not. Returns the lists that
/// things went to.
pub(super) fn finish_noted_moves<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: &Journal,
) -> Result<Vec<MovePeer>, StoreError> {
    let mut followed = Vec::new();
    for noted in journal.noted_moves()? {
        let happened = Journal::decide_move_at(&noted.peer.sidecar, &noted.token)?;
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), list = %open_list.list, "finishing a merge");
            follow(journal, &noted)?;
            followed.push(noted.peer.clone());
        }
        journal.forget_move(&noted.token)?;
        journal.end(transaction)?;
    }
    Ok(followed)
}

/// Finishes moves to this list in the lists that the tasks came from, if the writer did not get that far.
pub(super) fn finish_arrivals<F: DialectFiles>(open_list: &OpenList<F>, journal: &Journal) -> Result<(), StoreError> {
    for (token, origin) in journal.arrivals()? {
        if finish_peer(open_list, origin)? {
            journal.forget_arrival(&token)?;
        }
    }
    Ok(())
}

/// Has the other list of a move finish what its writer left. Returns false if a process has the turn there: it begins with this very thing.
pub(super) fn finish_peer<F: DialectFiles>(open_list: &OpenList<F>, peer: MovePeer) -> Result<bool, StoreError> {
    let Some(peer) = open_list.beside(peer)? else { return Ok(true) };
    let Some((_turn, journal)) = peer.try_take_turn()? else { return Ok(false) };
    peer.give_back(journal);
    Ok(true)
}

/// Finishes what is left of moves to and from a list, and returns why that fails.
pub(super) fn unfinished_move<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Option<StoreError>, StoreError> {
    if !open_list.journals.ask(Journal::has_pending_moves)? {
        return Ok(None);
    }
    match open_list.try_take_turn() {
        Ok(Some((_turn, journal))) => {
            let failed = finish_arrivals(open_list, &journal).err();
            open_list.give_back(journal);
            Ok(failed)
        }
        Ok(None) => Ok(None),
        Err(error) => Ok(Some(error)),
    }
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
