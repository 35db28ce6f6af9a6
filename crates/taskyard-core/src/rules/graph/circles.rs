//! Circles in which nothing could ever be finished, through edges and parts together.
//!
//! A task begins when whatever it waits for is finished and when the task may begin that it is a part of; it is finished when its
//! parts are. That a task waits for its own parts says nothing new.

use std::collections::{HashMap, HashSet, VecDeque};

use super::dependencies::Edge;
use super::positions::Positions;
use crate::rules::graph::order::peel;
use crate::{Task, TaskId};

/// Returns a circle that new edges and parts close, each task held up by the next and the first again at the end.
///
/// `tasks` are those of the list as they are after the change; `parts` are the tasks that became a part of another. The first step
/// of the circle is a new one. A circle that has no new step in it is none of this rule's business.
pub fn find_circle(tasks: &[Task], edges: &[Edge], parts: &[TaskId]) -> Option<Vec<TaskId>> {
    let steps = Steps::of(tasks);
    let mut new = Vec::new();
    for edge in edges {
        if let (Some(task), Some(on)) = (steps.positions.get(&edge.task), steps.positions.get(&edge.on)) {
            new.push((begin(task), end(on)));
        }
    }
    for part in parts.iter().filter_map(|id| steps.positions.get(id)) {
        if let Some(parent) = steps.parents[part] {
            new.extend([(begin(part), begin(parent)), (end(parent), end(part))]);
        }
    }
    let mut is_free = vec![false; tasks.len() * 2];
    peel(steps.all(), &mut is_free);
    let suspect = new.into_iter().filter(|(from, to)| !is_free[*from] && !is_free[*to]);
    let circle =
        suspect.filter(|(from, to)| steps.after[*from].contains(to)).find_map(|(from, to)| steps.way(from, to))?;
    let mut path: Vec<TaskId> = circle.into_iter().map(|step| tasks[step / 2].id.clone()).collect();
    path.dedup();
    Some(path)
}

/// What is next to a task in its list.
pub trait Surroundings {
    /// Returns the tasks that a task waits for, where they are there.
    fn waits_for(&self, task: &TaskId) -> Vec<TaskId>;

    /// Returns the task that a task is a part of, where that is there.
    fn parent(&self, task: &TaskId) -> Option<TaskId>;

    /// Returns the tasks that are parts of a task.
    fn parts(&self, task: &TaskId) -> Vec<TaskId>;
}

/// Returns a circle as [`find_circle`] does, looking only at what the new edges and parts lead to.
pub fn find_circle_around(list: &impl Surroundings, edges: &[Edge], parts: &[TaskId]) -> Option<Vec<TaskId>> {
    let mut new: Vec<(Step, Step)> = Vec::new();
    // One that was taken away again, or leads to a part of the task that waits, is none.
    let is_new = |edge: &&Edge| list.waits_for(&edge.task).contains(&edge.on) && !is_above(list, &edge.on, &edge.task);
    for edge in edges.iter().filter(is_new) {
        new.push(((edge.task.clone(), Half::Begin), (edge.on.clone(), Half::End)));
    }
    for part in parts {
        if let Some(parent) = list.parent(part) {
            new.push(((part.clone(), Half::Begin), (parent.clone(), Half::Begin)));
            new.push(((parent, Half::End), (part.clone(), Half::End)));
        }
    }
    let circle = new.into_iter().find_map(|(from, to)| way_around(list, &from, to))?;
    let mut path: Vec<TaskId> = circle.into_iter().map(|(task, _)| task).collect();
    path.dedup();
    Some(path)
}

/// A task has two steps: it begins, and it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Half {
    Begin,
    End,
}

type Step = (TaskId, Half);

/// Returns the steps that come before a step.
fn steps_before(list: &impl Surroundings, (task, half): &Step) -> Vec<Step> {
    match half {
        Half::Begin => {
            let parent = list.parent(task).map(|parent| (parent, Half::Begin));
            let waits_for = list.waits_for(task).into_iter().filter(|on| !is_above(list, on, task));
            parent.into_iter().chain(waits_for.map(|on| (on, Half::End))).collect()
        }
        Half::End => {
            let parts = list.parts(task).into_iter().map(|part| (part, Half::End));
            std::iter::once((task.clone(), Half::Begin)).chain(parts).collect()
        }
    }
}

/// Tells whether a task is a part of another or of its parts. Parts of each other are below each other, not below themselves.
fn is_above(list: &impl Surroundings, below: &TaskId, above: &TaskId) -> bool {
    let mut met = HashSet::from([below.clone()]);
    let mut at = list.parent(below);
    while let Some(parent) = at {
        if parent == *above {
            return true;
        }
        if !met.insert(parent.clone()) {
            return false;
        }
        at = list.parent(&parent);
    }
    false
}

/// Returns the shortest way from a step back to itself that begins with this other step.
fn way_around(list: &impl Surroundings, from: &Step, to: Step) -> Option<Vec<Step>> {
    let mut came_from: HashMap<Step, Step> = HashMap::from([(to.clone(), from.clone())]);
    let mut waiting = VecDeque::from([to]);
    while let Some(at) = waiting.pop_front() {
        if at == *from {
            let mut way = vec![from.clone()];
            let mut back = came_from[from].clone();
            while back != *from {
                way.push(back.clone());
                back = came_from[&back].clone();
            }
            way.push(from.clone());
            way.reverse();
            return Some(way);
        }
        for next in steps_before(list, &at) {
            if !came_from.contains_key(&next) {
                came_from.insert(next.clone(), at.clone());
                waiting.push_back(next);
            }
        }
    }
    None
}

/// The step at which a task begins.
pub(crate) const fn begin(position: usize) -> usize {
    position * 2
}

/// The step at which a task is finished.
pub(crate) const fn end(position: usize) -> usize {
    position * 2 + 1
}

/// What comes after what in a list: every task has two steps.
struct Steps {
    positions: Positions,
    /// The position of the task that each is a part of.
    parents: Vec<Option<usize>>,
    /// For each step, those that come before it.
    after: Vec<Vec<usize>>,
}

impl Steps {
    fn of(tasks: &[Task]) -> Self {
        let positions = Positions::of(tasks, |_| true);
        let parents: Vec<Option<usize>> = tasks.iter().map(|task| positions.get(&task.parent()?)).collect();
        let mut after = vec![Vec::new(); tasks.len() * 2];
        for (position, task) in tasks.iter().enumerate() {
            after[end(position)].push(begin(position));
            if let Some(parent) = parents[position] {
                after[begin(position)].push(begin(parent));
                after[end(parent)].push(end(position));
            }
            for on in task.blocked_by.iter().filter_map(|id| positions.get(id)) {
                if !is_below(on, position, &parents) {
                    after[begin(position)].push(end(on));
                }
            }
        }
        Self { positions, parents, after }
    }

    fn all(&self) -> impl Iterator<Item = (usize, usize)> {
        self.after.iter().enumerate().flat_map(|(step, before)| before.iter().map(move |other| (step, *other)))
    }

    /// Returns the shortest way from a step back to itself that begins with this other step.
    fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_from = HashMap::from([(to, from)]);
        let mut waiting = VecDeque::from([to]);
        while let Some(at) = waiting.pop_front() {
            if at == from {
                let mut way = vec![from];
                let mut back = came_from[&from];
                while back != from {
                    way.push(back);
                    back = came_from[&back];
                }
                way.push(from);
                way.reverse();
                return Some(way);
            }
            for next in &self.after[at] {
                if !came_from.contains_key(next) {
                    came_from.insert(*next, at);
                    waiting.push_back(*next);
                }
            }
        }
        None
    }
}

/// Tells whether a task is a part of another or of its parts. Parts of each other are below each other, not below themselves.
fn is_below(position: usize, other: usize, parents: &[Option<usize>]) -> bool {
    let (mut at, mut steps) = (parents[position], 0);
    while let Some(above) = at.filter(|above| *above != position && steps <= parents.len()) {
        if above == other {
            return true;
        }
        (at, steps) = (parents[above], steps + 1);
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::rules::graph::circles::HashMap;
    use serde_json::json;

    use super::{Surroundings, find_circle, find_circle_around};
    use crate::rules::graph::dependencies::Edge;
    use crate::rules::samples::{id, task};
    use crate::{Task, TaskId};

    fn part(number: u64, parent: u64, blocked_by: &[u64]) -> Task {
        Task { metadata: json!({ "parent": parent.to_string() }).as_object().cloned(), ..task(number, blocked_by, &[]) }
    }

    /// A list by its ids and by what its tasks are parts of.
    struct Indexed<'a> {
        tasks: HashMap<&'a TaskId, &'a Task>,
        parts: HashMap<TaskId, Vec<TaskId>>,
    }

    impl<'a> Indexed<'a> {
        fn of(tasks: &'a [Task]) -> Self {
            let mut parts: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
            for part in tasks {
                if let Some(parent) = part.parent() {
                    parts.entry(parent).or_default().push(part.id.clone());
                }
            }
            Self { tasks: tasks.iter().map(|task| (&task.id, task)).collect(), parts }
        }
    }

    impl Surroundings for Indexed<'_> {
        fn waits_for(&self, task: &TaskId) -> Vec<TaskId> {
            let blocked_by = self.tasks.get(task).map(|task| task.blocked_by.clone()).unwrap_or_default();
            blocked_by.into_iter().filter(|id| self.tasks.contains_key(id)).collect()
        }

        fn parent(&self, task: &TaskId) -> Option<TaskId> {
            self.tasks.get(task)?.parent().filter(|parent| self.tasks.contains_key(parent))
        }

        fn parts(&self, task: &TaskId) -> Vec<TaskId> {
            self.parts.get(task).cloned().unwrap_or_default()
        }
    }

    fn circle(tasks: &[Task], edges: &[(u64, u64)], parts: &[u64]) -> Option<Vec<u64>> {
        let edges: Vec<Edge> = edges.iter().map(|(task, on)| Edge::new(id(*task), id(*on))).collect();
        let parts: Vec<TaskId> = parts.iter().copied().map(id).collect();
        let path = find_circle(tasks, &edges, &parts);
        let around = find_circle_around(&Indexed::of(tasks), &edges, &parts);
        assert_eq!(path.as_ref().map(Vec::len), around.as_ref().map(Vec::len), "{path:?} {around:?}");
        let path = path?;
        Some(path.iter().filter_map(TaskId::as_number).collect())
    }

    #[test]
    fn a_part_cannot_wait_for_its_parent() {
        let tasks = [task(1, &[], &[]), part(2, 1, &[1])];
        assert_eq!(circle(&tasks, &[(2, 1)], &[]), Some(vec![2, 1, 2]));
        assert_eq!(circle(&tasks, &[], &[2]), Some(vec![1, 2, 1]));
        // No change is stopped by a circle that was there already.
        assert_eq!(circle(&tasks, &[], &[]), None);
    }

    #[test]
    fn a_parent_may_wait_for_its_parts_and_parts_for_each_other() {
        let tasks = [task(1, &[2, 3, 4], &[]), part(2, 1, &[]), part(3, 1, &[2]), part(4, 3, &[])];
        assert_eq!(circle(&tasks, &[(1, 2), (1, 3), (1, 4), (3, 2)], &[2, 3, 4]), None);
    }

    #[test]
    fn circles_may_go_through_several_families() {
        let tasks = [task(1, &[], &[]), task(2, &[], &[]), part(3, 1, &[2]), part(4, 2, &[1])];
        assert_eq!(circle(&tasks, &[(4, 1)], &[]), Some(vec![4, 1, 3, 2, 4]));
        // 1 waits for 2 as a whole, whose part waits for a part of 1.
        let tasks = [task(1, &[2], &[]), task(2, &[], &[]), part(3, 1, &[]), part(4, 2, &[3])];
        assert_eq!(circle(&tasks, &[(4, 3)], &[]), Some(vec![4, 3, 1, 2, 4]));
        let tasks = [task(1, &[2], &[]), task(2, &[], &[]), part(3, 1, &[2]), part(4, 2, &[])];
        assert_eq!(circle(&tasks, &[(3, 2), (1, 2)], &[3, 4]), None);
    }

    #[test]
    fn tasks_cannot_be_parts_of_each_other() {
        let tasks = [part(1, 3, &[]), part(2, 1, &[]), part(3, 2, &[])];
        assert_eq!(circle(&tasks, &[], &[1]), Some(vec![1, 3, 2, 1]));
    }

    #[test]
    fn edges_alone_close_circles_as_ever() {
        let tasks = [task(1, &[2], &[]), task(2, &[3], &[]), task(3, &[1], &[])];
        assert_eq!(circle(&tasks, &[(3, 1)], &[]), Some(vec![3, 1, 2, 3]));
    }

    #[test]
    fn a_long_list_is_judged_in_one_pass() {
        let mut tasks: Vec<Task> = (2..=30_000).map(|number| part(number, number / 2, &[number - 1])).collect();
        tasks.insert(0, task(1, &[], &[]));
        tasks.iter_mut().for_each(|task| task.blocked_by.retain(|on| on.as_number() != Some(1)));
        let edges: Vec<(u64, u64)> =
            (3..=30_000).filter(|number| number % 2 == 1).map(|number| (number, number - 1)).collect();
        assert_eq!(circle(&tasks[..2], &edges, &[2]), None);
        assert!(circle(&tasks, &edges, &[]).is_some(), "a part of 2 waits for 3, and 3 waits for 2");
    }
}
