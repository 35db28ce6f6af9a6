//! Which tasks a listing contains, and what it says about them.

use std::collections::{HashMap, HashSet};

use super::ordering::{sort_as_the_client, sort_for_display};
use super::query::{ListSurroundings, Query, SortOrder, Surroundings as _, Times};
use crate::rules::graph::parts::{Progress, progress};
use crate::{ClientVersion, Priority, Rules, Status, Task, TaskId};

/// Selects tasks. By default all visible tasks are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only tasks with one of these statuses; any status if empty.
    pub statuses: Vec<Status>,
    /// In addition to these statuses, blocked open tasks, which some dialects treat as a status of their own.
    pub or_blocked: bool,
    /// Only tasks of this owner.
    pub owner: Option<String>,
    /// Only tasks that can start now.
    pub ready: bool,
    /// Only open tasks with open blockers.
    pub blocked: bool,
    /// Only tasks with this tag.
    pub tag: Option<String>,
    /// Only tasks of this priority. Tasks without a stated priority count as medium.
    pub priority: Option<Priority>,
    /// Only parts of this task.
    pub parent: Option<TaskId>,
    /// Only tasks that match this query.
    pub query: Query,
    /// The sort order; display order if empty.
    pub sort: Vec<SortOrder>,
    /// At most this many tasks, from the start of the sorted list.
    pub limit: Option<usize>,
    /// Whether to include when tasks were created and last changed.
    pub with_times: bool,
    /// Whether to include internal tasks.
    pub internal: bool,
}

/// The tasks selected by a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The tasks, in the requested order.
    pub tasks: Vec<Task>,
    /// Number of pending, in-progress and completed tasks in the whole list, without internal ones.
    pub counts: [usize; 3],
    /// The open blockers of each selected task. Tasks without any have no entry.
    pub blockers: HashMap<TaskId, Vec<TaskId>>,
    /// The progress of each task in the whole list that has parts.
    pub progress: HashMap<TaskId, Progress>,
    /// When selected tasks were created and last changed, if requested and known.
    pub times: HashMap<TaskId, Times>,
}

impl Filter {
    /// Returns whether the result depends on creation or change times, which only the journal knows.
    pub fn asks_for_times(&self) -> bool {
        self.with_times || self.query.asks_for_times() || self.sort.iter().any(|order| order.key.asks_for_times())
    }
}

/// Applies a filter to the tasks of a list. `around` is the same list as seen by queries.
pub fn select(mut tasks: Vec<Task>, filter: &Filter, around: &ListSurroundings, rules: Rules) -> Selection {
    let counts = count(&tasks);
    let progress = progress(&tasks, rules);
    tasks.retain(|task| is_wanted(task, filter, around));
    sort_for_display(&mut tasks);
    if !filter.sort.is_empty() {
        SortOrder::sort(&filter.sort, &mut tasks, around);
    }
    tasks.truncate(filter.limit.unwrap_or(usize::MAX));
    let waits_for = |task: &Task| Some((task.id.clone(), around.blockers(task))).filter(|(_, ids)| !ids.is_empty());
    let blockers = tasks.iter().filter_map(waits_for).collect();
    let times = tasks.iter().filter(|_| filter.with_times);
    let times = times.filter_map(|task| Some((task.id.clone(), around.times(task)?))).collect();
    Selection { tasks, counts, blockers, progress, times }
}

/// Returns the number of pending, in-progress and completed tasks, without internal ones.
pub(crate) fn count(tasks: &[Task]) -> [usize; 3] {
    let mut counts = [0; 3];
    for task in tasks.iter().filter(|task| !task.is_internal()) {
        counts[task.status as usize] += 1;
    }
    counts
}

/// Returns whether a task is open and has open blockers.
pub(crate) fn is_blocked(task: &Task, open_blockers: &[TaskId]) -> bool {
    task.status.is_open() && !open_blockers.is_empty()
}

/// A line of the client's `TaskList`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientLine {
    /// The id shown: the one stored in the file.
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) status: Status,
    pub(crate) owner: Option<String>,
    /// The blockers as the client shows them. Visible completed tasks are left out; unknown ids are not.
    pub(crate) blocked_by: Vec<TaskId>,
}

/// Returns the lines that the client's `TaskList` shows.
pub(crate) fn as_the_client_lists(tasks: Vec<Task>, version: ClientVersion) -> Vec<ClientLine> {
    let mut visible: Vec<Task> = tasks.into_iter().filter(|task| !task.is_internal()).collect();
    sort_as_the_client(&mut visible, version);
    let completed: HashSet<String> =
        visible.iter().filter(|task| task.status == Status::Completed).map(|task| task.shown_id().to_owned()).collect();
    let line = |task: Task| ClientLine {
        id: task.shown_id().to_owned(),
        subject: task.subject,
        status: task.status,
        owner: task.owner,
        blocked_by: task.blocked_by.into_iter().filter(|id| !completed.contains(id.as_str())).collect(),
    };
    visible.into_iter().map(line).collect()
}

fn has_wanted_state(task: &Task, filter: &Filter, around: &ListSurroundings) -> bool {
    let is_any_wanted = filter.statuses.is_empty() && !filter.or_blocked;
    is_any_wanted || filter.statuses.contains(&task.status) || (filter.or_blocked && around.is_blocked(task))
}

fn is_wanted(task: &Task, filter: &Filter, around: &ListSurroundings) -> bool {
    (filter.internal || !task.is_internal())
        && has_wanted_state(task, filter, around)
        && filter.owner.as_deref().is_none_or(|owner| task.owner() == Some(owner))
        && filter.tag.as_deref().is_none_or(|wanted| task.tags().any(|tag| tag == wanted))
        && filter.priority.is_none_or(|priority| task.priority() == priority)
        && filter.parent.as_ref().is_none_or(|parent| task.parent().is_some_and(|other| other == *parent))
        && (!filter.ready || around.is_ready(task))
        && (!filter.blocked || around.is_blocked(task))
        && match filter.statuses.is_empty() {
            true => filter.query.is_true_of(task, around),
            false => filter.query.is_true_beside_status(task, around),
        }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Filter, Selection, as_the_client_lists, select};
    use crate::rules::looking::query::ListSurroundings;
    use crate::{ClientVersion, Rules, Status, Task, TaskId, Timestamp};

    fn id(number: u64) -> TaskId {
        TaskId::number(number)
    }

    fn task(number: u64, status: Status, blocked_by: &[u64]) -> Task {
        let blocked_by = blocked_by.iter().copied().map(id).collect();
        Task { status, blocked_by, ..Task::new(id(number), format!("task {number}")) }
    }

    fn with(task: Task, metadata: &Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..task }
    }

    fn list() -> Vec<Task> {
        vec![
            task(1, Status::Completed, &[]),
            Task { owner: Some("ana".into()), ..task(2, Status::InProgress, &[1]) },
            task(3, Status::Pending, &[1]),
            task(4, Status::Pending, &[2, 1, 77]),
            with(task(5, Status::Pending, &[]), &json!({ "_internal": true })),
            with(task(6, Status::Completed, &[2]), &json!({ "tags": ["ui", "late"] })),
        ]
    }

    fn chosen_of(filter: &Filter) -> Selection {
        let around = ListSurroundings::of(&list(), Timestamp(0), Rules::Strict);
        select(list(), filter, &around, Rules::Strict)
    }

    fn chosen(filter: &Filter) -> Vec<u64> {
        chosen_of(filter).tasks.iter().filter_map(|task| task.id.as_number()).collect()
    }

    #[test]
    fn everything_visible_is_shown_in_display_order() {
        let selection = chosen_of(&Filter::default());
        assert_eq!(selection.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["2", "3", "4", "1", "6"]);
        assert_eq!(selection.counts, [2, 1, 2]);
        assert_eq!(selection.blockers[&id(4)], [id(2)]);
        assert_eq!(selection.blockers.len(), 2);
    }

    #[test]
    fn each_filter_narrows_the_list() {
        let none = Filter::default;
        assert_eq!(chosen(&Filter { statuses: vec![Status::Completed], ..none() }), [1, 6]);
        assert_eq!(chosen(&Filter { owner: Some("ana".into()), ..none() }), [2]);
        assert_eq!(chosen(&Filter { ready: true, ..none() }), [3]);
        assert_eq!(chosen(&Filter { blocked: true, ..none() }), [4]);
        assert_eq!(chosen(&Filter { or_blocked: true, ..none() }), [4]);
        assert_eq!(chosen(&Filter { statuses: vec![Status::Completed], or_blocked: true, ..none() }), [4, 1, 6]);
        assert_eq!(chosen(&Filter { tag: Some("late".into()), ..none() }), [6]);
        assert_eq!(chosen(&Filter { query: "tag:late or owner:ana".parse().unwrap(), ..none() }), [2, 6]);
        assert_eq!(chosen(&Filter { sort: vec!["-id".parse().unwrap()], limit: Some(3), ..none() }), [6, 4, 3]);
        assert_eq!(chosen(&Filter { internal: true, ..none() }), [2, 3, 4, 5, 1, 6]);
        assert_eq!(chosen(&Filter { internal: true, ready: true, ..none() }), [3]);
        assert_eq!(chosen(&Filter { ready: true, blocked: true, ..none() }), [0; 0]);
    }

    #[test]
    fn blockers_are_told_only_of_tasks_that_are_shown() {
        let selection = chosen_of(&Filter { ready: true, ..Filter::default() });
        assert!(selection.blockers.is_empty());
    }

    #[test]
    fn client_keeps_hidden_blockers_and_drops_completed_ones() {
        let mut tasks = list();
        tasks.push(with(task(7, Status::Completed, &[]), &json!({ "_internal": true })));
        tasks.push(task(8, Status::Pending, &[1, 2, 7, 99]));
        let lines = as_the_client_lists(tasks, ClientVersion::V2_1_325);
        assert_eq!(lines.last().unwrap().blocked_by, [id(2), id(7), id(99)]);
        assert_eq!(lines.len(), 6);
    }
}
