//! Choosing tasks while a user types.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;

use crate::live::LiveList;
use crate::rules::looking::query::{Mistake, Query, Surroundings, Times};
use crate::{Task, TaskId, Timestamp};

/// The tasks of which a query is true, worked out a few at a time, so that a user who types never waits.
#[derive(Clone, Debug)]
pub struct LiveFilter {
    query: Query,
    chosen: HashSet<TaskId>,
    unread: Vec<TaskId>,
}

/// What tasks are chosen from.
#[derive(Clone, Copy, Debug)]
pub struct FilteredList<'a> {
    /// The list.
    pub list: &'a LiveList,
    /// When its tasks were made and last changed, as far as that is known.
    pub times: &'a HashMap<TaskId, Times>,
    /// The present moment.
    pub now: Timestamp,
}

impl LiveFilter {
    /// Begins to choose from a list, with days meant in this zone; `None` if everything is meant.
    pub fn begin(text: &str, zone: &TimeZone, list: &LiveList) -> Result<Option<Self>, Mistake> {
        let query = Query::parse(text)?.in_zone(zone.clone());
        if query.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { query, chosen: HashSet::new(), unread: list.ids().collect() }))
    }

    /// Tells whether it has to know when tasks were made and changed.
    pub fn asks_for_times(&self) -> bool {
        self.query.asks_for_times()
    }

    /// Returns when the next day begins, if the answer depends on the day.
    pub fn next_day(&self, now: Timestamp) -> Option<Timestamp> {
        self.query.next_day(now)
    }

    /// Looks at so many more tasks. Tells whether all have been looked at.
    pub fn go_on(&mut self, from: FilteredList<'_>, most: usize) -> bool {
        // The newest are at the end, and are found first.
        for _ in 0..most {
            let Some(id) = self.unread.pop() else { return true };
            self.look_at(from, id);
        }
        self.unread.is_empty()
    }

    /// Tells whether all tasks have been looked at.
    pub const fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// Looks again at tasks that have changed, and at all where what they say of each other is asked for.
    pub fn look_again(&mut self, from: FilteredList<'_>, changed: &[TaskId]) {
        changed.iter().for_each(|id| self.look_at(from, id.clone()));
        if self.query.asks_for_others() {
            self.look_at_all_again(from.list);
        }
    }

    /// Begins to look at all tasks again; what was found stays until it is looked at.
    pub fn look_at_all_again(&mut self, list: &LiveList) {
        self.unread = list.ids().collect();
    }

    /// Returns the tasks found so far.
    pub const fn chosen(&self) -> &HashSet<TaskId> {
        &self.chosen
    }

    fn look_at(&mut self, from: FilteredList<'_>, id: TaskId) {
        if from.list.task(&id).is_some_and(|task| !task.is_internal() && self.query.is_true_of(&task, &from)) {
            self.chosen.insert(id);
        } else {
            self.chosen.remove(&id);
        }
    }
}

impl Surroundings for FilteredList<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn is_ready(&self, task: &Task) -> bool {
        self.list.is_ready(&task.id)
    }

    fn is_blocked(&self, task: &Task) -> bool {
        task.status.is_open() && !self.list.open_blockers(&task.id).is_empty()
    }

    fn times(&self, task: &Task) -> Option<Times> {
        self.times.get(&task.id).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use jiff::tz::TimeZone;

    use super::{FilteredList, LiveFilter};
    use crate::dialect::native;
    use crate::live::LiveList;
    use crate::rules::looking::query::Times;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    const NOW: Timestamp = Timestamp(0);

    fn put(list: &mut LiveList, number: u64, subject: &str, on: &[u64]) {
        let mut task = Task::new(TaskId::number(number), subject);
        task.blocked_by = on.iter().copied().map(TaskId::number).collect();
        list.put_read(&task, native::write(None, &task, Rules::Strict).unwrap());
        list.judge(NOW);
    }

    fn go_on(filter: &mut LiveFilter, list: &LiveList, most: usize) -> bool {
        filter.go_on(FilteredList { list, times: &HashMap::new(), now: NOW }, most)
    }

    fn look_again(filter: &mut LiveFilter, list: &LiveList, changed: u64) {
        let from = FilteredList { list, times: &HashMap::new(), now: NOW };
        filter.look_again(from, &[TaskId::number(changed)]);
    }

    fn found(filter: &LiveFilter) -> Vec<&str> {
        let mut ids: Vec<&str> = filter.chosen().iter().map(TaskId::as_str).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn it_is_worked_out_a_few_at_a_time_and_follows_what_changes() {
        let mut list = LiveList::new(Rules::Strict);
        for (number, subject) in [(1, "Write the Parser"), (2, "Write docs"), (3, "Read the parser")] {
            put(&mut list, number, subject, &[]);
        }
        let mut filter = LiveFilter::begin("parser WRITE", &TimeZone::UTC, &list).unwrap().unwrap();
        assert!(!go_on(&mut filter, &list, 2));
        assert!(filter.chosen().is_empty() && !filter.is_complete());
        assert!(go_on(&mut filter, &list, 2));
        assert_eq!(found(&filter), ["1"]);
        put(&mut list, 2, "Write the parser's docs", &[]);
        look_again(&mut filter, &list, 2);
        assert_eq!(found(&filter), ["1", "2"]);
    }

    #[test]
    fn what_tasks_say_of_each_other_is_looked_at_again_when_one_changes() {
        let mut list = LiveList::new(Rules::Strict);
        put(&mut list, 1, "a", &[]);
        put(&mut list, 2, "b", &[1]);
        let mut filter = LiveFilter::begin("blocked", &TimeZone::UTC, &list).unwrap().unwrap();
        go_on(&mut filter, &list, 9);
        assert_eq!(found(&filter), ["2"]);
        let done = Task { status: Status::Completed, ..list.task(&TaskId::number(1)).unwrap() };
        list.put_read(&done, native::write(None, &done, Rules::Strict).unwrap());
        list.judge(NOW);
        look_again(&mut filter, &list, 1);
        go_on(&mut filter, &list, 9);
        assert!(found(&filter).is_empty());
    }

    #[test]
    fn tasks_are_chosen_by_when_they_were_made_and_changed() {
        const HOUR: i64 = 3_600_000;
        let mut list = LiveList::new(Rules::Strict);
        put(&mut list, 1, "old", &[]);
        put(&mut list, 2, "new", &[]);
        let at = |created, updated| Times { created: Timestamp(created), updated: Timestamp(updated) };
        let times =
            HashMap::from([(TaskId::number(1), at(0, 71 * HOUR)), (TaskId::number(2), at(70 * HOUR, 70 * HOUR))]);
        let from = FilteredList { list: &list, times: &times, now: Timestamp(72 * HOUR) };
        for (query, ids) in [("older:2d", vec!["1"]), ("changed:90m", vec!["1"]), ("not older:2d", vec!["2"])] {
            let mut filter = LiveFilter::begin(query, &TimeZone::UTC, &list).unwrap().unwrap();
            assert!(filter.asks_for_times());
            filter.go_on(from, 9);
            assert_eq!(found(&filter), ids, "{query}");
        }
    }

    #[test]
    fn nothing_asked_for_is_no_filter_and_nonsense_is_a_mistake() {
        let list = LiveList::new(Rules::Strict);
        assert!(LiveFilter::begin("  ", &TimeZone::UTC, &list).unwrap().is_none());
        assert!(LiveFilter::begin("status:nonsense", &TimeZone::UTC, &list).is_err());
    }
}
