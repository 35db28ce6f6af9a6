//! How long the chains of open tasks are that wait for each other.

use super::positions::Positions;
use crate::{Task, TaskId};

/// The open, visible tasks of a list, and what waits behind each. Circles, which foreign files may hold, end a chain.
#[derive(Debug)]
pub struct Chains<'a> {
    tasks: &'a [Task],
    /// For each task, the open tasks that wait for it.
    behind: Vec<Vec<usize>>,
    /// For each task, how many tasks the longest chain behind it has.
    lengths: Vec<usize>,
}

impl<'a> Chains<'a> {
    /// Works out the chains of a list.
    pub fn of(tasks: &'a [Task]) -> Self {
        let behind = dependents(tasks);
        let lengths = lengths(&behind);
        Self { tasks, behind, lengths }
    }

    /// Returns the open tasks that wait for the task at this position, by number.
    pub fn behind(&self, position: usize) -> impl Iterator<Item = &'a Task> {
        let tasks = self.tasks;
        self.behind[position].iter().map(move |other| &tasks[*other])
    }

    /// Returns how many tasks stand in the longest chain behind the task at this position.
    pub fn length(&self, position: usize) -> usize {
        self.lengths[position]
    }

    /// Returns the longest chain of all, each task waiting for the one before it. A task alone is no chain.
    pub fn longest(&self) -> Vec<TaskId> {
        let by_length = |position: &usize| (self.lengths[*position], std::cmp::Reverse(*position));
        let Some(start) = (0..self.tasks.len()).max_by_key(by_length).filter(|position| self.lengths[*position] > 0)
        else {
            return Vec::new();
        };
        let mut chain = vec![self.tasks[start].id.clone()];
        let mut at = start;
        // The length falls with every step, so that a circle cannot hold us.
        while let Some(next) = self.behind[at].iter().find(|next| self.lengths[**next] + 1 == self.lengths[at]) {
            chain.push(self.tasks[*next].id.clone());
            at = *next;
        }
        chain
    }
}

fn dependents(tasks: &[Task]) -> Vec<Vec<usize>> {
    let counts = |task: &Task| task.status.is_open() && !task.is_internal();
    let positions = Positions::of(tasks, counts);
    let mut behind = vec![Vec::new(); tasks.len()];
    for (position, task) in tasks.iter().enumerate().filter(|(_, task)| counts(task)) {
        for blocker in &task.blocked_by {
            match positions.get(blocker) {
                Some(other) if other != position && behind[other].last() != Some(&position) => {
                    behind[other].push(position)
                }
                Some(_) | None => {}
            }
        }
    }
    behind
}

fn lengths(behind: &[Vec<usize>]) -> Vec<usize> {
    let mut lengths: Vec<Option<usize>> = vec![None; behind.len()];
    let mut entered = vec![false; behind.len()];
    for start in 0..behind.len() {
        if entered[start] {
            continue;
        }
        entered[start] = true;
        // A walk in depth with a stack of our own: a chain may be longer than the thread's stack is deep.
        let mut walk = vec![(start, 0)];
        while let Some((at, step)) = walk.last_mut() {
            match behind[*at].get(*step) {
                Some(next) => {
                    *step += 1;
                    if !entered[*next] {
                        entered[*next] = true;
                        walk.push((*next, 0));
                    }
                }
                None => {
                    // What was entered and has no length yet lies on the way here: a circle.
                    let known = behind[*at].iter().filter_map(|next| lengths[*next]);
                    lengths[*at] = Some(known.map(|length| length + 1).max().unwrap_or(0));
                    walk.pop();
                }
            }
        }
    }
    lengths.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::Chains;
    use crate::{Status, Task, TaskId};

    fn list(edges: &[(u64, &[u64])]) -> Vec<Task> {
        let task = |(number, on): &(u64, &[u64])| Task {
            blocked_by: on.iter().copied().map(TaskId::number).collect(),
            ..Task::new(TaskId::number(*number), "x")
        };
        edges.iter().map(task).collect()
    }

    fn numbers(ids: &[TaskId]) -> Vec<u64> {
        ids.iter().filter_map(TaskId::as_number).collect()
    }

    #[test]
    fn the_longest_chain_counts() {
        let tasks = list(&[(1, &[]), (2, &[1]), (3, &[1]), (4, &[3, 1]), (5, &[])]);
        let chains = Chains::of(&tasks);
        assert_eq!((0..5).map(|position| chains.length(position)).collect::<Vec<_>>(), [2, 0, 1, 0, 0]);
        assert_eq!(numbers(&chains.longest()), [1, 3, 4]);
        assert_eq!(chains.behind(0).count(), 3);
    }

    #[test]
    fn completed_and_internal_tasks_are_in_no_chain() {
        let mut tasks = list(&[(1, &[]), (2, &[1]), (3, &[2])]);
        tasks[1].status = Status::Completed;
        assert!(Chains::of(&tasks).longest().is_empty());
        tasks[1].status = Status::Pending;
        tasks[2].metadata = serde_json::json!({ "_internal": true }).as_object().cloned();
        assert_eq!(numbers(&Chains::of(&tasks).longest()), [1, 2]);
    }

    #[test]
    fn a_circle_ends_a_chain_and_hangs_nothing() {
        let tasks = list(&[(1, &[3]), (2, &[1]), (3, &[2, 3]), (4, &[3])]);
        let chains = Chains::of(&tasks);
        assert!(chains.longest().len() >= 3);
    }

    #[test]
    fn a_hundred_thousand_tasks_in_a_row_do_not_overflow() {
        let tasks: Vec<Task> = (1..=100_000)
            .map(|number| Task {
                blocked_by: vec![TaskId::number(number - 1)],
                ..Task::new(TaskId::number(number), "x")
            })
            .collect();
        let chains = Chains::of(&tasks);
        assert_eq!(chains.length(0), 99_999);
        assert_eq!(chains.longest().len(), 100_000);
    }
}
