//! A transaction over two lists in another dialect.

use std::sync::Arc;

use taskyard_core::{Event, Image, TaskId};

use super::committing;
use super::dialect_files::DialectFiles;
use super::open_list::{DialectList, OpenList};
use super::writer::DialectWriter;
use crate::store::engine::{self, Alongside, PairSide};
use crate::store::journal::Journal;
use crate::store::kit::{Change, Staging};
use crate::store::{Signature, StoreError};

/// Makes what was staged on two lists happen, all of it or nothing.
pub(super) fn commit<F: DialectFiles>(
    (from, leaving): (DialectWriter<F>, Staging),
    (into, coming): (DialectWriter<F>, Staging),
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    if leaving.changes().is_empty() || coming.changes().is_empty() {
        let left = committing::commit(from, leaving, signature)?;
        return Ok([left, committing::commit(into, coming, signature)?]);
    }
    engine::commit_both((from, leaving), (into, coming), signature).map(|events| events.map(Some))
}

impl<F: DialectFiles> PairSide for DialectWriter<F> {
    type Files = DialectList<F>;
    type Plan = Staging;
    type Journaled = F::Raw;

    fn open_list(&self) -> &Arc<OpenList<F>> {
        &self.open_list
    }

    fn journal(&self) -> &Journal {
        Self::journal(self)
    }

    fn changes(staging: &Staging) -> Vec<(TaskId, Option<Image>)> {
        staging.changes().iter().map(|change: &Change| (change.task.clone(), change.image().cloned())).collect()
    }

    fn write_journal(
        &mut self,
        staging: &mut Staging,
        signature: &Signature,
        with: Alongside<'_>,
    ) -> Result<(Event, F::Raw), StoreError> {
        committing::exist(self, staging, signature, with)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Self::sync(self)
    }

    fn write_out(self, _staging: &Staging, raw: F::Raw, event: &mut Event) -> Result<(), StoreError> {
        committing::write_out(self, event, &raw)
    }

    fn leave_to_the_note(self, _staging: &Staging) -> Result<(), StoreError> {
        Ok(())
    }
}
