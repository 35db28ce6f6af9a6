//! Arranges a list as rows: order, nesting, folding and filtering.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;

use crate::live::{LiveList, Outline, Slot};
use crate::render::Look;
use crate::rules::graph::parts::Progress;
use crate::rules::looking::query::{Mistake, Query, Surroundings, Times};
use crate::{Status, Task, TaskId, Timestamp};

/// Maximum indentation depth of rows; deeper parts are not indented further.
const DEEPEST: u8 = 16;

/// Which part of a list is shown.
#[derive(Default)]
pub struct Wanted<'a> {
    /// How many completed tasks are shown before the rest is folded into `+N completed`; `None` shows all.
    pub completed_after: Option<usize>,
    /// The tasks whose parts are folded.
    pub folded: Option<&'a HashSet<TaskId>>,
    /// The tasks that match the filter; `None` if there is no filter.
    pub chosen: Option<&'a HashSet<TaskId>>,
}

/// A list arranged as rows. It is valid until the list changes.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    rows: Vec<Row>,
    columns: [Vec<Slot>; 3],
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A task.
    Task(TreeRow),
    /// This number of hidden completed tasks.
    Completed(usize),
}

/// A task in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    slot: Slot,
    depth: u8,
    /// The depths at which a branch continues below, as a bit set.
    bars: u32,
    is_last: bool,
    is_folded: bool,
}

impl Arrangement {
    /// Arranges a list.
    pub fn of(list: &LiveList, wanted: &Wanted<'_>) -> Self {
        let mut by_status: [Vec<Slot>; 3] = Default::default();
        let mut is_shown = vec![false; list.slots()];
        let mut parts: Vec<Slot> = Vec::new();
        // Ids are only created if there is a filter.
        let is_chosen = |slot: Slot| wanted.chosen.is_none_or(|chosen| chosen.contains(&list.id_at(slot)));
        for (slot, Outline { status, is_part, .. }) in
            list.outlines().filter(|(slot, outline)| !outline.is_internal && is_chosen(*slot))
        {
            by_status[status as usize].push(slot);
            is_shown[slot as usize] = true;
            if is_part {
                parts.push(slot);
            }
        }
        let above: HashMap<Slot, Slot> = parts
            .into_iter()
            .filter_map(|slot| Some((slot, list.above(slot).filter(|above| is_shown[*above as usize])?)))
            .collect();
        let hidden = hide_long_done(&by_status, &above, &mut is_shown, wanted.completed_after);
        let order = [Status::InProgress, Status::Pending, Status::Completed]
            .into_iter()
            .flat_map(|status| by_status[status as usize].iter().copied())
            .filter(|slot| is_shown[*slot as usize]);
        let mut below: HashMap<Slot, Vec<Slot>> = HashMap::new();
        let mut roots = Vec::new();
        for slot in order {
            match above.get(&slot) {
                Some(parent) if is_shown[*parent as usize] => below.entry(*parent).or_default().push(slot),
                _ => roots.push(slot),
            }
        }
        let mut rows = walk(list, roots, &below, wanted.folded);
        if hidden > 0 {
            rows.push(Row::Completed(hidden));
        }
        Self { rows, columns: by_status }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the row at an index.
    pub fn row(&self, place: usize) -> Option<Row> {
        self.rows.get(place).copied()
    }

    /// Returns the task of a row.
    pub fn id(&self, list: &LiveList, place: usize) -> Option<TaskId> {
        match self.rows.get(place)? {
            Row::Task(row) => Some(list.id_at(row.slot)),
            Row::Completed(_) => None,
        }
    }

    /// Returns the row index of a task.
    pub fn place_of(&self, list: &LiveList, id: &TaskId) -> Option<usize> {
        let wanted = list.slot_of(id)?;
        self.rows.iter().position(|row| matches!(row, Row::Task(row) if row.slot == wanted))
    }

    /// Returns the number of tasks in the column of a status.
    pub fn column_length(&self, column: Status) -> usize {
        self.columns[column as usize].len()
    }

    /// Returns a task of a column. Completed tasks are ordered newest first.
    pub fn in_column(&self, list: &LiveList, column: Status, place: usize) -> Option<TaskId> {
        self.slot_in_column(column, place).map(|slot| list.id_at(slot))
    }

    /// Returns the index of a task in its column.
    pub fn place_in_column(&self, list: &LiveList, column: Status, id: &TaskId) -> Option<usize> {
        let slot = list.slot_of(id)?;
        let slots = &self.columns[column as usize];
        let place = slots.iter().position(|other| *other == slot)?;
        Some(if column == Status::Completed { slots.len() - 1 - place } else { place })
    }

    fn slot_in_column(&self, column: Status, place: usize) -> Option<Slot> {
        let slots = &self.columns[column as usize];
        let place = if column == Status::Completed { slots.len().checked_sub(place + 1)? } else { place };
        slots.get(place).copied()
    }
}

impl TreeRow {
    /// Parses the task.
    pub fn task(&self, list: &LiveList) -> Option<Task> {
        list.task_at(self.slot)
    }

    /// Returns the progress of its parts, or `None` if it has none.
    pub fn progress(&self, list: &LiveList) -> Option<Progress> {
        list.progress_at(self.slot)
    }

    /// Returns whether its parts are folded.
    pub const fn is_folded(&self) -> bool {
        self.is_folded
    }

    /// Returns the tree branches in front of the row.
    pub fn guides(&self, look: &Look) -> String {
        let mut guides = String::new();
        for depth in 1..self.depth {
            let goes_on = self.bars & (1 << depth) != 0;
            guides.push_str(if goes_on { look.either("│ ", "| ") } else { "  " });
        }
        if self.depth > 0 {
            guides.push_str(if self.is_last { look.either("└ ", "`-") } else { look.either("├ ", "|-") });
        }
        guides
    }
}

/// Hides old completed tasks, except parents of open parts. Returns how many were hidden.
fn hide_long_done(
    by_status: &[Vec<Slot>; 3],
    above: &HashMap<Slot, Slot>,
    is_shown: &mut [bool],
    completed_after: Option<usize>,
) -> usize {
    let done = &by_status[Status::Completed as usize];
    let Some(limit) = completed_after.filter(|limit| done.len() > *limit) else { return 0 };
    let old = &done[..done.len() - limit];
    old.iter().for_each(|slot| is_shown[*slot as usize] = false);
    let mut hidden = old.len();
    let open = by_status[Status::Pending as usize].iter().chain(&by_status[Status::InProgress as usize]);
    for slot in open {
        let mut next = above.get(slot);
        while let Some(parent) = next.filter(|parent| !is_shown[**parent as usize]) {
            is_shown[*parent as usize] = true;
            hidden -= 1;
            next = above.get(parent);
        }
    }
    hidden
}

/// Returns the rows in depth-first order.
fn walk(
    list: &LiveList,
    roots: Vec<Slot>,
    below: &HashMap<Slot, Vec<Slot>>,
    folded: Option<&HashSet<TaskId>>,
) -> Vec<Row> {
    let mut rows = Vec::with_capacity(roots.len());
    let root = |slot| TreeRow { slot, depth: 0, bars: 0, is_last: true, is_folded: false };
    let mut pending: Vec<TreeRow> = Vec::new();
    for slot in roots {
        pending.push(root(slot));
        while let Some(mut row) = pending.pop() {
            let parts = below.get(&row.slot).map(Vec::as_slice).unwrap_or_default();
            row.is_folded = !parts.is_empty() && folded.is_some_and(|folded| folded.contains(&list.id_at(row.slot)));
            rows.push(Row::Task(row));
            if row.is_folded {
                continue;
            }
            let depth = (row.depth + 1).min(DEEPEST);
            for (place, part) in parts.iter().enumerate().rev() {
                let is_last = place + 1 == parts.len();
                let bars = if is_last { row.bars & !(1 << depth) } else { row.bars | (1 << depth) };
                pending.push(TreeRow { slot: *part, depth, bars, is_last, is_folded: false });
            }
        }
    }
    rows
}

/// The tasks that match a query, evaluated a few at a time so that typing is never delayed.
#[derive(Clone, Debug)]
pub struct LiveFilter {
    query: Query,
    chosen: HashSet<TaskId>,
    unread: Vec<TaskId>,
}

/// The tasks to filter.
#[derive(Clone, Copy, Debug)]
pub struct FilteredList<'a> {
    /// The list.
    pub list: &'a LiveList,
    /// The creation and change times of its tasks, as far as known.
    pub times: &'a HashMap<TaskId, Times>,
    /// The present moment.
    pub now: Timestamp,
}

impl LiveFilter {
    /// Starts a filter. Days in the query are interpreted in `zone`. Returns `None` if the query is empty.
    pub fn begin(text: &str, zone: &TimeZone, list: &LiveList) -> Result<Option<Self>, Mistake> {
        let query = Query::parse(text)?.in_zone(zone.clone());
        if query.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { query, chosen: HashSet::new(), unread: list.ids().collect() }))
    }

    /// Returns whether the query needs creation and change times.
    pub fn asks_for_times(&self) -> bool {
        self.query.asks_for_times()
    }

    /// Returns when the next day begins, if the result depends on the day.
    pub fn next_day(&self, now: Timestamp) -> Option<Timestamp> {
        self.query.next_day(now)
    }

    /// Evaluates at most `most` more tasks. Returns whether all have been evaluated.
    pub fn go_on(&mut self, from: FilteredList<'_>, most: usize) -> bool {
        // The newest tasks are last and are evaluated first.
        for _ in 0..most {
            let Some(id) = self.unread.pop() else { return true };
            self.look_at(from, id);
        }
        self.unread.is_empty()
    }

    /// Returns whether all tasks have been evaluated.
    pub const fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// Re-evaluates changed tasks, and starts over if the query depends on relations between tasks.
    pub fn look_again(&mut self, from: FilteredList<'_>, changed: &[TaskId]) {
        changed.iter().for_each(|id| self.look_at(from, id.clone()));
        if self.query.asks_for_others() {
            self.look_at_all_again(from.list);
        }
    }

    /// Starts to re-evaluate all tasks. Previous results remain until then.
    pub fn look_at_all_again(&mut self, list: &LiveList) {
        self.unread = list.ids().collect();
    }

    /// Returns the matches found so far.
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
    use std::collections::HashSet;

    use serde_json::json;

    use super::{Arrangement, Row, Wanted};
    use crate::dialect::native;
    use crate::live::LiveList;
    use crate::render::Look;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    fn list(tasks: &[(u64, Status, Option<u64>)]) -> LiveList {
        let mut list = LiveList::new(Rules::Strict);
        for (number, status, parent) in tasks {
            let mut task = Task::new(TaskId::number(*number), format!("t{number}"));
            task.status = *status;
            task.metadata = parent.and_then(|parent| json!({"parent": parent.to_string()}).as_object().cloned());
            list.put_read(&task, native::write(None, &task, Rules::Strict).unwrap());
        }
        list.judge(Timestamp(0));
        list
    }

    fn drawn(list: &LiveList, wanted: &Wanted<'_>) -> Vec<String> {
        let arranged = Arrangement::of(list, wanted);
        let row = |place| match arranged.row(place).unwrap() {
            Row::Task(row) => {
                let parts = row.progress(list).map(|parts| format!(" {parts}")).unwrap_or_default();
                format!("{}{}{parts}", row.guides(&Look::PIPE), arranged.id(list, place).unwrap())
            }
            Row::Completed(count) => format!("+{count}"),
        };
        (0..arranged.len()).map(row).collect()
    }

    use Status::{Completed, InProgress, Pending};

    #[test]
    fn in_progress_comes_first_and_parts_below_their_tasks() {
        let list = list(&[
            (1, Pending, None),
            (2, InProgress, Some(1)),
            (3, Pending, Some(1)),
            (4, Pending, Some(2)),
            (5, InProgress, None),
            (6, Completed, None),
        ]);
        assert_eq!(drawn(&list, &Wanted::default()), ["5", "1 0/2", "├ 2 0/1", "│ └ 4", "└ 3", "6"]);
        let folded = HashSet::from([TaskId::number(1)]);
        assert_eq!(drawn(&list, &Wanted { folded: Some(&folded), ..Wanted::default() }), ["5", "1 0/2", "6"]);
    }

    #[test]
    fn long_done_tasks_fold_unless_open_parts_need_them() {
        let list = list(&[
            (1, Completed, None),
            (2, Pending, Some(1)),
            (3, Completed, None),
            (4, Completed, None),
            (5, Completed, None),
        ]);
        let wanted = Wanted { completed_after: Some(1), ..Wanted::default() };
        assert_eq!(drawn(&list, &wanted), ["1 0/1", "└ 2", "5", "+2"]);
    }

    #[test]
    fn a_filter_leaves_what_it_chose_with_the_parents_it_chose() {
        let list = list(&[(1, Pending, None), (2, Pending, Some(1)), (3, Pending, Some(2))]);
        let chosen = HashSet::from([TaskId::number(2), TaskId::number(3)]);
        let wanted = Wanted { chosen: Some(&chosen), ..Wanted::default() };
        assert_eq!(drawn(&list, &wanted), ["2 0/1", "└ 3"]);
    }

    #[test]
    fn column_shows_tasks_of_its_state_newest_done_first() {
        let list = list(&[(1, Completed, None), (2, Pending, None), (3, Completed, None)]);
        let arranged = Arrangement::of(&list, &Wanted::default());
        let done: Vec<_> = (0..2).filter_map(|place| arranged.in_column(&list, Completed, place)).collect();
        assert_eq!(done, [TaskId::number(3), TaskId::number(1)]);
        assert_eq!(arranged.place_in_column(&list, Completed, &TaskId::number(1)), Some(1));
        assert_eq!(arranged.in_column(&list, Completed, 2), None);
    }
}

#[cfg(test)]
mod filtering_tests {
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
    fn derived_facts_follow_when_one_task_changes() {
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
