//! Finding tasks by what they say.

use std::collections::HashMap;

use taskyard_core::rules::looking::ordering::NumberOrder;
use taskyard_core::rules::looking::query::{ListSurroundings, Query};
use taskyard_core::rules::looking::searching::{Hit, Search};
use taskyard_core::{ListId, Task};

use super::reading::Reading;
use crate::{Error, Yard};

impl Yard {
    /// Returns the tasks that answer to a query, best first; internal ones only where they are wanted. A word that occurs in no task
    /// was mistyped.
    pub fn search(&self, query: &Query, internal: bool) -> Result<Vec<Hit>, Error> {
        let Reading { mut tasks, missing, .. } = self.look()?;
        let around = self.surroundings(&tasks, query)?.with_missing(missing);
        tasks.retain(|task| internal || !task.is_internal());
        let mut search = Search::new(query);
        search.look_at(&tasks);
        Ok(search.hits(tasks, &around))
    }

    /// Returns the tasks of all lists that answer to a query, best first, each with its list. A word that occurs in no list was mistyped.
    ///
    /// Lists are only read: what other programs did to them is not recorded, and no lease ends.
    pub fn search_everywhere(&self, query: &Query, internal: bool) -> Result<Vec<(ListId, Hit)>, Error> {
        let mut search = Search::new(query);
        let mut all: Vec<(ListId, Vec<Task>, ListSurroundings)> = Vec::new();
        for info in self.store().lists()? {
            let yard = self.on(info.list.clone());
            let mut tasks = yard.store().read(&info.list)?.tasks()?;
            let around = yard.surroundings(&tasks, query)?;
            tasks.retain(|task| internal || !task.is_internal());
            search.look_at(&tasks);
            all.push((info.list, tasks, around));
        }
        let mut hits: Vec<(ListId, Hit)> = Vec::new();
        for (list, tasks, around) in all {
            hits.extend(search.hits(tasks, &around).into_iter().map(|hit| (list.clone(), hit)));
        }
        // Lists come in their order, and what answers equally well stays in it.
        hits.sort_by_key(|(_, hit)| std::cmp::Reverse(hit.score));
        Ok(hits)
    }

    /// Returns the visible tasks of which a query is true, by number.
    pub fn chosen(&self, query: &Query) -> Result<Vec<Task>, Error> {
        let Reading { mut tasks, missing, .. } = self.look()?;
        let around = self.surroundings(&tasks, query)?.with_missing(missing);
        tasks.retain(|task| !task.is_internal() && query.is_true_of(task, &around));
        tasks.sort_by_cached_key(|task| NumberOrder::of(&task.id));
        Ok(tasks)
    }

    /// Returns a list as a query sees it; the journal is only asked where the query asks for times.
    pub(super) fn surroundings(&self, tasks: &[Task], query: &Query) -> Result<ListSurroundings, Error> {
        let times = if query.asks_for_times() { self.known_times()? } else { HashMap::new() };
        Ok(ListSurroundings::asked(tasks, query, self.now()?.wall, self.rules()).with_times(times))
    }
}
