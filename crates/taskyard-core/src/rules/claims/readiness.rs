//! What can start now, best first, and why.

use std::cmp::Reverse;

use crate::rules::graph::chains::Chains;
use crate::rules::graph::open_tasks::OpenTasks;
use crate::rules::looking::ordering::NumberOrder;
use crate::timing::span_in_speech;
use crate::{Priority, Rules, Task, TaskId, Timestamp};

/// A task that can start now, and why it stands where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The task.
    pub task: Task,
    /// Why, in words: "high priority; unblocks 3 tasks (chain of 2); only for role:review".
    pub why: String,
    /// How many open tasks stand in the longest chain behind it.
    pub chain: usize,
    /// The open tasks that wait for it: by their own word, because they wait for a task that it is a part of, or because it is a part of them;
    /// and the parts of those that wait.
    pub unblocks: Vec<TaskId>,
}

/// How long before its due date a task comes before others, in milliseconds: a week.
pub(crate) const SOON: i64 = 7 * 86_400_000;

/// What ready tasks are ranked by, the best least: the priority; what is overdue or due soon, by date; the longest chain behind it; the
/// due date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RankKey {
    priority: Reverse<Priority>,
    /// The due date if it is near, else the latest of all.
    due_soon: Timestamp,
    chain: Reverse<usize>,
    due: Timestamp,
}

impl RankKey {
    /// Ranks a task of this priority and due date, with a chain behind it.
    pub(crate) fn of(priority: Priority, due: Option<Timestamp>, chain: usize, now: Timestamp) -> Self {
        let never = Timestamp(i64::MAX);
        let due_soon = due.filter(|due| is_soon(*due, now)).unwrap_or(never);
        Self { priority: Reverse(priority), due_soon, chain: Reverse(chain), due: due.unwrap_or(never) }
    }
}

/// Tells whether a due date is near, or has passed.
fn is_soon(due: Timestamp, now: Timestamp) -> bool {
    due.0.saturating_sub(SOON) <= now.0
}

/// Returns the tasks that can start now, at most `limit`: by priority; what is overdue or due within a week first, by date; then by the
/// longest chain behind each, by due date, and by number. The client knows no due dates.
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

/// Says why a task stands where it does among those that can start.
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
    let assignees: Vec<String> = task.assignable_to().iter().map(ToString::to_string).collect();
    if !assignees.is_empty() {
        reasons.push(format!("only for {}", assignees.join(", ")));
    }
    reasons.join("; ")
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
    fn priority_comes_before_the_chain_and_the_chain_before_the_number() {
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
    fn a_task_is_ready_when_its_last_part_is_closed_and_its_parts_when_it_could_be() {
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
