//! What becomes free and how long chains are, compared with the plainest accounts there are of both.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::Config;
use proptest::{prop_assert_eq, proptest};
use serde_json::json;
use taskyard_core::rules::claims::readiness::rank;
use taskyard_core::rules::graph::chains::Chains;
use taskyard_core::rules::graph::dependencies::{OpenTasks, is_freed};
use taskyard_core::{Rules, Status, Task, TaskId, Timestamp};

const TASKS: usize = 9;

/// Lists with circles, edges to itself and to nothing, and tasks in every state.
fn lists() -> impl Strategy<Value = Vec<Task>> {
    let task = (0..6_u8, vec(1..=TASKS as u64 + 1, 0..4), any::<bool>());
    vec(task, 1..=TASKS).prop_map(|tasks| {
        let numbered = (1..).zip(tasks);
        numbered.map(|(number, (kind, on, is_owned))| make(number, kind, &on, is_owned)).collect()
    })
}

/// Lists in which every task waits for earlier ones only.
fn plans() -> impl Strategy<Value = Vec<Task>> {
    lists().prop_map(|mut tasks| {
        for task in &mut tasks {
            let number = task.id.as_number();
            task.blocked_by.retain(|id| id.as_number() < number);
        }
        tasks
    })
}

fn make(number: u64, kind: u8, on: &[u64], is_owned: bool) -> Task {
    let mut task = Task::new(TaskId::number(number), "x");
    task.blocked_by = on.iter().copied().map(TaskId::number).collect();
    task.owner = is_owned.then(|| "bob".to_owned());
    match kind {
        0 => task.status = Status::Completed,
        1 => task.status = Status::InProgress,
        2 => task.metadata = json!({ "_internal": true }).as_object().cloned(),
        _ => {}
    }
    task
}

fn is_open(tasks: &[Task], id: &TaskId) -> bool {
    tasks.iter().any(|task| task.id == *id && task.status != Status::Completed)
}

fn can_start(tasks: &[Task], task: &Task) -> bool {
    task.status == Status::Pending && !task.is_internal() && !task.blocked_by.iter().any(|id| is_open(tasks, id))
}

/// Counts the longest chain behind a task by following every one.
fn longest_behind(tasks: &[Task], at: &Task) -> usize {
    let counts = |task: &&Task| task.status != Status::Completed && !task.is_internal();
    let waiting = tasks.iter().filter(counts).filter(|task| task.blocked_by.contains(&at.id));
    waiting.map(|task| longest_behind(tasks, task) + 1).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(512) })]

    #[test]
    fn task_is_unblocked_exactly_when_it_becomes_startable(before in lists(), which in 0..TASKS) {
        let completed = which % before.len();
        if before[completed].status == Status::Completed {
            return Ok(());
        }
        let mut after = before.clone();
        after[completed].status = Status::Completed;
        let open = OpenTasks::of(&after, Rules::Strict);
        for (then, now) in before.iter().zip(&after) {
            let expected = can_start(&after, now) && !can_start(&before, then);
            prop_assert_eq!(is_freed(now, &after[completed].id, &open.blockers(now)), expected, "{:?}", now);
        }
    }

    #[test]
    fn what_is_ranked_is_exactly_what_can_start_and_is_nobodys(tasks in lists()) {
        let mut ranked: Vec<Task> = rank(&tasks, None, Timestamp(0), Rules::Strict).into_iter().map(|ranked| ranked.task).collect();
        ranked.sort_by_key(|task| task.id.as_number());
        let free = |task: &&Task| can_start(&tasks, task) && task.owner().is_none();
        prop_assert_eq!(ranked, tasks.iter().filter(free).cloned().collect::<Vec<_>>());
    }

    #[test]
    fn in_a_plan_without_circles_every_chain_has_its_true_length(tasks in plans()) {
        let chains = Chains::of(&tasks, Rules::Strict);
        let counts = |task: &Task| task.status != Status::Completed && !task.is_internal();
        for (place, task) in tasks.iter().enumerate().filter(|(_, task)| counts(task)) {
            prop_assert_eq!(chains.length(place), longest_behind(&tasks, task), "{:?}", task);
        }
    }
}
