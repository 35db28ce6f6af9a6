//! Detection of dependency cycles through edges and parts, in which no task could ever be finished.

use std::collections::{HashMap, HashSet, VecDeque};

use super::dependencies::Edge;
use crate::rules::graph::parts::Positions;
use crate::{Task, TaskId};

/// Returns a cycle closed by new edges and parts. Each task waits for the next, and the first is repeated at the end.
///
/// `tasks` is the list after the change; `parts` are the tasks that were given a parent. The first step of the cycle is
/// a new one. Existing cycles without a new step are ignored.
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

/// Access to the tasks next to a given one in its list.
pub trait Surroundings {
    /// Returns the existing blockers of a task.
    fn waits_for(&self, task: &TaskId) -> Vec<TaskId>;

    /// Returns the parent of a task, or `None` if it has none or the parent does not exist.
    fn parent(&self, task: &TaskId) -> Option<TaskId>;

    /// Returns the parts of a task.
    fn parts(&self, task: &TaskId) -> Vec<TaskId>;
}

/// Returns a cycle as [`find_circle`] does, but reads only the tasks reachable from the new edges and parts.
pub fn find_circle_around(list: &impl Surroundings, edges: &[Edge], parts: &[TaskId]) -> Option<Vec<TaskId>> {
    let mut new: Vec<(Step, Step)> = Vec::new();
    // Ignore edges that were removed again and edges to a part of the waiting task.
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

/// The two steps of a task: it starts, and it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Half {
    Begin,
    End,
}

type Step = (TaskId, Half);

/// Returns the steps that must come before a step.
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

/// Returns whether `below` is a direct or indirect part of `above`. Tasks that are parts of each other are below each
/// other, but not below themselves.
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

/// Returns the shortest path from `from` back to itself whose second step is `to`.
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

/// The step at which a task starts.
pub(crate) const fn begin(position: usize) -> usize {
    position * 2
}

/// The step at which a task is finished.
pub(crate) const fn end(position: usize) -> usize {
    position * 2 + 1
}

/// The order of steps in a list. Every task has two steps.
struct Steps {
    positions: Positions,
    /// The position of each task's parent.
    parents: Vec<Option<usize>>,
    /// The steps that must come before each step.
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

    /// Returns the shortest path from `from` back to itself whose second step is `to`.
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

/// Returns whether the task at `position` is a direct or indirect part of the one at `other`. Tasks that are parts of
/// each other are below each other, but not below themselves.
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

/// A topological order of tasks, by index, that is maintained as edges are added. Each task comes after its blockers.
#[derive(Debug)]
pub(crate) struct Order {
    /// The place of each task in the order.
    place: Vec<usize>,
    waits_for: Vec<Vec<usize>>,
    waited_for_by: Vec<Vec<usize>>,
}

/// The edge was not added because it would close this cycle. Each task waits for the next, and the first is repeated at
/// the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClosesCircle(pub(crate) Vec<usize>);

impl Order {
    /// Returns an order of `count` tasks without edges. `edges`, each given as (dependent, blocker), are the ones that
    /// may be added later; they determine the initial places.
    pub(crate) fn of(count: usize, edges: &[(usize, usize)]) -> Self {
        let mut place = vec![0; count];
        for (index, at) in arrange(count, edges).into_iter().enumerate() {
            place[at] = index;
        }
        Self { place, waits_for: vec![Vec::new(); count], waited_for_by: vec![Vec::new(); count] }
    }

    /// Adds an edge from a task to its blocker, unless it would close a cycle.
    pub(crate) fn add(&mut self, task: usize, on: usize) -> Result<(), ClosesCircle> {
        if self.place[on] >= self.place[task] {
            let (lowest, highest) = (self.place[task], self.place[on]);
            let came_from = reach(on, |at| &self.waits_for[at], |at| self.place[at] >= lowest);
            if came_from.contains_key(&task) {
                return Err(ClosesCircle(circle(task, on, &came_from)));
            }
            let behind = reach(task, |at| &self.waited_for_by[at], |at| self.place[at] <= highest);
            self.rearrange(came_from.into_keys().collect(), behind.into_keys().collect());
        }
        self.waits_for[task].push(on);
        self.waited_for_by[on].push(task);
        Ok(())
    }

    /// Moves the tasks in `first` before those in `then`. Together they keep the same set of places.
    fn rearrange(&mut self, mut first: Vec<usize>, mut then: Vec<usize>) {
        first.sort_unstable_by_key(|at| self.place[*at]);
        then.sort_unstable_by_key(|at| self.place[*at]);
        first.extend(then);
        let mut places: Vec<usize> = first.iter().map(|at| self.place[*at]).collect();
        places.sort_unstable();
        for (at, place) in first.into_iter().zip(places) {
            self.place[at] = place;
        }
    }
}

/// Returns the tasks in an order that satisfies all edges except those in cycles and between cycles.
fn arrange(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut is_placed = vec![false; count];
    let mut first = peel(edges.iter().copied(), &mut is_placed);
    let left: Vec<(usize, usize)> =
        edges.iter().copied().filter(|(task, on)| !is_placed[*task] && !is_placed[*on]).collect();
    let last = peel(left.into_iter().map(|(task, on)| (on, task)), &mut is_placed);
    first.extend((0..count).filter(|at| !is_placed[*at]));
    first.extend(last.into_iter().rev());
    first
}

/// Repeatedly removes the tasks that have no remaining blockers, and returns them in the order of removal.
pub(in crate::rules) fn peel(edges: impl Iterator<Item = (usize, usize)>, is_placed: &mut [bool]) -> Vec<usize> {
    let mut open = vec![0_usize; is_placed.len()];
    let mut behind = vec![Vec::new(); is_placed.len()];
    for (task, on) in edges {
        open[task] += 1;
        behind[on].push(task);
    }
    let mut peeled: Vec<usize> = (0..open.len()).filter(|at| open[*at] == 0 && !is_placed[*at]).collect();
    let mut next = 0;
    while let Some(&at) = peeled.get(next) {
        next += 1;
        is_placed[at] = true;
        for &task in &behind[at] {
            open[task] -= 1;
            if open[task] == 0 {
                peeled.push(task);
            }
        }
    }
    peeled
}

/// Returns everything reachable from `start`, each with its predecessor on a shortest path.
fn reach<'a>(
    start: usize,
    next: impl Fn(usize) -> &'a Vec<usize>,
    counts: impl Fn(usize) -> bool,
) -> HashMap<usize, usize> {
    let mut came_from = HashMap::from([(start, start)]);
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for &to in next(at) {
            if counts(to) && !came_from.contains_key(&to) {
                came_from.insert(to, at);
                waiting.push_back(to);
            }
        }
    }
    came_from
}

fn circle(task: usize, on: usize, came_from: &HashMap<usize, usize>) -> Vec<usize> {
    let mut back = vec![task];
    let mut at = task;
    while at != on {
        at = came_from[&at];
        back.push(at);
    }
    back.push(task);
    back.reverse();
    back
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

    /// A list indexed by ids and by parents.
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
        // An existing cycle does not prevent other changes.
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
        // 1 waits for the whole of 2, and a part of 2 waits for a part of 1.
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

#[cfg(test)]
mod order_tests {
    use super::{ClosesCircle, Order};

    #[test]
    fn only_an_edge_that_closes_a_circle_is_refused() {
        let mut order = Order::of(5, &[(3, 0)]);
        for (task, on) in [(0, 1), (1, 2), (4, 0), (2, 3)] {
            order.add(task, on).unwrap();
        }
        assert_eq!(order.add(3, 0), Err(ClosesCircle(vec![3, 0, 1, 2, 3])));
        assert_eq!(order.add(2, 2), Err(ClosesCircle(vec![2, 2])));
        order.add(3, 4).unwrap_err();
        order.add(4, 3).unwrap();
    }

    #[test]
    fn edges_outside_of_circles_agree_from_the_beginning() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 2), (4, 2), (5, 4), (3, 6)];
        let order = Order::of(7, &edges);
        for (task, on) in edges.into_iter().filter(|edge| ![(2, 3), (3, 2)].contains(edge)) {
            assert!(order.place[on] < order.place[task], "{task} waits for {on}");
        }
    }

    #[test]
    fn the_order_always_agrees_with_the_edges() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % 60
        };
        let edges: Vec<(usize, usize)> = (0..600).map(|_| (random(), random())).collect();
        let mut order = Order::of(60, &edges[..100]);
        let mut refused = 0;
        for (task, on) in edges {
            if let Err(ClosesCircle(circle)) = order.add(task, on) {
                refused += 1;
                assert_eq!((circle[0], circle[1], circle[circle.len() - 1]), (task, on, task));
                for pair in circle[1..].windows(2).filter(|_| task != on) {
                    assert!(order.waits_for[pair[0]].contains(&pair[1]), "{circle:?}");
                }
            }
            for (task, ons) in order.waits_for.iter().enumerate() {
                assert!(ons.iter().all(|on| order.place[*on] < order.place[task]));
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
