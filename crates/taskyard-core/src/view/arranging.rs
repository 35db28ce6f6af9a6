//! A list as rows: the client's order, parts below their tasks, and what is long done folded away.
//!
//! Nothing is read for that but what the list in memory knows of each task: the rows that are seen are read when they are drawn.

use std::collections::{HashMap, HashSet};

use crate::live::{LiveList, Outline, Slot};
use crate::render::Look;
use crate::rules::graph::parts::Progress;
use crate::{Status, Task, TaskId};

/// How deep rows are indented; parts of parts beyond it stay where they are.
const DEEPEST: u8 = 16;

/// What of a list is shown.
#[derive(Default)]
pub struct Wanted<'a> {
    /// How many completed tasks are shown before the rest becomes `+N completed`; none shows all.
    pub completed_after: Option<usize>,
    /// The tasks whose parts are folded away.
    pub folded: Option<&'a HashSet<TaskId>>,
    /// Which tasks a filter lets through; none lets all.
    pub chosen: Option<&'a HashSet<TaskId>>,
}

/// A list as rows. It is true until the list changes next.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    rows: Vec<Row>,
    columns: [Vec<Slot>; 3],
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A task.
    Task(TreeRow),
    /// So many completed tasks that are not shown.
    Completed(usize),
}

/// A task in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    slot: Slot,
    depth: u8,
    /// At which depths a branch goes on below, as bits.
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
        // Ids are made for a comparison only where the user filters.
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

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns a row.
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

    /// Returns the row of a task.
    pub fn place_of(&self, list: &LiveList, id: &TaskId) -> Option<usize> {
        let wanted = list.slot_of(id)?;
        self.rows.iter().position(|row| matches!(row, Row::Task(row) if row.slot == wanted))
    }

    /// Returns how many tasks a column has: pending, in progress or completed.
    pub fn column_length(&self, column: Status) -> usize {
        self.columns[column as usize].len()
    }

    /// Returns a task of a column. The newest of what is completed comes first.
    pub fn in_column(&self, list: &LiveList, column: Status, place: usize) -> Option<TaskId> {
        self.slot_in_column(column, place).map(|slot| list.id_at(slot))
    }

    /// Returns where a task stands in its column.
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
    /// Reads the task.
    pub fn task(&self, list: &LiveList) -> Option<Task> {
        list.task_at(self.slot)
    }

    /// Returns how far its parts are; none where it has none.
    pub fn progress(&self, list: &LiveList) -> Option<Progress> {
        list.progress_at(self.slot)
    }

    /// Tells whether its parts are folded away.
    pub const fn is_folded(&self) -> bool {
        self.is_folded
    }

    /// Returns the branches that lead to it.
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

/// Takes what is long done out of what is shown, except where an open part would lose what it is a part of. Returns how many went.
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

/// Returns the rows, depth first.
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
    fn what_is_in_progress_comes_first_and_parts_stand_below_their_tasks() {
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
    fn what_is_long_done_is_folded_unless_an_open_part_would_lose_its_place() {
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
    fn a_column_has_the_tasks_of_a_state_and_the_newest_of_what_is_done_first() {
        let list = list(&[(1, Completed, None), (2, Pending, None), (3, Completed, None)]);
        let arranged = Arrangement::of(&list, &Wanted::default());
        let done: Vec<_> = (0..2).filter_map(|place| arranged.in_column(&list, Completed, place)).collect();
        assert_eq!(done, [TaskId::number(3), TaskId::number(1)]);
        assert_eq!(arranged.place_in_column(&list, Completed, &TaskId::number(1)), Some(1));
        assert_eq!(arranged.in_column(&list, Completed, 2), None);
    }
}
