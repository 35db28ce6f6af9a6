//! When the tasks of a list were made and last changed.

use std::collections::HashMap;

use serde_json::Value;
use taskyard_core::dialect::document;
use taskyard_core::dialect::hook_input::Times;
use taskyard_core::rules::importing::came_from;
use taskyard_core::{Task, TaskId};

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
            let seconds = |time: taskyard_core::Timestamp| whole_seconds(&time.to_string());
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

/// Returns a time without its fraction: the formats of others state whole seconds.
pub(super) fn whole_seconds(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}
