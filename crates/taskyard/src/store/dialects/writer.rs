//! The writer of a list: what it holds, and what it read when its turn began.

use std::sync::Arc;

use super::dialect_files::DialectFiles;
use super::dialect_turn::DialectTurn;
use super::finishing;
use super::looking::look;
use super::open_list::OpenList;
use super::present_tasks::FoundChange;
use super::seen_list::{ReadFiles, SeenList};
use crate::store::StoreError;
use crate::store::journal::Journal;
use crate::store::kit::StagedTxn;

/// A writer of a list.
#[derive(Debug)]
pub(super) struct DialectWriter<F: DialectFiles> {
    pub(super) open_list: Arc<OpenList<F>>,
    /// Given back when the writer is done.
    journal: Option<Journal>,
    pub(super) files: ReadFiles<F>,
    /// What other programs did and is not yet recorded.
    pub(super) outside: Vec<FoundChange>,
    pub(super) turn: DialectTurn<F>,
}

impl<F: DialectFiles> DialectWriter<F> {
    /// Waits for a turn at the list.
    pub(super) fn begin(open_list: Arc<OpenList<F>>) -> Result<StagedTxn<Self>, StoreError> {
        let (turn, journal) = open_list.take_turn()?;
        Self::catch_up(open_list, turn, journal)
    }

    /// Begins where no other writer has the turn.
    pub(super) fn try_begin(open_list: Arc<OpenList<F>>) -> Result<Option<StagedTxn<Self>>, StoreError> {
        open_list.try_take_turn()?.map(|(turn, journal)| Self::catch_up(open_list, turn, journal)).transpose()
    }

    fn catch_up(
        open_list: Arc<OpenList<F>>,
        turn: DialectTurn<F>,
        journal: Journal,
    ) -> Result<StagedTxn<Self>, StoreError> {
        let SeenList { state, files, outside, .. } = look(&open_list, Some(&journal))?;
        let rules = open_list.rules;
        Ok(StagedTxn::new(Self { open_list, journal: Some(journal), files, outside, turn }, Arc::new(state), rules))
    }

    /// Returns the journal.
    pub(super) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the writer is done")
    }

    /// Finishes, within this turn, what is in the journal and not in the files.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        finishing::repair(&self.open_list, &mut self.turn, journal_mut(&mut self.journal))
    }

    /// Waits until a commit that exists is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        journal_mut(&mut self.journal).sync()
    }
}

fn journal_mut(journal: &mut Option<Journal>) -> &mut Journal {
    journal.as_mut().expect("the journal is there until the writer is done")
}

impl<F: DialectFiles> Drop for DialectWriter<F> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.open_list.give_back(journal);
        }
    }
}
