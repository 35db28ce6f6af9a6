//! A list in numbers.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::listing::{count, is_blocked};
use crate::rules::graph::chains::Chains;
use crate::rules::graph::open_tasks::OpenTasks;
use crate::rules::history::vanishing::Gone;
use crate::{Priority, Revision, Rules, Task, TaskId, Timestamp};

/// A list in numbers. Internal tasks are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many tasks are pending, in progress, completed.
    pub counts: [usize; 3],
    /// How many can start now.
    pub ready: usize,
    /// How many open tasks are overdue.
    pub overdue: usize,
    /// How many open tasks are deferred.
    pub deferred: usize,
    /// What tasks were expected to take, and how long they have been in progress, by number.
    pub estimates: Vec<Estimate>,
    /// How many open tasks wait for others.
    pub blocked: usize,
    /// How many of the completed were cancelled.
    pub cancelled: usize,
    /// How many tasks each owner has, pending, in progress and completed; by name.
    pub owners: Vec<(String, [usize; 3])>,
    /// How many open tasks have each stated priority, the highest first.
    pub priorities: Vec<(String, usize)>,
    /// How many tasks have each tag, the most frequent first.
    pub tags: Vec<(String, usize)>,
    /// How many things among the tasks cannot be read.
    pub unreadable: usize,
    /// How many edges there are.
    pub edges: usize,
    /// The longest chain of open tasks, each of which comes after the one before it, parents after their parts.
    pub longest_chain: Vec<TaskId>,
    /// The newest commit counted.
    pub revision: Revision,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub gone: Option<Gone>,
}

/// How long a task was expected to take, and how long it has been in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The task.
    pub task: TaskId,
    /// Whether it is completed.
    pub is_completed: bool,
    /// How long it was expected to take.
    pub expected: Duration,
    /// How long it has been in progress, by what the journal knows.
    pub in_progress: Duration,
}

/// Counts the tasks of a list.
pub fn tally(tasks: &[Task], unreadable: usize, revision: Revision, now: Timestamp, rules: Rules) -> Stats {
    let open = OpenTasks::of(tasks, rules);
    let mut stats = Stats { counts: count(tasks), unreadable, revision, ..Stats::default() };
    let mut owners: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut priorities: BTreeMap<Reverse<Priority>, usize> = BTreeMap::new();
    let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !task.is_internal()) {
        let waits_for = open.blockers(task);
        stats.ready += usize::from(open.can_start(task, &waits_for, now));
        stats.blocked += usize::from(is_blocked(task, &waits_for));
        stats.overdue += usize::from(task.is_overdue(now));
        stats.deferred += usize::from(task.is_deferred(now));
        stats.cancelled += usize::from(task.is_cancelled());
        stats.edges += task.blocked_by.len();
        if let Some(owner) = task.owner() {
            owners.entry(owner).or_default()[task.status as usize] += 1;
        }
        if let Some(priority) = task.stated_priority().filter(|_| task.status.is_open()) {
            *priorities.entry(Reverse(priority)).or_default() += 1;
        }
        for tag in task.tags() {
            *tags.entry(tag).or_default() += 1;
        }
    }
    stats.owners = owners.into_iter().map(|(owner, counts)| (owner.to_owned(), counts)).collect();
    stats.priorities = priorities.into_iter().map(|(priority, count)| (priority.0.to_string(), count)).collect();
    stats.tags = tags.into_iter().map(|(tag, count)| (tag.to_owned(), count)).collect();
    stats.tags.sort_by_key(|(_, count)| Reverse(*count));
    stats.longest_chain = Chains::of(tasks, rules).longest().tasks;
    stats
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::tally;
    use crate::{Revision, Rules, Status, Task, TaskId, Timestamp};

    fn task(number: u64, status: Status, blocked_by: &[u64], metadata: &Value) -> Task {
        Task {
            status,
            blocked_by: blocked_by.iter().copied().map(TaskId::number).collect(),
            metadata: metadata.as_object().cloned(),
            ..Task::new(TaskId::number(number), "x")
        }
    }

    #[test]
    fn everything_is_counted_once_and_internal_tasks_are_not() {
        let mut tasks = vec![
            task(1, Status::Pending, &[], &json!({ "priority": "low", "tags": ["b", "a"] })),
            task(2, Status::Pending, &[1], &json!({ "priority": "high", "tags": ["b"] })),
            task(3, Status::Completed, &[1], &json!({ "cancelled": true, "priority": "high" })),
            task(4, Status::InProgress, &[2], &json!({})),
            task(5, Status::Pending, &[], &json!({ "_internal": 1, "tags": ["b"] })),
        ];
        tasks[3].owner = Some("ana".into());
        let stats = tally(&tasks, 2, Revision(7), Timestamp(0), Rules::Strict);
        assert_eq!((stats.counts, stats.ready, stats.blocked, stats.cancelled), ([2, 1, 1], 1, 2, 1));
        assert_eq!(stats.owners, [("ana".to_owned(), [0, 1, 0])]);
        assert_eq!(stats.priorities, [("high".to_owned(), 1), ("low".to_owned(), 1)]);
        assert_eq!(stats.tags, [("b".to_owned(), 2), ("a".to_owned(), 1)]);
        assert_eq!((stats.edges, stats.unreadable, stats.revision), (3, 2, Revision(7)));
        assert_eq!(stats.longest_chain, [1, 2, 4].map(TaskId::number));
    }
}
