//! What of a commit is about tasks that a caller asks for.

use taskyard_core::rules::looking::query::{ListSurroundings, Query, Surroundings, Times};
use taskyard_core::{Entry, Event, Task, Timestamp};

use crate::{Error, Yard};

/// A task as it was in an entry, in the list as it is now.
struct InEntry<'a> {
    list: Option<&'a ListSurroundings>,
    created: Option<Timestamp>,
    at: Timestamp,
}

impl Surroundings for InEntry<'_> {
    fn now(&self) -> Timestamp {
        self.at
    }

    fn is_ready(&self, task: &Task) -> bool {
        self.list.is_some_and(|list| list.is_ready(task))
    }

    fn is_blocked(&self, task: &Task) -> bool {
        self.list.is_some_and(|list| list.is_blocked(task))
    }

    fn times(&self, _: &Task) -> Option<Times> {
        self.created.map(|created| Times { created, updated: self.at })
    }
}

impl Yard {
    /// Returns the entries of a commit that are about tasks of which a query is true after it, or was true before they went. The rest of the
    /// list is only read where the query asks for it, and the journal where it asks for times.
    pub fn entries_about(&self, event: &Event, query: &Query) -> Result<Vec<Entry>, Error> {
        if query.is_empty() {
            return Ok(event.entries.clone());
        }
        let list = match query.asks_for_others() {
            true => {
                let tasks = self.store().read(self.list_id())?.tasks()?;
                Some(ListSurroundings::of(&tasks, self.now()?.wall, self.rules()))
            }
            false => None,
        };
        let mut about = Vec::new();
        for entry in &event.entries {
            let image = entry.after.as_ref().or(entry.before.as_ref());
            let Some(task) = image.and_then(|image| image.task(&entry.task).ok()) else { continue };
            let created = if query.asks_for_times() { self.first_told_of(&entry.task)? } else { None };
            if query.is_true_of(&task, &InEntry { list: list.as_ref(), created, at: entry.at }) {
                about.push(entry.clone());
            }
        }
        Ok(about)
    }
}
