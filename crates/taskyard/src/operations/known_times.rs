//! When the tasks of a list were made and last changed.

use std::collections::HashMap;

use taskyard_core::TaskId;
use taskyard_core::dialect::hook_input::Times;

use crate::store::{HistoryQuery, StoreError};
use crate::{Error, Yard};

impl Yard {
    /// Returns when each task was made and last changed, as far as the journal knows.
    pub(super) fn known_times(&self) -> Result<HashMap<TaskId, Times>, Error> {
        let mut times: HashMap<TaskId, Times> = HashMap::new();
        let entries = match self.store().history(self.list_id(), &HistoryQuery::default()) {
            // The tasks are there all the same.
            Err(StoreError::JournalDamaged { .. }) => return Ok(times),
            entries => entries?,
        };
        for entry in entries {
            match times.get_mut(&entry.task) {
                Some(known) if entry.before.is_some() => known.updated = entry.at,
                _ => drop(times.insert(entry.task, Times { created: entry.at, updated: entry.at })),
            }
        }
        Ok(times)
    }
}
