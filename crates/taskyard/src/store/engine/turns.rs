//! Taking a turn at a list: the writer that gets it first finishes what a dead writer began.

use std::time::Instant;

use super::moves::{finish_arrivals, finish_noted_moves, finish_peer};
use super::open_list::{ListFiles, OpenList};
use crate::store::StoreError;
use crate::store::journal::Journal;
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
