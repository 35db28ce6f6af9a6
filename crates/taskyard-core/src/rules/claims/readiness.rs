//! Which tasks can start now, ranked best first with the reasons.

use std::cmp::Reverse;

use serde_json::Value;

use crate::rules::graph::chains::Chains;
use crate::rules::graph::dependencies::OpenTasks;
use crate::rules::history::vanishing::Gone;
use crate::rules::looking::listing::{count, is_blocked};
use crate::rules::looking::ordering::NumberOrder;
use crate::rules::worktrees::record::{REVIEWER, awaits_review};
use crate::timing::span_in_speech;
use crate::{Assignee, Priority, Rules, Status, Task, TaskId, Timestamp};

/// A task that can start now, and the reason for its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The ready task.
    pub task: Task,
    /// The reason, in words: "high priority; unblocks 3 tasks (chain of 2); only for role:review".
    pub why: String,
    /// Length of the longest chain of open tasks that depend on it.
    pub chain: usize,
    /// The open tasks that wait for it: its dependents and those of its ancestors, the parts of these dependents, and
    /// the ancestors themselves.
    pub unblocks: Vec<TaskId>,
}

/// How long before its due date a task is ranked by it, in milliseconds: one week.
pub(crate) const SOON: i64 = 7 * 86_400_000;

/// The sort key of ready tasks; the smallest value is the best. Compares priority, then the due date if it is past or
/// near, then the longest chain of dependents, then the due date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RankKey {
    priority: Reverse<Priority>,
    /// The due date if it is near or past, otherwise the maximum timestamp.
    due_soon: Timestamp,
    chain: Reverse<usize>,
    due: Timestamp,
}

impl RankKey {
    pub(crate) fn of(priority: Priority, due: Option<Timestamp>, chain: usize, now: Timestamp) -> Self {
        let never = Timestamp(i64::MAX);
        let due_soon = due.filter(|due| is_soon(*due, now)).unwrap_or(never);
        Self { priority: Reverse(priority), due_soon, chain: Reverse(chain), due: due.unwrap_or(never) }
    }
}

/// Returns whether a due date is near or past.
fn is_soon(due: Timestamp, now: Timestamp) -> bool {
    due.0.saturating_sub(SOON) <= now.0
}

/// Returns at most `limit` tasks that can start now. They are sorted by priority, then by due date if overdue or due
/// within a week, then by longest chain of dependents, due date and number. Due dates are ignored under the client's
/// rules.
pub fn rank(tasks: &[Task], limit: Option<usize>, now: Timestamp, rules: Rules) -> Vec<Ranked> {
    let open = OpenTasks::of(tasks, rules);
    let chains = Chains::of(tasks, rules);
    let can_start = |place: &usize| open.is_ready(&tasks[*place], now);
    let mut ready: Vec<usize> = (0..tasks.len()).filter(can_start).collect();
    ready.sort_by_cached_key(|place| {
        let task = &tasks[*place];
        let due = if rules.is_client() { None } else { task.due() };
        (RankKey::of(task.priority(), due, chains.length(*place), now), NumberOrder::of(&task.id))
    });
    ready.truncate(limit.unwrap_or(usize::MAX));
    let ranked = |place: usize| {
        let task = tasks[place].clone();
        let unblocks: Vec<TaskId> = chains.behind(place).map(|task| task.id.clone()).collect();
        let chain = chains.length(place);
        Ranked { why: why(&task, chain, unblocks.len(), now), task, chain, unblocks }
    };
    ready.into_iter().map(ranked).collect()
}

/// Returns the reason for a ready task's rank, in words.
pub(crate) fn why(task: &Task, chain: usize, unblocks: usize, now: Timestamp) -> String {
    let mut reasons = Vec::new();
    if let Some(priority @ (Priority::High | Priority::Low)) = task.stated_priority() {
        reasons.push(format!("{priority} priority"));
    }
    match task.due().filter(|due| is_soon(*due, now)) {
        Some(due) if due < now => reasons.push("overdue".to_owned()),
        Some(due) => reasons.push(format!("due in {}", span_in_speech(due.0 - now.0))),
        None => {}
    }
    match (unblocks, chain) {
        (0, _) => reasons.push("nothing waits for it".to_owned()),
        (1, 0 | 1) => reasons.push("unblocks 1 task".to_owned()),
        (1, chain) => reasons.push(format!("unblocks 1 task (chain of {chain})")),
        (count, 0 | 1) => reasons.push(format!("unblocks {count} tasks")),
        (count, chain) => reasons.push(format!("unblocks {count} tasks (chain of {chain})")),
    }
    let assignees: Vec<String> = assignees(task).iter().map(ToString::to_string).collect();
    if !assignees.is_empty() {
        reasons.push(format!("only for {}", assignees.join(", ")));
    }
    reasons.join("; ")
}

/// Number of ready tasks named in a brief.
const BEST: usize = 3;

/// The summary of a list for an agent that starts working on it. Excludes internal tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Number of pending, in-progress and completed tasks, in this order.
    pub counts: [usize; 3],
    /// The tasks in progress, sorted by number.
    pub in_progress: Vec<Task>,
    /// The best of the tasks that can start now.
    pub best: Vec<Ranked>,
    /// Number of tasks that can start now.
    pub ready: usize,
    /// Number of open tasks that are blocked.
    pub blocked: usize,
    /// Set if no task file is left although no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Brief {
    /// Returns the number of open tasks.
    pub fn open(&self) -> usize {
        self.counts[Status::Pending as usize] + self.counts[Status::InProgress as usize]
    }
}

/// Summarizes a list. `gone` is left unset.
pub fn brief(tasks: &[Task], now: Timestamp, rules: Rules) -> Brief {
    let open = OpenTasks::of(tasks, rules);
    let visible = || tasks.iter().filter(|task| !task.is_internal());
    Brief {
        counts: count(tasks),
        in_progress: visible().filter(|task| task.status == Status::InProgress).cloned().collect(),
        best: rank(tasks, Some(BEST), now, rules),
        ready: visible().filter(|task| open.is_ready(task, now)).count(),
        blocked: visible().filter(|task| is_blocked(task, &open.blockers(task))).count(),
        gone: None,
    }
}

/// Returns the agents and roles that may take a task, or nothing if every agent may. A task awaiting review is
/// restricted to reviewers.
pub(crate) fn assignees(task: &Task) -> Vec<Assignee> {
    if awaits_review(task) {
        return vec![Assignee::Role(REVIEWER.to_owned())];
    }
    let words: &[Value] = match task.meta("assignable_to") {
        Some(Value::Array(words)) => words,
        Some(word) => std::slice::from_ref(word),
        None => &[],
    };
    words.iter().filter_map(Value::as_str).filter_map(Assignee::parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rank;
    use crate::{ClientVersion, Rules, Status, Task, TaskId, Timestamp};

    const NOW: Timestamp = Timestamp(1_000);

    fn task(number: u64, blocked_by: &[u64], priority: &str) -> Task {
        Task {
            blocked_by: blocked_by.iter().copied().map(TaskId::number).collect(),
            metadata: json!({ "priority": priority }).as_object().cloned(),
            ..Task::new(TaskId::number(number), "x")
        }
    }

    #[test]
    fn priority_precedes_chain_and_chain_precedes_number() {
        let tasks = [
            task(1, &[], "medium"),
            task(2, &[], "medium"),
            task(3, &[2], "low"),
            task(4, &[2], "low"),
            task(5, &[4], "low"),
            task(6, &[], "low"),
            task(7, &[], "high"),
        ];
        let ranked = rank(&tasks, None, NOW, Rules::Strict);
        let order: Vec<&str> = ranked.iter().map(|ranked| ranked.task.id.as_str()).collect();
        assert_eq!(order, ["7", "2", "1", "6"]);
        assert_eq!(ranked[0].why, "high priority; nothing waits for it");
        assert_eq!(ranked[1].why, "unblocks 2 tasks (chain of 2)");
        assert_eq!((ranked[1].chain, ranked[1].unblocks.len()), (2, 2));
        assert_eq!(ranked[3].why, "low priority; nothing waits for it");
        assert_eq!(rank(&tasks, Some(2), NOW, Rules::Strict).len(), 2);
    }

    #[test]
    fn a_task_that_names_who_may_take_it_says_so() {
        let only_for = |assignable_to| Task {
            metadata: json!({ "assignable_to": assignable_to }).as_object().cloned(),
            ..task(1, &[], "medium")
        };
        let why = |task| rank(&[task], None, NOW, Rules::Strict).remove(0).why;
        assert_eq!(why(only_for(json!("role:review"))), "nothing waits for it; only for role:review");
        assert_eq!(why(only_for(json!(["ana", "role:build"]))), "nothing waits for it; only for ana, role:build");
        assert_eq!(why(only_for(json!([]))), "nothing waits for it");
    }

    #[test]
    fn a_task_with_an_owner_or_an_open_blocker_is_not_ready() {
        let mut tasks = [task(1, &[], "medium"), task(2, &[1], "medium")];
        assert_eq!(rank(&tasks, None, NOW, Rules::Strict).len(), 1);
        tasks[0].owner = Some("ana".into());
        assert!(rank(&tasks, None, NOW, Rules::Strict).is_empty());
    }

    #[test]
    fn parent_is_ready_when_last_part_closes() {
        let part_of =
            |parent: u64, task: Task| Task { metadata: json!({ "parent": parent }).as_object().cloned(), ..task };
        let mut tasks = [
            task(1, &[], "medium"),
            part_of(1, task(2, &[], "medium")),
            part_of(1, task(3, &[2], "medium")),
            task(4, &[1], "medium"),
            part_of(4, task(5, &[], "medium")),
        ];
        let ready = |tasks: &[Task], rules| {
            rank(tasks, None, NOW, rules).iter().filter_map(|ranked| ranked.task.id.as_number()).collect::<Vec<_>>()
        };
        assert_eq!(ready(&tasks, Rules::Strict), [2]);
        assert_eq!(ready(&tasks, Rules::Client(ClientVersion::V2_1_325)), [1, 2, 5]);
        tasks[1].status = Status::Completed;
        assert_eq!(ready(&tasks, Rules::Strict), [3]);
        tasks[2].status = Status::Completed;
        assert_eq!(ready(&tasks, Rules::Strict), [1]);
        tasks[0].status = Status::Completed;
        assert_eq!(ready(&tasks, Rules::Strict), [5]);
    }

    #[test]
    fn tasks_in_a_circle_are_never_ready_and_hang_nothing() {
        let tasks =
            [task(1, &[2], "medium"), task(2, &[1], "medium"), task(3, &[], "medium"), task(4, &[3, 1], "medium")];
        let ranked = rank(&tasks, None, NOW, Rules::Strict);
        assert_eq!(ranked.len(), 1);
        assert_eq!(ranked[0].why, "unblocks 1 task");
    }

    fn at(moment: i64, task: Task, key: &str) -> Task {
        let mut metadata = task.metadata.clone().unwrap_or_default();
        metadata.insert(key.to_owned(), Timestamp(moment).to_string().into());
        Task { metadata: Some(metadata), ..task }
    }

    #[test]
    fn a_deferred_task_and_its_parts_are_ready_at_their_moment() {
        let part = Task { metadata: json!({"parent": "1"}).as_object().cloned(), ..Task::new(TaskId::number(2), "x") };
        let tasks = [at(1_000, task(1, &[], "medium"), "defer"), part, at(1_500, task(3, &[], "low"), "defer")];
        let ready = |now: i64, rules| {
            let ranked = rank(&tasks, None, Timestamp(now), rules);
            ranked.iter().filter_map(|ranked| ranked.task.id.as_number()).collect::<Vec<_>>()
        };
        assert_eq!(ready(999, Rules::Strict), [0; 0]);
        assert_eq!(ready(1_000, Rules::Strict), [2]);
        assert_eq!(ready(1_500, Rules::Strict), [2, 3]);
        assert_eq!(ready(0, Rules::Client(ClientVersion::V2_1_325)).len(), 3);
    }

    #[test]
    fn what_is_overdue_or_due_soon_comes_first_in_its_priority() {
        const DAY: i64 = 86_400_000;
        let tasks = [
            task(1, &[], "high"),
            task(2, &[], "medium"),
            at(1_001 + 2 * DAY, task(3, &[], "medium"), "due"),
            at(999, task(4, &[], "medium"), "due"),
            task(5, &[], "medium"),
            task(6, &[5], "medium"),
            at(1_000 + 8 * DAY, task(7, &[], "medium"), "due"),
        ];
        let ranked = rank(&tasks, None, NOW, Rules::Strict);
        let order: Vec<&str> = ranked.iter().map(|ranked| ranked.task.id.as_str()).collect();
        assert_eq!(order, ["1", "4", "3", "5", "7", "2"]);
        assert_eq!(ranked[1].why, "overdue; nothing waits for it");
        assert_eq!(ranked[2].why, "due in 2 days; nothing waits for it");
        let client = rank(&tasks, None, NOW, Rules::Client(ClientVersion::V2_1_325));
        assert_eq!(client[1].task.id.as_str(), "5");
    }

    #[test]
    fn a_part_unblocks_what_waits_for_its_parent() {
        let part_of =
            |parent: u64, task: Task| Task { metadata: json!({ "parent": parent }).as_object().cloned(), ..task };
        let tasks = [task(1, &[], "medium"), part_of(1, task(2, &[], "medium")), task(3, &[1], "medium")];
        let ranked = rank(&tasks, None, NOW, Rules::Strict);
        assert_eq!(ranked[0].why, "unblocks 2 tasks (chain of 2)");
        assert_eq!(ranked[0].unblocks, [TaskId::number(1), TaskId::number(3)]);
    }
}

#[cfg(test)]
mod briefing_tests {
    use super::brief;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    #[test]
    fn a_list_is_summed_up() {
        let task = |number, status, blocked_by: &[u64]| Task {
            status,
            blocked_by: blocked_by.iter().copied().map(TaskId::number).collect(),
            ..Task::new(TaskId::number(number), "x")
        };
        let mut tasks = vec![
            task(1, Status::Completed, &[]),
            task(2, Status::InProgress, &[]),
            task(3, Status::Pending, &[2]),
            task(4, Status::InProgress, &[]),
        ];
        tasks.extend((5..10).map(|number| task(number, Status::Pending, &[])));
        tasks[3].metadata = serde_json::json!({"_internal": true}).as_object().cloned();
        let brief = brief(&tasks, Timestamp(0), Rules::Strict);
        assert_eq!((brief.counts, brief.open(), brief.ready, brief.blocked), ([6, 1, 1], 7, 5, 1));
        assert_eq!(brief.in_progress.len(), 1);
        let best: Vec<&str> = brief.best.iter().map(|ranked| ranked.task.id.as_str()).collect();
        assert_eq!(best, ["5", "6", "7"]);
    }
}
