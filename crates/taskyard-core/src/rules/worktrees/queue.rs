//! The merge queue: which task may be merged next. One task is merged at a time, and tasks that others wait for go
//! first.

use std::collections::HashMap;

use super::record::{TaskWorktree, WorktreeState, worktree_of};
use crate::{Task, TaskId};

/// Whether a task may be merged now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may be merged now.
    Ours,
    /// Another task is being merged, or comes first.
    After(TaskId),
    /// It has open blockers and cannot be merged before they are done.
    Blocked(Vec<TaskId>),
    /// It is not in the queue.
    NotQueued,
}

/// Judges whether a task may be merged now. `is_held` returns whether the lease on a task is valid: only tasks that an
/// agent is working on delay others.
pub fn judge_turn(task: &TaskId, tasks: &[Task], is_held: impl Fn(&TaskId) -> bool) -> Turn {
    let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let Some(own) = by_id.get(task).filter(|own| queued(own).is_some()) else { return Turn::NotQueued };
    let open = open_blockers(own, &by_id);
    if !open.is_empty() {
        return Turn::Blocked(open);
    }
    let rivals = || tasks.iter().filter(|other| other.id != *task && is_held(&other.id));
    let is_merging = |other: &&Task| queued(other).is_some_and(|tree| tree.state == WorktreeState::Merging);
    if let Some(merging) = rivals().find(is_merging) {
        return Turn::After(merging.id.clone());
    }
    let could = rivals().filter(|other| queued(other).is_some() && open_blockers(other, &by_id).is_empty());
    let first = could.min_by_key(|other| place(other, tasks));
    match first {
        Some(first) if place(first, tasks) < place(own, tasks) => Turn::After(first.id.clone()),
        _ => Turn::Ours,
    }
}

/// Returns the queued tasks in the order in which they are merged if every merge succeeds.
pub fn order(tasks: &[Task]) -> Vec<(&Task, TaskWorktree)> {
    let mut queue: Vec<(&Task, TaskWorktree)> = tasks.iter().filter_map(|task| Some((task, queued(task)?))).collect();
    let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    queue.sort_by_key(|(task, tree)| {
        let is_merging = tree.state == WorktreeState::Merging;
        (!is_merging, !open_blockers(task, &by_id).is_empty(), place(task, tasks))
    });
    queue
}

fn queued(task: &Task) -> Option<TaskWorktree> {
    worktree_of(task).filter(|tree| task.status.is_open() && tree.state.is_in_queue())
}

fn open_blockers(task: &Task, by_id: &HashMap<&TaskId, &Task>) -> Vec<TaskId> {
    let is_open = |id: &&TaskId| by_id.get(id).is_some_and(|blocker| blocker.status.is_open());
    task.blocked_by.iter().filter(is_open).cloned().collect()
}

/// Returns the sort key of the queue: tasks with more open dependents come first, then those queued earlier.
fn place<'a>(task: &'a Task, tasks: &[Task]) -> (std::cmp::Reverse<usize>, Option<String>, &'a TaskId) {
    let waiting = tasks.iter().filter(|other| other.status.is_open() && other.blocked_by.contains(&task.id)).count();
    (std::cmp::Reverse(waiting), worktree_of(task).and_then(|tree| tree.queued), &task.id)
}

#[cfg(test)]
mod tests {
    use super::{Turn, judge_turn, order};
    use crate::rules::worktrees::record::{TaskWorktree, WorktreeState};
    use crate::{Status, Task, TaskId, Timestamp};

    fn task(number: u64, state: WorktreeState, queued: i64, blocked_by: &[u64]) -> Task {
        let tree = TaskWorktree::new(format!("taskyard/{number}"), "main".into(), "/w".into());
        let tree = tree.queued_with("tip", Timestamp(queued)).in_state(state);
        Task {
            status: Status::InProgress,
            metadata: Some(tree.as_patch()),
            blocked_by: blocked_by.iter().map(|id| TaskId::number(*id)).collect(),
            ..Task::new(TaskId::number(number), "x")
        }
    }

    fn turn(number: u64, tasks: &[Task]) -> Turn {
        judge_turn(&TaskId::number(number), tasks, |_| true)
    }

    #[test]
    fn what_was_queued_first_is_merged_first() {
        let tasks = [task(1, WorktreeState::Queued, 2, &[]), task(2, WorktreeState::Queued, 1, &[])];
        assert_eq!(turn(2, &tasks), Turn::Ours);
        assert_eq!(turn(1, &tasks), Turn::After(TaskId::number(2)));
        let dead = |id: &TaskId| *id != TaskId::number(2);
        assert_eq!(judge_turn(&TaskId::number(1), &tasks, dead), Turn::Ours, "nobody brings #2 forward");
    }

    #[test]
    fn what_others_wait_for_goes_first() {
        let mut waiting = task(3, WorktreeState::Working, 0, &[1]);
        waiting.status = Status::Pending;
        let tasks = [task(1, WorktreeState::Queued, 2, &[]), task(2, WorktreeState::Queued, 1, &[]), waiting];
        assert_eq!(turn(1, &tasks), Turn::Ours);
        assert_eq!(turn(3, &tasks), Turn::NotQueued);
    }

    #[test]
    fn a_task_is_not_merged_before_what_it_waits_for() {
        let mut tasks = [task(1, WorktreeState::Working, 1, &[]), task(2, WorktreeState::Queued, 1, &[1, 9])];
        assert_eq!(turn(2, &tasks), Turn::Blocked(vec![TaskId::number(1)]));
        tasks[0].status = Status::Completed;
        assert_eq!(turn(2, &tasks), Turn::Ours);
    }

    #[test]
    fn one_is_merged_at_a_time_and_a_dead_merger_is_passed() {
        let tasks = [task(1, WorktreeState::Queued, 1, &[]), task(2, WorktreeState::Merging, 9, &[])];
        assert_eq!(turn(1, &tasks), Turn::After(TaskId::number(2)));
        assert_eq!(turn(2, &tasks), Turn::After(TaskId::number(1)), "it takes its turn anew");
        assert_eq!(judge_turn(&TaskId::number(1), &tasks, |id| *id == TaskId::number(1)), Turn::Ours);
    }

    #[test]
    fn the_queue_is_listed_in_the_order_of_its_turns() {
        let tasks = [
            task(1, WorktreeState::Queued, 3, &[]),
            task(2, WorktreeState::Waiting, 2, &[1]),
            task(3, WorktreeState::Queued, 4, &[]),
            task(4, WorktreeState::Merging, 9, &[]),
            task(5, WorktreeState::Conflict, 0, &[]),
        ];
        let listed: Vec<&str> = order(&tasks).iter().map(|(task, _)| task.id.as_str()).collect();
        assert_eq!(listed, ["4", "1", "3", "2"]);
    }
}
