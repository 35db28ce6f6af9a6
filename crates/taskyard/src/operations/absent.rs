//! What the journal knows of tasks that are not there.

use std::collections::HashSet;

use taskyard_core::rules::restoring::{Removed, removed};
use taskyard_core::{Entry, Task, TaskId};

use crate::store::{HistoryQuery, Lookup, Problem, StoreError};
use crate::{Error, Yard};

impl Yard {
    /// Tells whether a task is not there though nobody meant that.
    pub fn is_missing(&self, id: &TaskId) -> Result<bool, Error> {
        let is_there = !matches!(self.store().read(self.list_id())?.find(id)?, Lookup::Missing);
        Ok(!is_there && self.missing_task(id)?.is_some())
    }

    /// Tells whether a task is on the list, or ever was as far as the journal knows.
    pub fn is_known(&self, id: &TaskId) -> Result<bool, Error> {
        if !matches!(self.store().read(self.list_id())?.find(id)?, Lookup::Missing) {
            return Ok(true);
        }
        let name = TaskId::stored(id.file_stem());
        let query = HistoryQuery { task: Some(name), newest: Some(1), ..HistoryQuery::default() };
        Ok(!self.history(&query)?.is_empty())
    }

    /// Returns the whole journal, and what it knows and the list, as it was just read, no longer holds.
    pub(super) fn journal_and_removed(
        &self,
        tasks: &[Task],
        problems: &[Problem],
    ) -> Result<(Vec<Entry>, Vec<Removed>), StoreError> {
        let names = tasks.iter().map(|task| &task.id).chain(problems.iter().map(|problem| &problem.task));
        let taken: HashSet<TaskId> = names.cloned().collect();
        let entries = self.store().history(self.list_id(), &HistoryQuery::default())?;
        let removed = removed(&entries, &taken);
        Ok((entries, removed))
    }

    /// Returns the tasks that are not there though nobody meant that, by number.
    pub(super) fn missing(&self, tasks: &[Task], problems: &[Problem]) -> Result<Vec<Removed>, StoreError> {
        let (_, mut removed) = self.journal_and_removed(tasks, problems)?;
        removed.retain(Removed::is_missing);
        Ok(removed)
    }

    /// Returns a task that was just found not to be there, where nobody meant that.
    pub(super) fn missing_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let name = TaskId::stored(id.file_stem());
        let query = HistoryQuery { task: Some(name), ..HistoryQuery::default() };
        let entries = self.store().history(self.list_id(), &query)?;
        let missing = removed(&entries, &HashSet::new()).into_iter().find(Removed::is_missing);
        Ok(missing.map(|missing| missing.task))
    }
}
