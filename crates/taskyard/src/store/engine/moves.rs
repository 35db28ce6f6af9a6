//! Carrying out, on the list that things leave, a move between two lists that its writer did not finish.

use super::open_list::{ListFiles, OpenList};
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::journal::{Journal, MovePeer};

/// Carries out, on the list that things leave, the moves that did happen, and strikes off those that did not. Returns the lists that
/// things went to.
pub(in crate::store) fn finish_noted_moves<F: ListFiles>(
    list: &OpenList<F>,
    turn: &mut F::Turn,
    journal: &Journal,
) -> Result<Vec<MovePeer>, StoreError> {
    let mut followed = Vec::new();
    for noted in journal.noted_moves()? {
        let happened = Journal::decide_move_at(&noted.peer.sidecar, &noted.token)?;
        reach("move: decided");
        let transaction = journal.begin()?;
        if happened {
            tracing::info!(tasks = noted.changes.len(), list = %list.list, "finishing a merge that its writer did not finish");
            F::follow_move(list, turn, journal, &noted)?;
            followed.push(noted.peer.clone());
        }
        journal.forget_move(&noted.token)?;
        journal.end(transaction)?;
        reach("move: followed by its note");
    }
    Ok(followed)
}

/// Finishes moves to this list in the lists that the tasks came from, if the writer did not get that far.
pub(super) fn finish_arrivals<F: ListFiles>(list: &OpenList<F>, journal: &Journal) -> Result<(), StoreError> {
    for (token, origin) in journal.arrivals()? {
        if finish_peer(list, &origin)? {
            journal.forget_arrival(&token)?;
        }
    }
    Ok(())
}

/// Has the other list of a move finish what its writer left. Returns false if a process has the turn there: it begins with this very thing.
pub(super) fn finish_peer<F: ListFiles>(list: &OpenList<F>, peer: &MovePeer) -> Result<bool, StoreError> {
    let Some(peer) = list.beside(peer)? else { return Ok(true) };
    let Some((turn, journal)) = peer.try_take_turn()? else { return Ok(false) };
    drop(turn);
    peer.give_back(journal);
    Ok(true)
}

/// Finishes what is left of moves to and from a list, and returns why that fails.
pub(super) fn unfinished_move<F: ListFiles>(list: &OpenList<F>) -> Result<Option<StoreError>, StoreError> {
    if !list.journals.ask(Journal::has_pending_moves)? {
        return Ok(None);
    }
    match list.try_take_turn() {
        Ok(Some((turn, journal))) => {
            let failed = finish_arrivals(list, &journal).err();
            drop(turn);
            list.give_back(journal);
            Ok(failed)
        }
        Ok(None) => Ok(None),
        Err(error) => Ok(Some(error)),
    }
}
