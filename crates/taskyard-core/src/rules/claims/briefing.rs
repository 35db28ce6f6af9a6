//! What an agent that begins to work needs to know of a list.

use super::readiness::{Ranked, rank};
use crate::rules::graph::open_tasks::OpenTasks;
use crate::rules::history::vanishing::Gone;
use crate::rules::looking::listing::{count, is_blocked};
use crate::{Rules, Status, Task, Timestamp};

/// How many tasks that can start are named.
const BEST: usize = 3;

/// What an agent that begins to work needs to know of a list. Internal tasks are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// How many tasks are pending, in progress, completed.
    pub counts: [usize; 3],
    /// The tasks in progress, by number.
    pub in_progress: Vec<Task>,
    /// The best of those that can start now.
    pub best: Vec<Ranked>,
    /// How many can start now.
    pub ready: usize,
    /// How many open tasks wait for others.
    pub blocked: usize,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Brief {
    /// Returns how many tasks are open.
    pub fn open(&self) -> usize {
        self.counts[Status::Pending as usize] + self.counts[Status::InProgress as usize]
    }
}

/// Sums a list up.
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

#[cfg(test)]
mod tests {
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
