//! Taking a turn at a list: the writer that gets it first finishes what a dead writer began.

use std::time::Instant;

use super::moves::{finish_arrivals, finish_peer};
use super::{power, repair};
use crate::store::StoreError;
use crate::store::file::handle::Handle;
use crate::store::journal::Journal;
use crate::store::locks::queue::PATIENCE;
use crate::store::locks::turn::WriteTurn;
use crate::store::locks::turn_record::TurnRecord;

impl Handle {
    /// Waits for a turn, and finishes what a dead writer began.
    pub(in crate::store) fn take_turn(&self) -> Result<(WriteTurn, Journal), StoreError> {
        let started = Instant::now();
        loop {
            let journal = self.journal()?;
            let turn = WriteTurn::take(&self.place, &self.queue_file()?)?;
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

    /// Takes a turn where no other writer has one, and finishes what a dead writer began.
    pub(in crate::store) fn try_take_turn(&self) -> Result<Option<(WriteTurn, Journal)>, StoreError> {
        // Opening it makes the place that the queue is in.
        let journal = self.journal()?;
        match WriteTurn::try_take(&self.place, &self.queue_file()?) {
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

    /// Finishes what a dead writer began, where one did and no writer has the turn.
    pub(in crate::store) fn settle(&self) {
        let is_unsettled = |state: TurnRecord| state.busy || state.sequence % 2 == 1;
        if !self.place.directory.exists() {
            return;
        }
        let unsettled = self.state().is_some_and(is_unsettled) || !self.is_same_boot().unwrap_or(true);
        if !unsettled {
            return;
        }
        // The turn is written down beside the journal: where that is a newer Taskyard's, nothing is.
        let settled = self.try_take_turn().map(|settled| {
            if let Some((turn, journal)) = settled {
                drop(turn);
                self.give_back(journal);
            }
        });
        if let Err(error) = settled {
            tracing::debug!(%error, "what a dead writer began is left for the next writer");
        }
    }

    /// Finishes, within a turn, what a dead writer began.
    pub(in crate::store) fn settled(
        &self,
        mut turn: WriteTurn,
        journal: Journal,
    ) -> Result<(WriteTurn, Journal), StoreError> {
        // The writer that had the turn before us may have moved the list away.
        self.must_be_here()?;
        // The writer that had the turn before us may have put another database in the place of this one.
        let mut journal = self.journals.renewed(journal)?;
        if !self.is_same_boot()? {
            power::recover(&mut turn, &mut journal, self.sidecar()?, self.rules)?;
            self.note_boot();
        }
        let followed = repair::repair(&mut turn, &mut journal, self.rules)?;
        let finished = followed.into_iter().try_for_each(|peer| finish_peer(self, peer).map(drop));
        // This list is as it should be, whatever keeps the other one of a move from following.
        if let Err(error) = finished.and_then(|()| finish_arrivals(self, &journal)) {
            tracing::warn!(%error, "the other list of a move has not followed yet");
        }
        Ok((turn, journal))
    }
}
