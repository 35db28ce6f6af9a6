//! Taking a turn at a list: the writer that gets it first finishes what a dead writer began.
//!
//! That includes a move between two lists that its writer did not finish: it is carried out on the list that things leave.

use std::time::Instant;

use super::open_list::{ListFiles, OpenList};
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::journal::{Journal, MovePeer};
use crate::store::locks::queue::PATIENCE;

impl<F: ListFiles> OpenList<F> {
    /// Waits for a turn, and finishes what a dead writer began.
    pub(in crate::store) fn take_turn(&self) -> Result<(F::Turn, Journal), StoreError> {
        let started = Instant::now();
        loop {
            // Opening it makes the place that the queue is in.
            let journal = self.journal()?;
            let turn = self.files.take_turn(&self.queue_file()?)?;
            match self.settled(turn, journal) {
                // A rival keeps a lock that is needed to finish. We gave the turn back, and other writers had theirs.
                Err(StoreError::Busy { by, waited }) if waited.is_zero() => {
                    if started.elapsed() > PATIENCE {
                        return Err(StoreError::Busy { by, waited: started.elapsed() });
                    }
                }
                settled => return settled,
            }
        }
    }

    /// Waits for another turn to finish a commit that exists: longer than for a first one, and although another program interferes.
    pub(in crate::store) fn take_turn_again(&self) -> Result<(F::Turn, Journal), StoreError> {
        let started = Instant::now();
        loop {
            match self.take_turn() {
                Err(StoreError::Busy { .. } | StoreError::Conflict { .. }) if started.elapsed() < PATIENCE => {}
                taken => return taken,
            }
        }
    }

    /// Takes a turn if no other writer has one, and finishes what a dead writer began. Returns `None` if a writer has one, or another
    /// program keeps a lock that is needed to finish.
    pub(in crate::store) fn try_take_turn(&self) -> Result<Option<(F::Turn, Journal)>, StoreError> {
        // Opening it makes the place that the queue is in.
        let journal = self.journal()?;
        match self.files.try_take_turn(&self.queue_file()?) {
            Ok(Some(turn)) => match self.settled(turn, journal) {
                Ok(settled) => Ok(Some(settled)),
                Err(StoreError::Busy { .. } | StoreError::NoLock { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            Ok(None) | Err(StoreError::Busy { .. }) => {
                self.give_back(journal);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Finishes, within a turn, what a dead writer began.
    pub(in crate::store) fn settled(
        &self,
        mut turn: F::Turn,
        journal: Journal,
    ) -> Result<(F::Turn, Journal), StoreError> {
        // The writer that had the turn before us may have moved the list away ...
        self.files.must_be_here()?;
        // ... or put another database in the place of this one.
        let mut journal = self.journals.renewed(journal)?;
        F::recover(self, &mut turn, &mut journal)?;
        let followed = finish_noted_moves(self, &mut turn, &journal)?;
        F::finish(self, &mut turn, &mut journal, !followed.is_empty())?;
        let finished = followed.iter().try_for_each(|peer| finish_peer(self, peer).map(drop));
        // This list is as it should be, whatever keeps the other one of a move from following.
        if let Err(error) = finished.and_then(|()| finish_arrivals(self, &journal)) {
            tracing::warn!(%error, "the other list of a move has not followed yet");
        }
        Ok((turn, journal))
    }
}

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
fn finish_arrivals<F: ListFiles>(list: &OpenList<F>, journal: &Journal) -> Result<(), StoreError> {
    for (token, origin) in journal.arrivals()? {
        if finish_peer(list, &origin)? {
            journal.forget_arrival(&token)?;
        }
    }
    Ok(())
}

/// Has the other list of a move finish what its writer left. Returns false if a process has the turn there: it begins with this very thing.
fn finish_peer<F: ListFiles>(list: &OpenList<F>, peer: &MovePeer) -> Result<bool, StoreError> {
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
