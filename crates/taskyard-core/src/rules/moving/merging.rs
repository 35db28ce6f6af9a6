//! What becomes of tasks that move from one list to another.

use std::collections::{HashMap, HashSet};

use crate::dialect::macf::{set_parent, with_marks};
use crate::rules::graph::dependencies::Edge;
use crate::rules::graph::reconnecting::reconnect;
use crate::{Rules, Task, TaskId};

/// Which tasks move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWhich {
    /// Every task.
    All,
    /// Every visible task that is not completed.
    Open,
}

impl MergeWhich {
    /// Tells whether this task moves.
    pub fn moves(self, task: &Task) -> bool {
        match self {
            Self::All => true,
            Self::Open => task.status.is_open() && !task.is_internal(),
        }
    }
}

/// What a move does to both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Move {
    /// Each moving task's old and new id, by the old.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// The tasks as they arrive, with their new ids.
    pub arriving: Vec<Task>,
    /// The tasks that stay behind and change, because they had to do with one that moves.
    pub staying: Vec<Task>,
    /// The edges that cannot come along, by the old ids.
    pub dropped_edges: Vec<Edge>,
    /// The tasks that are no longer a part of another, because only one of the two moves; by the old ids.
    pub dropped_parents: Vec<TaskId>,
}

/// Works out a move, given the tasks of the list they leave and the ids they get.
pub fn plan_move(tasks: &[Task], which: MergeWhich, new_ids: impl Iterator<Item = TaskId>, rules: Rules) -> Move {
    let (leaving, remaining): (Vec<&Task>, Vec<&Task>) = tasks.iter().partition(|task| which.moves(task));
    let mapping: Vec<(TaskId, TaskId)> = leaving.iter().map(|task| task.id.clone()).zip(new_ids).collect();
    let new_id: HashMap<&TaskId, &TaskId> = mapping.iter().map(|(old, new)| (old, new)).collect();
    let old_id: HashMap<&TaskId, &TaskId> = mapping.iter().map(|(old, new)| (new, old)).collect();
    let mut dropped = DroppedEdges::default();
    let mut dropped_parents = Vec::new();

    let mut arriving: Vec<Task> = Vec::with_capacity(leaving.len());
    for task in &leaving {
        let mut moved = (*task).clone();
        moved.stated_id = None;
        moved.id = new_id.get(&task.id).map_or_else(|| task.id.clone(), |id| (*id).clone());
        moved.blocked_by = renamed(&task.blocked_by, &new_id, |on| dropped.push(task.id.clone(), on.clone()));
        moved.blocks = renamed(&task.blocks, &new_id, |waiting| dropped.push(waiting.clone(), task.id.clone()));
        if let Some(parent) = task.parent() {
            set_parent(&mut moved, new_id.get(&parent).copied());
            if !new_id.contains_key(&parent) {
                dropped_parents.push(task.id.clone());
            }
        }
        if let Some(subject) = with_marks(task, &moved, None) {
            moved.subject = subject;
        }
        arriving.push(moved);
    }

    let mut staying = Vec::new();
    for task in remaining {
        let mut left = task.clone();
        left.blocked_by.retain(|on| !new_id.contains_key(on) || dropped.push(task.id.clone(), on.clone()));
        left.blocks.retain(|waiting| !new_id.contains_key(waiting) || dropped.push(waiting.clone(), task.id.clone()));
        if task.parent().is_some_and(|parent| new_id.contains_key(&parent)) {
            set_parent(&mut left, None);
            if let Some(subject) = with_marks(task, &left, None) {
                left.subject = subject;
            }
            dropped_parents.push(task.id.clone());
        }
        if left != *task {
            staying.push(left);
        }
    }

    let reconnected = reconnect(&[], &arriving, rules);
    for edge in &reconnected.dropped {
        if let (Some(task), Some(on)) = (old_id.get(&edge.task), old_id.get(&edge.on)) {
            dropped.push((*task).clone(), (*on).clone());
        }
    }
    let mut changed: HashMap<TaskId, Task> =
        reconnected.changed.into_iter().map(|task| (task.id.clone(), task)).collect();
    for task in &mut arriving {
        if let Some(changed) = changed.remove(&task.id) {
            *task = changed;
        }
    }
    Move { mapping, arriving, staying, dropped_edges: dropped.order, dropped_parents }
}

/// Edges that were dropped, each named once although both its ends may know of it.
#[derive(Default)]
struct DroppedEdges {
    order: Vec<Edge>,
    seen: HashSet<Edge>,
}

impl DroppedEdges {
    /// Notes an edge, and returns false: it is not kept.
    fn push(&mut self, task: TaskId, on: TaskId) -> bool {
        let edge = Edge::new(task, on);
        if self.seen.insert(edge.clone()) {
            self.order.push(edge);
        }
        false
    }
}

fn renamed(
    ids: &[TaskId],
    new_id: &HashMap<&TaskId, &TaskId>,
    mut dropped: impl FnMut(&TaskId) -> bool,
) -> Vec<TaskId> {
    let mut renamed = Vec::with_capacity(ids.len());
    for id in ids {
        match new_id.get(id) {
            Some(new) => renamed.push((*new).clone()),
            None => {
                dropped(id);
            }
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MergeWhich, plan_move};
    use crate::rules::graph::dependencies::Edge;
    use crate::rules::samples::{id, task};
    use crate::{Rules, Status, Task};

    fn plan(tasks: &[Task], which: MergeWhich) -> super::Move {
        plan_move(tasks, which, (11..).map(id), Rules::Strict)
    }

    #[test]
    fn edges_are_rewritten_to_the_new_numbers() {
        let moved = plan(&[task(1, &[], &[2]), task(2, &[1], &[])], MergeWhich::All);
        assert_eq!(moved.mapping, [(id(1), id(11)), (id(2), id(12))]);
        assert_eq!(moved.arriving, [task(11, &[], &[12]), task(12, &[11], &[])]);
        assert!(moved.dropped_edges.is_empty() && moved.staying.is_empty());
    }

    #[test]
    fn edges_to_tasks_that_stay_behind_are_dropped_on_both_sides_and_told_once() {
        let mut tasks = [task(1, &[], &[2]), task(2, &[1], &[3]), task(3, &[2], &[])];
        tasks[0].status = Status::Completed;
        let moved = plan(&tasks, MergeWhich::Open);
        assert_eq!(moved.arriving, [task(11, &[], &[12]), task(12, &[11], &[])]);
        assert_eq!(moved.staying.len(), 1);
        assert!(moved.staying[0].blocks.is_empty());
        assert_eq!(moved.dropped_edges, [Edge::new(id(2), id(1))]);
    }

    #[test]
    fn internal_and_completed_tasks_stay_when_only_open_ones_move() {
        let mut tasks = [task(1, &[], &[]), task(2, &[], &[]), task(3, &[], &[])];
        tasks[0].metadata = json!({ "_internal": true }).as_object().cloned();
        tasks[1].status = Status::Completed;
        assert_eq!(plan(&tasks, MergeWhich::Open).mapping, [(id(3), id(11))]);
        assert_eq!(plan(&tasks, MergeWhich::All).mapping.len(), 3);
    }

    #[test]
    fn parents_are_rewritten_or_forgotten() {
        let mut tasks = [task(1, &[], &[]), task(2, &[], &[]), task(3, &[], &[]), task(4, &[], &[])];
        tasks[0].status = Status::Completed;
        tasks[1].metadata = json!({ "parent": "1", "k": 1 }).as_object().cloned();
        tasks[2].metadata = json!({ "parent": 2 }).as_object().cloned();
        tasks[3].metadata = json!({ "parent": "2" }).as_object().cloned();
        tasks[3].status = Status::Completed;
        let moved = plan(&tasks, MergeWhich::Open);
        assert_eq!(moved.arriving[0].metadata, json!({ "k": 1 }).as_object().cloned());
        assert_eq!(moved.arriving[1].metadata, json!({ "parent": 11 }).as_object().cloned());
        assert_eq!(moved.staying[0].metadata, json!({}).as_object().cloned());
        assert_eq!(moved.dropped_parents, [id(2), id(4)]);
    }

    #[test]
    fn a_circle_does_not_move_along() {
        let moved = plan(&[task(1, &[2], &[2]), task(2, &[1], &[1])], MergeWhich::All);
        assert_eq!(moved.dropped_edges, [Edge::new(id(2), id(1))]);
        assert_eq!(moved.arriving, [task(11, &[12], &[]), task(12, &[], &[11])]);
    }
}
