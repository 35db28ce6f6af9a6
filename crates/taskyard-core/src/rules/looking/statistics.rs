//! Statistics of a list, and the summary for status lines.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::listing::{count, is_blocked};
use crate::rules::graph::chains::Chains;
use crate::rules::graph::dependencies::OpenTasks;
use crate::rules::history::vanishing::Gone;
use crate::{Entry, Priority, Revision, Rules, Status, Task, TaskId, Timestamp};

/// The statistics of a list, without internal tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of pending, in-progress and completed tasks, in this order.
    pub counts: [usize; 3],
    /// Number of tasks that can start now.
    pub ready: usize,
    /// Number of overdue open tasks.
    pub overdue: usize,
    /// Number of deferred open tasks.
    pub deferred: usize,
    /// Estimates compared with time in progress, sorted by number.
    pub estimates: Vec<Estimate>,
    /// Number of blocked open tasks.
    pub blocked: usize,
    /// Number of cancelled tasks among the completed ones.
    pub cancelled: usize,
    /// Number of pending, in-progress and completed tasks of each owner, sorted by name.
    pub owners: Vec<(String, [usize; 3])>,
    /// Number of open tasks with each stated priority, highest first.
    pub priorities: Vec<(String, usize)>,
    /// Number of tasks with each tag, most frequent first.
    pub tags: Vec<(String, usize)>,
    /// Number of unreadable files among the tasks.
    pub unreadable: usize,
    /// Number of dependencies.
    pub edges: usize,
    /// The longest chain of open tasks, each of which comes after the one before it. Parents come after their parts.
    pub longest_chain: Vec<TaskId>,
    /// The newest revision included.
    pub revision: Revision,
    /// Set if no task file is left although no agent deleted the tasks.
    pub gone: Option<Gone>,
}

/// The estimate of a task, and its time in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimated task.
    pub task: TaskId,
    /// Whether it is completed.
    pub is_completed: bool,
    /// The estimated duration.
    pub expected: Duration,
    /// The time in progress, according to the journal.
    pub in_progress: Duration,
}

/// Computes the statistics of a list. `estimates` and `gone` are left empty.
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

/// A short summary of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The active form of the first task in progress, or its title if it has none.
    pub doing: Option<String>,
    /// Number of pending, in-progress and completed tasks, without internal ones.
    pub counts: [usize; 3],
    /// Number of blocked pending tasks.
    pub blocked: usize,
}

/// Summarizes a list. `tasks` must be sorted by number.
pub fn summarize(tasks: &[Task], rules: Rules) -> Summary {
    let open = OpenTasks::of(tasks, rules);
    let shown = || tasks.iter().filter(|task| !task.is_internal());
    let is_blocked = |task: &&Task| task.status == Status::Pending && !open.blockers(task).is_empty();
    Summary {
        doing: shown().find(|task| task.status == Status::InProgress).map(doing),
        counts: count(tasks),
        blocked: shown().filter(is_blocked).count(),
    }
}

/// Returns the part of a task that a summary needs, which is next to nothing for most tasks. Summarizing the outlines
/// of a list's tasks gives the same result as summarizing the tasks.
pub fn outline(task: &Task) -> Task {
    let mut outline = Task { status: task.status, ..Task::new(task.id.clone(), "") };
    let mut metadata = serde_json::Map::new();
    if task.is_internal() {
        metadata.insert("_internal".to_owned(), json!(true));
    }
    if task.status.is_open() {
        outline.blocked_by.clone_from(&task.blocked_by);
        metadata.extend(task.parent().map(|parent| ("parent".to_owned(), json!(parent.as_str()))));
    }
    if task.status == Status::InProgress {
        outline.active_form = Some(doing(task));
    }
    outline.metadata = (!metadata.is_empty()).then_some(metadata);
    outline
}

fn doing(task: &Task) -> String {
    let form = task.active_form.as_deref().filter(|form| !form.is_empty());
    form.map_or_else(|| task.shown_subject().into_owned(), str::to_owned)
}

/// Returns how long a task was in progress. `entries` are all of its journal entries, oldest first. A task still in
/// progress counts up to `now`.
pub fn time_in_progress(entries: &[Entry], now: Timestamp) -> Duration {
    let mut spent = Duration::ZERO;
    let mut since: Option<Timestamp> = None;
    let span = |from: Timestamp, to: Timestamp| Duration::from_millis(u64::try_from(to.0 - from.0).unwrap_or(0));
    for entry in entries {
        let image = entry.after.as_ref();
        let is_in_progress =
            image.and_then(|image| image.task(&entry.task).ok()).is_some_and(|task| task.status == Status::InProgress);
        match (since, is_in_progress) {
            (None, true) => since = Some(entry.at),
            (Some(from), false) => {
                spent += span(from, entry.at);
                since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    since.map_or(spent, |from| spent + span(from, now))
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

#[cfg(test)]
mod summarizing_tests {
    use serde_json::json;

    use super::{Summary, outline, summarize};
    use crate::{Rules, Status, Task, TaskId};

    fn task(number: u64, status: Status) -> Task {
        let description = "long".repeat(100);
        Task { status, description, ..Task::new(TaskId::number(number), format!("Task {number}")) }
    }

    fn busy() -> Vec<Task> {
        let mut tasks = vec![
            task(1, Status::Completed),
            task(2, Status::InProgress),
            task(3, Status::InProgress),
            task(4, Status::Pending),
            task(5, Status::Pending),
            task(6, Status::Pending),
            task(7, Status::InProgress),
            task(8, Status::Pending),
        ];
        tasks[2].active_form = Some("Doing the third".into());
        tasks[3].blocked_by = vec![TaskId::number(1)];
        tasks[4].blocked_by = vec![TaskId::number(1), TaskId::number(2)];
        // A part of a blocked task is blocked too.
        tasks[5].metadata = json!({ "parent": "5" }).as_object().cloned();
        tasks[6].metadata = json!({ "_internal": true }).as_object().cloned();
        tasks[7].blocked_by = vec![TaskId::number(99)];
        tasks
    }

    #[test]
    fn a_summary_counts_and_says_what_is_being_done() {
        let expected = Summary { doing: Some("Task 2".into()), counts: [4, 2, 1], blocked: 2 };
        assert_eq!(summarize(&busy(), Rules::Strict), expected);
        assert_eq!(summarize(&busy()[2..], Rules::Strict).doing.as_deref(), Some("Doing the third"));
        assert_eq!(summarize(&[], Rules::Strict), Summary::default());
    }

    #[test]
    fn outlines_have_the_summary_of_their_tasks() {
        for rules in [Rules::Strict, Rules::Client(crate::ClientVersion::default())] {
            for begin in 0..busy().len() {
                let tasks = &busy()[begin..];
                let outlines: Vec<Task> = tasks.iter().map(outline).collect();
                assert_eq!(summarize(&outlines, rules), summarize(tasks, rules));
                assert!(outlines.iter().all(|outline| outline.description.is_empty()));
            }
        }
    }
}

#[cfg(test)]
mod spent_tests {
    use std::time::Duration;

    use super::time_in_progress;
    use crate::dialect::native;
    use crate::rules::samples::{entry, id};
    use crate::{Entry, Rules, Status, Task, Timestamp};

    fn at(moment: u64, status: Option<Status>) -> Entry {
        let image = |status| native::write(None, &Task { status, ..Task::new(id(1), "x") }, Rules::Strict).ok();
        entry(moment, 1, None, status.and_then(image))
    }

    #[test]
    fn every_stretch_in_progress_counts_and_the_last_one_up_to_now() {
        use Status::{Completed, InProgress, Pending};
        let journal = [
            at(10, Some(Pending)),
            at(20, Some(InProgress)),
            at(30, Some(InProgress)),
            at(50, Some(Pending)),
            at(60, Some(InProgress)),
            at(65, None),
            at(70, Some(InProgress)),
        ];
        assert_eq!(time_in_progress(&journal, Timestamp(100)), Duration::from_millis(30 + 5 + 30));
        assert_eq!(time_in_progress(&journal[..4], Timestamp(100)), Duration::from_millis(30));
        assert_eq!(time_in_progress(&[at(1, Some(Completed))], Timestamp(100)), Duration::ZERO);
    }
}
