//! The writer of a list: what it holds, and what it read when its turn began.

use std::sync::Arc;

use super::form::Form;
use super::handle::Handle;
use super::looking::look;
use super::present::Outside;
use super::repair;
use super::sight::{Files, Sight};
use super::turn::TranslatedTurn;
use crate::store::StoreError;
use crate::store::kit::StagedTxn;
use crate::store::sidecar::Journal;

/// A writer of a list.
#[derive(Debug)]
pub(super) struct TranslatedWriter<F: Form> {
    pub(super) handle: Arc<Handle<F>>,
    /// Given back when the writer is done.
    journal: Option<Journal>,
    pub(super) files: Files<F>,
    /// What other programs did and is not yet recorded.
    pub(super) outside: Vec<Outside>,
    pub(super) turn: TranslatedTurn<F>,
}

impl<F: Form> TranslatedWriter<F> {
    /// Waits for a turn at the list.
    pub(super) fn begin(handle: Arc<Handle<F>>) -> Result<StagedTxn<Self>, StoreError> {
        let (turn, journal) = handle.take_turn()?;
        Self::catch_up(handle, turn, journal)
    }

    /// Begins where nobody else is at it.
    pub(super) fn try_begin(handle: Arc<Handle<F>>) -> Result<Option<StagedTxn<Self>>, StoreError> {
        handle.try_take_turn()?.map(|(turn, journal)| Self::catch_up(handle, turn, journal)).transpose()
    }

    fn catch_up(
        handle: Arc<Handle<F>>,
        turn: TranslatedTurn<F>,
        journal: Journal,
    ) -> Result<StagedTxn<Self>, StoreError> {
        let Sight { state, files, outside, .. } = look(&handle, Some(&journal))?;
        let rules = handle.rules;
        Ok(StagedTxn::new(Self { handle, journal: Some(journal), files, outside, turn }, Arc::new(state), rules))
    }

    /// Returns the journal.
    pub(super) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the writer is done")
    }

    /// Finishes, within this turn, what is in the journal and not in the files.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        repair::repair(&self.handle, &mut self.turn, journal_mut(&mut self.journal))
    }

    /// Waits until a commit that exists is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        journal_mut(&mut self.journal).sync()
    }
}

fn journal_mut(journal: &mut Option<Journal>) -> &mut Journal {
    journal.as_mut().expect("the journal is there until the writer is done")
}

impl<F: Form> Drop for TranslatedWriter<F> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.handle.give_back(journal);
        }
    }
}
