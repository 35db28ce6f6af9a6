//! The writer of a list: what it holds, and what it read when its turn began.

use std::collections::HashSet;
use std::sync::Arc;

use taskyard_core::{Event, Moment, Rules, TaskId};

use super::form::Form;
use super::handle::Handle;
use super::looking::{Files, Sight, look};
use super::present::Outside;
use super::turn::Turn;
use super::{commit, pair, repair};
use crate::clock;
use crate::store::kit::{StagedTxn, Staging, Writer};
use crate::store::sidecar::Journal;
use crate::store::{HistoryQuery, Signature, StoreError};

/// A writer of a list.
#[derive(Debug)]
pub(super) struct TranslatedWriter<F: Form> {
    pub(super) handle: Arc<Handle<F>>,
    /// Given back when the writer is done.
    journal: Option<Journal>,
    pub(super) files: Files<F>,
    /// What other programs did and is not yet recorded.
    pub(super) outside: Vec<Outside>,
    pub(super) turn: Turn<F>,
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

    fn catch_up(handle: Arc<Handle<F>>, turn: Turn<F>, journal: Journal) -> Result<StagedTxn<Self>, StoreError> {
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

impl<F: Form> Writer for TranslatedWriter<F> {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(clock::moment())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit::commit(self, staging, signature)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        pair::commit(from, into, signature)
    }

    fn new_ids(&self, staging: &Staging, count: usize, _rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let mut ids = HashSet::with_capacity(count);
        while ids.len() < count {
            let id = self.handle.form.new_id(clock::now());
            // What the journal knows may be missing, and come back under its id.
            let known = HistoryQuery { task: Some(id.clone()), newest: Some(1), ..HistoryQuery::default() };
            let is_free = staging.get(&id).is_none() && !self.is_occupied(&id);
            if is_free && self.journal().select(&known)?.is_empty() {
                ids.insert(id);
            }
        }
        // Tasks are kept by their names: what comes in one order is to be seen in it.
        let mut ids: Vec<TaskId> = ids.into_iter().collect();
        ids.sort();
        Ok(ids)
    }

    fn has_met_outside_writes(&self) -> bool {
        !self.outside.is_empty()
    }

    fn is_occupied(&self, id: &TaskId) -> bool {
        self.handle.form.is_occupied(&self.handle.path, self.files.raw(), id)
    }
}
