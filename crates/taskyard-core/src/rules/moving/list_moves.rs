//! Moves tasks from one list to another, and maps ids when tasks leave a list.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::importing::{ABSENT, MARK};
use crate::dialect::macf::{set_parent, with_marks};
use crate::rules::graph::dependencies::Edge;
use crate::rules::graph::reconnecting::reconnect;
use crate::{Rules, Task, TaskId};

/// The tasks to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWhich {
    /// All tasks.
    All,
    /// All visible tasks that are not completed.
    Open,
}

impl MergeWhich {
    /// Returns whether a task is moved.
    pub fn moves(self, task: &Task) -> bool {
        match self {
            Self::All => true,
            Self::Open => task.status.is_open() && !task.is_internal(),
        }
    }
}

/// The effects of a move on both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Move {
    /// The old and new id of each moving task, in list order.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// The moved tasks with their new ids.
    pub arriving: Vec<Task>,
    /// The remaining tasks that change because they refer to a moved one.
    pub staying: Vec<Task>,
    /// The edges that are lost, by old ids.
    pub dropped_edges: Vec<Edge>,
    /// The tasks that lose their parent because only one of the two moves, by old ids.
    pub dropped_parents: Vec<TaskId>,
}

/// Plans a move, given the tasks of the source list and the new ids for the moving ones.
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

/// The dropped edges, without duplicates, since both ends may state an edge.
#[derive(Default)]
struct DroppedEdges {
    order: Vec<Edge>,
    seen: HashSet<Edge>,
}

impl DroppedEdges {
    /// Records an edge. Returns `false`, for use in `retain`.
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

/// Gives tasks that were imported from a format their original ids back and removes the record of that import. If
/// several tasks would have the same id, they keep their current ones.
pub fn sent_back(tasks: Vec<Task>, format: &str) -> Vec<Task> {
    let mut back: HashMap<TaskId, TaskId> =
        tasks.iter().filter_map(|task| Some((task.id.clone(), id_there(task, format)?))).collect();
    loop {
        let mut taken: HashMap<&TaskId, usize> = HashMap::new();
        for task in &tasks {
            *taken.entry(back.get(&task.id).unwrap_or(&task.id)).or_default() += 1;
        }
        let shared: HashSet<TaskId> =
            back.iter().filter(|(_, there)| taken[there] > 1).map(|(here, _)| here.clone()).collect();
        if shared.is_empty() {
            break;
        }
        back.retain(|here, _| !shared.contains(here));
    }
    tasks.into_iter().map(|task| one_sent_back(task, &back)).collect()
}

/// Replaces ids that cannot be used as file names. Returns the tasks and the pairs of old and new ids.
pub fn with_file_names(tasks: Vec<Task>) -> (Vec<Task>, Vec<(TaskId, TaskId)>) {
    let is_safe = |task: &&Task| task.id.file_stem() == task.id.as_str();
    let mut taken: HashSet<String> = tasks.iter().filter(is_safe).map(|task| task.id.file_stem()).collect();
    let mut renamed = Vec::new();
    for task in tasks.iter().filter(|task| !is_safe(task)) {
        let stem = task.id.file_stem();
        let others = (2..).map(|number| format!("{stem}-{number}"));
        let free = std::iter::once(stem.clone()).chain(others).find(|name| taken.insert(name.clone()));
        renamed.extend(free.map(|name| (task.id.clone(), TaskId::stored(name))));
    }
    if renamed.is_empty() {
        return (tasks, renamed);
    }
    let names: HashMap<TaskId, TaskId> = renamed.iter().cloned().collect();
    let rename = |task: Task| {
        let id = names.get(&task.id).cloned().unwrap_or_else(|| task.id.clone());
        let renamed = Task { id, ..with_other_ids(task.clone(), &names) };
        marked_anew(&task, renamed)
    };
    (tasks.into_iter().map(rename).collect(), renamed)
}

fn id_there(task: &Task, format: &str) -> Option<TaskId> {
    let mark = task.meta(MARK)?;
    let id = mark.get("id")?.as_str().filter(|id| !id.is_empty())?;
    (mark.get("from")?.as_str() == Some(format)).then(|| TaskId::stored(id))
}

/// Returns the task with its edges and parent renamed.
fn with_other_ids(mut task: Task, ids: &HashMap<TaskId, TaskId>) -> Task {
    let translated = |id: &TaskId| ids.get(id).unwrap_or(id).clone();
    for edge in task.blocks.iter_mut().chain(&mut task.blocked_by) {
        *edge = translated(edge);
    }
    if let Some(parent) = task.parent().filter(|parent| ids.contains_key(parent)) {
        set_parent(&mut task, Some(&translated(&parent)));
    }
    task
}

fn one_sent_back(task: Task, back: &HashMap<TaskId, TaskId>) -> Task {
    let before = task;
    let mut task = with_other_ids(before.clone(), back);
    let Some(metadata) = &mut task.metadata else { return task };
    let Some(there) = back.get(&task.id) else { return task };
    let absent = metadata.get(MARK).and_then(|mark| mark.get(ABSENT)).and_then(Value::as_array);
    let absent: Vec<TaskId> = absent.into_iter().flatten().filter_map(Value::as_str).map(TaskId::stored).collect();
    task.blocked_by.extend(absent);
    // Restore the record of an earlier import.
    let earlier = metadata.get(MARK).and_then(|mark| mark.get("before")).cloned();
    match earlier {
        Some(earlier) => drop(metadata.insert(MARK.to_owned(), earlier)),
        None => drop(metadata.shift_remove(MARK)),
    }
    if metadata.is_empty() {
        task.metadata = None;
    }
    marked_anew(&before, Task { id: there.clone(), stated_id: None, ..task })
}

/// Returns the renumbered task with the marks before its title updated.
fn marked_anew(before: &Task, mut task: Task) -> Task {
    if let Some(subject) = with_marks(before, &task, None) {
        task.subject = subject;
    }
    task
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
    fn edges_to_tasks_left_behind_are_dropped_on_both_sides() {
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

#[cfg(test)]
mod returning_tests {
    use serde_json::json;

    use super::{sent_back, with_file_names};
    use crate::{Task, TaskId};

    fn from_there(id: u64, there: &str) -> Task {
        let metadata = json!({"imported": {"from": "export", "source": "/x", "id": there}});
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(id), "s") }
    }

    fn ids(tasks: &[Task]) -> Vec<&str> {
        tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn what_it_waits_for_and_did_not_come_is_waited_for_there_again() {
        let metadata = json!({"imported": {"from": "export", "source": "/x", "id": "a", "waitsFor": ["gone"]}});
        let task = Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "s") };
        assert_eq!(sent_back(vec![task.clone()], "export")[0].blocked_by, [TaskId::stored("gone")]);
        assert_eq!(sent_back(vec![task.clone()], "document"), [task]);
    }

    #[test]
    fn ids_edges_and_parents_are_those_of_the_source() {
        let mut two = from_there(2, "b");
        two.blocked_by = vec![TaskId::number(1), TaskId::number(3)];
        two.metadata.as_mut().unwrap().insert("parent".into(), json!("1"));
        let back = sent_back(vec![from_there(1, "a"), two, Task::new(TaskId::number(3), "s")], "export");
        assert_eq!(ids(&back), ["a", "b", "3"]);
        assert_eq!(back[1].blocked_by, [TaskId::stored("a"), TaskId::number(3)]);
        assert_eq!((&back[0].metadata, back[1].parent()), (&None, Some(TaskId::stored("a"))));
    }

    #[test]
    fn unsafe_ids_are_mapped_to_distinct_file_names() {
        let mut last = Task::new(TaskId::stored("x"), "s");
        last.blocked_by = vec![TaskId::stored("a/b"), TaskId::stored("a-b")];
        let tasks = ["a/b", "a-b", "a?b"].map(|id| Task::new(TaskId::stored(id), "s"));
        let (told, renamed) = with_file_names(tasks.into_iter().chain([last]).collect());
        assert_eq!(ids(&told), ["a-b-2", "a-b", "a-b-3", "x"]);
        assert_eq!(told[3].blocked_by, ["a-b-2", "a-b"].map(TaskId::stored));
        assert_eq!(renamed[0], (TaskId::stored("a/b"), TaskId::stored("a-b-2")));
    }

    #[test]
    fn what_came_from_elsewhere_keeps_its_id() {
        assert_eq!(ids(&sent_back(vec![from_there(1, "a")], "document")), ["1"]);
    }

    #[test]
    fn two_tasks_never_get_one_id() {
        let back = sent_back(vec![from_there(1, "a"), from_there(2, "a"), from_there(3, "1")], "export");
        assert_eq!(ids(&back), ["1", "2", "3"]);
        let back = sent_back(vec![from_there(1, "2"), from_there(2, "1")], "export");
        assert_eq!(ids(&back), ["2", "1"]);
    }
}
