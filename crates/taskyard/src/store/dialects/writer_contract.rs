//! How the writer of a list keeps the contract of every writer.

use std::collections::HashSet;

use taskyard_core::{Event, Moment, Rules, TaskId};

use super::dialect_files::DialectFiles;
use super::writer::DialectWriter;
use super::{committing, two_lists};
use crate::clock;
use crate::store::kit::{Staging, Writer};
use crate::store::{HistoryQuery, Signature, StoreError};

impl<F: DialectFiles> Writer for DialectWriter<F> {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(clock::moment())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        committing::commit(self, staging, signature)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        two_lists::commit(from, into, signature)
    }

    fn new_ids(&self, staging: &Staging, count: usize, _rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let mut ids = HashSet::with_capacity(count);
        while ids.len() < count {
            let id = self.open_list.files.dialect.new_id(clock::now());
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
        self.open_list.files.dialect.is_occupied(&self.open_list.files.path, self.files.raw(), id)
    }
}
