//! Chains of open tasks, each of which must be completed before the next.
//!
//! Every task has a start and an end. It ends after its blockers and its parts, and its parts start after its blockers.
//! A task that waits for a parent therefore comes after each of the parent's open parts. A cycle, which files written
//! by other programs may contain, ends a chain.

use std::collections::{BTreeSet, HashSet};

use crate::rules::graph::parts::{Positions, Tree};
use crate::{Rules, Task, TaskId};

/// The chains among the open, visible tasks of a list.
#[derive(Debug)]
pub struct Chains<'a> {
    tasks: &'a [Task],
    steps: Steps,
}

/// A chain of tasks, each of which comes after the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The tasks, in chain order.
    pub tasks: Vec<TaskId>,
    /// The links along the chain, in the direction in which they are drawn: from a blocker to its dependent, and from a
    /// parent to its part.
    pub(crate) links: HashSet<(TaskId, TaskId)>,
}

impl<'a> Chains<'a> {
    /// Computes the chains of a list. Parts are ignored under the client's rules.
    pub fn of(tasks: &'a [Task], rules: Rules) -> Self {
        let positions = Positions::of(tasks, |_| true);
        let tree = if rules.is_client() { None } else { Tree::of(tasks) };
        let member = |(position, task): (usize, &Task)| Member {
            is_open: task.status.is_open(),
            is_visible: !task.is_internal(),
            blockers: task.blocked_by.iter().filter_map(|id| positions.get(id)).collect(),
            parent: tree.as_ref().and_then(|tree| tree.above(position)),
        };
        let members: Vec<Member> = tasks.iter().enumerate().map(member).collect();
        let is_below = |position, other| tree.as_ref().is_some_and(|tree| tree.is_below(position, other));
        Self { tasks, steps: Steps::of(&members, is_below) }
    }

    /// Returns the open tasks that wait for the task at `position`, in list order: those that depend on it or on one of
    /// its ancestors, their parts, and its ancestors.
    pub fn behind(&self, position: usize) -> impl Iterator<Item = &'a Task> {
        let tasks = self.tasks;
        self.steps.behind(position).into_iter().map(move |other| &tasks[other])
    }

    /// Returns the length of the longest chain behind the task at `position`.
    pub fn length(&self, position: usize) -> usize {
        self.steps.lengths[position]
    }

    /// Returns the longest chain in the list. It is empty if every chain consists of a single task.
    pub fn longest(&self) -> Chain {
        let (steps, count) = (&self.steps, self.tasks.len());
        let by_length = |position: &usize| (steps.lengths[*position], std::cmp::Reverse(*position));
        let Some(start) = (0..count).max_by_key(by_length).filter(|position| steps.lengths[*position] > 0) else {
            return Chain::default();
        };
        let id = |step: usize| self.tasks[step % count].id.clone();
        let mut chain = Chain { tasks: vec![id(start)], links: HashSet::new() };
        let mut at = start;
        let comes_next = |at: usize, next: usize| steps.lengths[next] + steps.weight(next) == steps.lengths[at];
        // Terminates even if there is a cycle: the length decreases with every end, and starts lead down a tree.
        while let Some(next) = steps.after[at].iter().copied().find(|next| comes_next(at, *next)) {
            let is_parent = at < count && steps.parents[at] == Some(next);
            if next % count != at % count {
                chain.links.insert(if is_parent { (id(next), id(at)) } else { (id(at), id(next)) });
            }
            if next < count {
                chain.tasks.push(id(next));
            }
            at = next;
        }
        chain
    }
}

/// A task, reduced to what chains depend on.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) is_open: bool,
    pub(crate) is_visible: bool,
    /// The positions of its blockers.
    pub(crate) blockers: Vec<usize>,
    /// The position of its parent. Parents form a tree without cycles.
    pub(crate) parent: Option<usize>,
}

impl Member {
    const fn counts(&self) -> bool {
        self.is_open && self.is_visible
    }
}

/// The ends of tasks, at their positions, followed by the starts of the tasks that have parts.
#[derive(Debug)]
pub(crate) struct Steps {
    count: usize,
    /// The steps that come after each step.
    after: Vec<Vec<usize>>,
    /// The number of tasks that end in the longest chain behind each step.
    pub(crate) lengths: Vec<usize>,
    /// The open parent of each task.
    parents: Vec<Option<usize>>,
    /// Whether the steps contain a cycle.
    pub(crate) has_circle: bool,
}

impl Steps {
    /// Orders the steps of tasks. `is_below` returns whether the task at the first position is a direct or indirect
    /// part of the one at the second.
    pub(crate) fn of(tasks: &[Member], mut is_below: impl FnMut(usize, usize) -> bool) -> Self {
        let count = tasks.len();
        let mut has_parts = vec![false; count];
        tasks.iter().filter_map(|task| task.parent).for_each(|parent| has_parts[parent] = true);
        let mut after = vec![Vec::new(); if has_parts.contains(&true) { 2 * count } else { count }];
        let mut parents = vec![None; count];
        for (position, task) in tasks.iter().enumerate() {
            let begins =
                if has_parts[position] { Some(count + position) } else { Some(position).filter(|_| task.counts()) };
            let ends = Some(position).filter(|_| task.counts());
            let holds = |blocker: &&usize| **blocker != position && tasks[**blocker].counts();
            for blocker in task.blockers.iter().filter(holds).filter(|_| task.is_open) {
                // A task that waits for its own part does not delay its other parts.
                let held_up = if has_parts[position] && is_below(*blocker, position) { ends } else { begins };
                if let Some(step) = held_up.filter(|step| after[*blocker].last() != Some(step)) {
                    after[*blocker].push(step);
                }
            }
            if let Some(parent) = task.parent {
                after[count + parent].extend(begins);
                if task.counts() && tasks[parent].counts() {
                    parents[position] = Some(parent);
                    after[position].push(parent);
                }
            }
            if has_parts[position] {
                after[count + position].extend(ends);
            }
        }
        let mut steps = Self { count, lengths: Vec::new(), after, parents, has_circle: false };
        steps.measure();
        steps
    }

    /// Returns the number of tasks that a step adds to a chain.
    fn weight(&self, step: usize) -> usize {
        usize::from(step < self.count)
    }

    fn measure(&mut self) {
        let mut lengths: Vec<Option<usize>> = vec![None; self.after.len()];
        let mut entered = vec![false; self.after.len()];
        for start in 0..self.count {
            if std::mem::replace(&mut entered[start], true) {
                continue;
            }
            // A depth-first search with an explicit stack: chains may be too long for recursion.
            let mut walk = vec![(start, 0)];
            while let Some((at, step)) = walk.last_mut() {
                if let Some(next) = self.after[*at].get(*step) {
                    *step += 1;
                    if !std::mem::replace(&mut entered[*next], true) {
                        walk.push((*next, 0));
                    }
                    continue;
                }
                let known = self.after[*at].iter().map(|next| Some(lengths[*next]? + self.weight(*next)));
                // A step that was entered but has no length yet is on the current path.
                let meets_circle = known.clone().any(|length| length.is_none());
                lengths[*at] = Some(known.flatten().max().unwrap_or(0));
                self.has_circle |= meets_circle;
                walk.pop();
            }
        }
        self.lengths = lengths.into_iter().map(Option::unwrap_or_default).collect();
    }

    fn behind(&self, position: usize) -> BTreeSet<usize> {
        let mut behind = BTreeSet::new();
        let mut begun = HashSet::new();
        // Whatever waits for an ancestor of the task also waits for the task.
        for end in std::iter::successors(Some(position), |at| self.parents[*at]) {
            let mut pending = self.after[end].clone();
            while let Some(step) = pending.pop() {
                if step < self.count {
                    behind.insert(step);
                } else if begun.insert(step) {
                    pending.extend(&self.after[step]);
                }
            }
        }
        behind.remove(&position);
        behind
    }
}

#[cfg(test)]
mod tests {
    use super::Chains;
    use crate::{ClientVersion, Rules, Status, Task, TaskId};

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
        let chains = Chains::of(&tasks, Rules::Strict);
        assert_eq!((0..5).map(|position| chains.length(position)).collect::<Vec<_>>(), [2, 0, 1, 0, 0]);
        assert_eq!(numbers(&chains.longest().tasks), [1, 3, 4]);
        assert_eq!(chains.behind(0).count(), 3);
    }

    /// Storage (1) has the parts 2 and 3. Rollout (4) waits for Storage and has the parts 5 and 6; 6 waits for 5.
    fn plan() -> Vec<Task> {
        let mut tasks = list(&[(1, &[]), (2, &[]), (3, &[]), (4, &[1]), (5, &[]), (6, &[5])]);
        for (part, parent) in [(1, 1), (2, 1), (4, 4), (5, 4)] {
            tasks[part].metadata = serde_json::json!({ "parent": parent.to_string() }).as_object().cloned();
        }
        tasks
    }

    #[test]
    fn what_waits_for_a_parent_waits_for_each_part() {
        let mut tasks = plan();
        tasks[1].status = Status::Completed;
        let chains = Chains::of(&tasks, Rules::Strict);
        let behind: Vec<TaskId> = chains.behind(2).map(|task| task.id.clone()).collect();
        assert_eq!(numbers(&behind), [1, 4, 5, 6]);
        assert_eq!((chains.length(2), chains.length(0), chains.length(4), chains.length(5)), (4, 3, 2, 1));
        let longest = chains.longest();
        assert_eq!(numbers(&longest.tasks), [3, 1, 5, 6, 4]);
        let link = |from: u64, to: u64| (TaskId::number(from), TaskId::number(to));
        assert_eq!(longest.links, [link(1, 3), link(1, 4), link(4, 5), link(5, 6), link(4, 6)].into());
        let client = Chains::of(&tasks, Rules::Client(ClientVersion::V2_1_325));
        assert_eq!((client.length(2), numbers(&client.longest().tasks)), (0, vec![1, 4]));
    }

    #[test]
    fn a_parent_that_waits_for_its_part_holds_up_no_other() {
        let mut tasks = plan();
        tasks[0].blocked_by = vec![TaskId::number(2)];
        let chains = Chains::of(&tasks, Rules::Strict);
        assert_eq!((chains.length(1), chains.length(2)), (4, 4));
        assert!(!chains.behind(1).any(|task| task.id == TaskId::number(3)));
    }

    #[test]
    fn completed_and_internal_tasks_are_in_no_chain() {
        let mut tasks = list(&[(1, &[]), (2, &[1]), (3, &[2])]);
        tasks[1].status = Status::Completed;
        assert!(Chains::of(&tasks, Rules::Strict).longest().tasks.is_empty());
        tasks[1].status = Status::Pending;
        tasks[2].metadata = serde_json::json!({ "_internal": true }).as_object().cloned();
        assert_eq!(numbers(&Chains::of(&tasks, Rules::Strict).longest().tasks), [1, 2]);
    }

    #[test]
    fn a_circle_ends_a_chain_and_hangs_nothing() {
        let tasks = list(&[(1, &[3]), (2, &[1]), (3, &[2, 3]), (4, &[3])]);
        let chains = Chains::of(&tasks, Rules::Strict);
        assert!(chains.longest().tasks.len() >= 3);
    }

    #[test]
    fn a_hundred_thousand_tasks_in_a_row_do_not_overflow() {
        let tasks: Vec<Task> = (1..=100_000)
            .map(|number| Task {
                blocked_by: vec![TaskId::number(number - 1)],
                ..Task::new(TaskId::number(number), "x")
            })
            .collect();
        let chains = Chains::of(&tasks, Rules::Strict);
        assert_eq!(chains.length(0), 99_999);
        assert_eq!(chains.longest().tasks.len(), 100_000);
    }
}
