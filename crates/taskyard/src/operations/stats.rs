//! Counting a list.

use taskyard_core::rules::looking::spent::time_in_progress;
use taskyard_core::rules::looking::statistics::{Estimate, Stats, tally};
use taskyard_core::{Task, Timestamp};

use super::reading::Reading;
use crate::store::{HistoryQuery, StoreError};
use crate::{Error, Yard};

impl Yard {
    /// Counts the list.
    pub fn stats(&self) -> Result<Stats, Error> {
        let Reading { tasks, problems, revision, gone, .. } = self.look()?;
        let now = self.now()?.wall;
        let estimates = match self.estimates(&tasks, now) {
            // The tasks are there all the same.
            Err(error) if error.is_of_memory() => Vec::new(),
            estimates => estimates?,
        };
        Ok(Stats { gone, estimates, ..tally(&tasks, problems.len(), revision, now, self.rules()) })
    }

    /// Compares what tasks were expected to take with how long they have been in progress. The journal is asked about those alone.
    fn estimates(&self, tasks: &[Task], now: Timestamp) -> Result<Vec<Estimate>, StoreError> {
        let mut estimates = Vec::new();
        for task in tasks.iter().filter(|task| !task.is_internal()) {
            let Some(expected) = task.estimate() else { continue };
            let query = HistoryQuery { task: Some(task.id.clone()), ..HistoryQuery::default() };
            let entries = self.store().history(self.list_id(), &query)?;
            let in_progress = time_in_progress(&entries, now);
            let is_completed = !task.status.is_open();
            estimates.push(Estimate { task: task.id.clone(), is_completed, expected, in_progress });
        }
        Ok(estimates)
    }
}
