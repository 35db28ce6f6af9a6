//! When the tasks of a list were made and last changed.

use std::collections::HashMap;

use serde_json::Value;
use taskyard_core::dialect::document;
use taskyard_core::dialect::hook_input::Times;
use taskyard_core::rules::looking::query::Query;
use taskyard_core::rules::moving::importing::came_from;
use taskyard_core::{Task, TaskId, Timestamp};

use crate::store::{HistoryQuery, LastEntry, StoreError};
use crate::{Error, Yard};

impl Yard {
    /// Returns when each task was made and last changed, as far as the journal knows.
    pub fn known_times(&self) -> Result<HashMap<TaskId, Times>, Error> {
        match self.times_in_journal() {
            // The tasks are there all the same.
            Err(error) if error.is_of_memory() => Ok(HashMap::new()),
            times => Ok(times?),
        }
    }

    /// Returns when each task was made and last changed, where a query asks for that; what cannot be found out is not known.
    pub(super) fn times_for(&self, query: &Query) -> HashMap<TaskId, Times> {
        if !query.asks_for_times() {
            return HashMap::new();
        }
        self.known_times().unwrap_or_else(|error| {
            tracing::warn!(%error, "nobody knows when tasks were made or changed");
            HashMap::new()
        })
    }

    fn times_in_journal(&self) -> Result<HashMap<TaskId, Times>, StoreError> {
        let mut made: HashMap<TaskId, Timestamp> = HashMap::new();
        for page in self.pages(HistoryQuery { only_arrivals: true, ..HistoryQuery::default() })? {
            made.extend(page?.into_iter().map(|entry| (entry.task, entry.at)));
        }
        let mut times = HashMap::new();
        for LastEntry { task, at, leaves_task, .. } in self.store().last_entries(self.list_id())? {
            let created = match made.remove(&task) {
                Some(created) => created,
                None if leaves_task => self.first_told_of(&task)?.unwrap_or(at),
                None => at,
            };
            times.insert(task, Times { created, updated: at });
        }
        Ok(times)
    }

    /// Returns when the journal first tells of a task whose making it does not know.
    pub(super) fn first_told_of(&self, task: &TaskId) -> Result<Option<Timestamp>, StoreError> {
        let first = HistoryQuery { task: Some(task.clone()), oldest: Some(1), ..HistoryQuery::default() };
        Ok(self.store().history(self.list_id(), &first)?.first().map(|first| first.at))
    }

    /// Returns tasks that say when they were made and changed, for a format that has a place for it. What a task says itself counts, and one
    /// that came from that format goes back as it came.
    pub(super) fn with_known_times(&self, tasks: Vec<Task>, format: &str) -> Result<Vec<Task>, Error> {
        let known = self.known_times()?;
        let elements = self.store().care().map_or(Ok(Vec::new()), |care| care.elements(self.list_id()))?;
        let stated: HashMap<&str, (Option<&str>, Option<&str>)> = elements
            .iter()
            .filter_map(|element| Some((element.get("id")?.as_str()?, document::times(element.as_object()?))))
            .collect();
        let timed = |mut task: Task| {
            if came_from(&task, format) {
                return task;
            }
            let (created, updated) = stated.get(task.id.as_str()).copied().unwrap_or_default();
            let known = known.get(&task.id);
            let seconds = |time: Timestamp| whole_seconds(&time.to_string());
            let created = created.map(str::to_owned).or_else(|| known.map(|times| seconds(times.created)));
            let updated = updated.map(str::to_owned).or_else(|| known.map(|times| seconds(times.updated)));
            for (key, time) in [("created_at", created), ("updated_at", updated)] {
                if let Some(time) = time.filter(|_| task.meta(key).is_none()) {
                    task.metadata.get_or_insert_default().insert(key.to_owned(), Value::String(time));
                }
            }
            task
        };
        Ok(tasks.into_iter().map(timed).collect())
    }
}

/// Returns a time without its fraction: the formats of other programs state whole seconds.
pub(super) fn whole_seconds(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}
