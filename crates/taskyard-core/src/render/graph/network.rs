//! Tasks and edges as places and arrows, with no circle left.

use std::collections::{HashMap, HashSet};

use crate::rules::graph::part_tree::Tree;
use crate::{Rules, Task, TaskId};

/// The edges among tasks, each from the task that blocks to the task that waits, or from a task to its part.
#[derive(Debug)]
pub(crate) struct Network {
    /// Every edge between two different tasks, by place, without repeats.
    pub(crate) edges: Vec<Edge>,
    /// For each task, the edges that leave it.
    pub(crate) out: Vec<Vec<usize>>,
    /// For each task, the edges that reach it.
    pub(crate) into: Vec<Vec<usize>>,
    /// For each task, how far it is from the tasks that wait for nothing. Parts stand behind their parent, and what waits for the parent
    /// stands behind all of them.
    pub(crate) layer: Vec<usize>,
    /// For each task, the one that it is a part of.
    pub(crate) parent: Vec<Option<usize>>,
}

/// One edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The task that blocks, or the parent.
    pub(crate) from: usize,
    /// The task that waits, or the part.
    pub(crate) to: usize,
    /// Whether it leads from a parent to its part.
    pub(crate) is_part: bool,
    /// Whether it closes a circle, and so runs against the order of the drawing.
    pub(crate) closes_circle: bool,
}

impl Network {
    /// Takes the tasks to draw. Edges to tasks that are not among them are left out. The client knows no parts.
    pub(crate) fn new(tasks: &[Task], rules: Rules) -> Self {
        let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
        let tree = if rules.is_client() { None } else { Tree::of(tasks) };
        let parent: Vec<Option<usize>> =
            (0..tasks.len()).map(|place| tree.as_ref().and_then(|tree| tree.above(place))).collect();
        let mut seen = HashSet::new();
        let mut edges = Vec::new();
        for (to, from) in parent.iter().enumerate().filter_map(|(place, parent)| Some((place, (*parent)?))) {
            seen.insert((from, to));
            edges.push(Edge { from, to, is_part: true, closes_circle: false });
        }
        // A parent that waits for its own parts says nothing new.
        let is_own_part = |from: usize, to: usize| tree.as_ref().is_some_and(|tree| tree.is_below(from, to));
        for (place, task) in tasks.iter().enumerate() {
            let before = task.blocked_by.iter().filter_map(|id| Some((*places.get(id)?, place)));
            let behind = task.blocks.iter().filter_map(|id| Some((place, *places.get(id)?)));
            for (from, to) in before.chain(behind) {
                if from != to && !is_own_part(from, to) && seen.insert((from, to)) {
                    edges.push(Edge { from, to, is_part: false, closes_circle: false });
                }
            }
        }
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        let mut out = vec![Vec::new(); tasks.len()];
        let mut into = vec![Vec::new(); tasks.len()];
        for (number, edge) in edges.iter().enumerate() {
            out[edge.from].push(number);
            into[edge.to].push(number);
        }
        let layer = ordered(&mut edges, &parent);
        Self { edges, out, into, layer, parent }
    }

    /// Tells for each task whether an edge touches it.
    pub(crate) fn connected(&self) -> Vec<bool> {
        let mut connected = vec![false; self.out.len()];
        for edge in &self.edges {
            connected[edge.from] = true;
            connected[edge.to] = true;
        }
        connected
    }
}

/// A step from one place to another, where a place is a task, or the end of one that has parts.
struct Step {
    from: usize,
    to: usize,
    closes_circle: bool,
}

/// Marks the edges that close a circle, and returns how far each task is from the beginning.
fn ordered(edges: &mut [Edge], parent: &[Option<usize>]) -> Vec<usize> {
    let count = parent.len();
    let mut has_parts = vec![false; count];
    parent.iter().flatten().for_each(|parent| has_parts[*parent] = true);
    let end = |place: usize| if has_parts[place] { count + place } else { place };
    let step = |from: usize, to: usize| Step { from, to, closes_circle: false };
    let mut steps: Vec<Step> =
        edges.iter().map(|edge| step(if edge.is_part { edge.from } else { end(edge.from) }, edge.to)).collect();
    steps.extend((0..count).filter(|place| has_parts[*place]).map(|place| step(place, end(place))));
    steps.extend((0..count).filter_map(|place| Some(step(end(place), end(parent[place]?)))));
    let places = if has_parts.contains(&true) { 2 * count } else { count };
    let mut out = vec![Vec::new(); places];
    steps.iter().enumerate().for_each(|(number, step)| out[step.from].push(number));
    open_circles(&mut steps, &out);
    let mut layer = layers(&steps, &out, count);
    layer.truncate(count);
    for (edge, step) in edges.iter_mut().zip(&steps) {
        edge.closes_circle = step.closes_circle || layer[edge.to] <= layer[edge.from];
    }
    layer
}

/// Marks the steps that lead back to a place they came from, in a walk that does not recurse.
fn open_circles(steps: &mut [Step], out: &[Vec<usize>]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnTheWay,
        Left,
    }
    let mut seen = vec![Seen::Never; out.len()];
    let mut waits = vec![false; out.len()];
    steps.iter().for_each(|step| waits[step.to] = true);
    // Starting where nothing is waited for keeps the arrows of a circle pointing away from the beginning.
    let starts = (0..out.len()).filter(|place| !waits[*place]).chain((0..out.len()).filter(|place| waits[*place]));
    for start in starts.collect::<Vec<_>>() {
        if seen[start] != Seen::Never {
            continue;
        }
        seen[start] = Seen::OnTheWay;
        let mut way = vec![(start, 0)];
        while let Some((place, next)) = way.last_mut() {
            let Some(number) = out[*place].get(*next).copied() else {
                seen[*place] = Seen::Left;
                way.pop();
                continue;
            };
            *next += 1;
            let to = steps[number].to;
            match seen[to] {
                Seen::Never => {
                    seen[to] = Seen::OnTheWay;
                    way.push((to, 0));
                }
                Seen::OnTheWay => steps[number].closes_circle = true,
                Seen::Left => {}
            }
        }
    }
}

/// Returns how many of the first `count` places, which are tasks, the longest way to each place passes.
fn layers(steps: &[Step], out: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut before = vec![0usize; out.len()];
    steps.iter().filter(|step| !step.closes_circle).for_each(|step| before[step.to] += 1);
    let mut layer = vec![0; out.len()];
    let mut free: Vec<usize> = (0..out.len()).filter(|place| before[*place] == 0).collect();
    while let Some(place) = free.pop() {
        for step in out[place].iter().map(|number| &steps[*number]).filter(|step| !step.closes_circle) {
            layer[step.to] = layer[step.to].max(layer[place] + usize::from(step.to < count));
            before[step.to] -= 1;
            if before[step.to] == 0 {
                free.push(step.to);
            }
        }
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::Network;
    use crate::{Rules, Task, TaskId};

    fn waiting(number: u64, on: &[u64]) -> Task {
        let mut task = Task::new(TaskId::number(number), "x");
        task.blocked_by = on.iter().copied().map(TaskId::number).collect();
        task
    }

    #[test]
    fn a_task_stands_behind_everything_it_waits_for() {
        let network =
            Network::new(&[waiting(1, &[]), waiting(2, &[1]), waiting(3, &[1, 2]), waiting(4, &[9])], Rules::Strict);
        assert_eq!(network.layer, [0, 1, 2, 0]);
        assert_eq!(network.edges.len(), 3);
    }

    #[test]
    fn exactly_one_edge_of_a_circle_runs_backwards() {
        let network =
            Network::new(&[waiting(1, &[3]), waiting(2, &[1]), waiting(3, &[2]), waiting(4, &[4])], Rules::Strict);
        assert_eq!(network.edges.iter().filter(|edge| edge.closes_circle).count(), 1);
        assert_eq!(network.layer, [0, 1, 2, 0]);
    }

    fn part(number: u64, parent: u64, on: &[u64]) -> Task {
        let metadata = serde_json::json!({ "parent": parent.to_string() }).as_object().cloned();
        Task { metadata, ..waiting(number, on) }
    }

    #[test]
    fn parts_stand_between_their_parent_and_what_waits_for_it() {
        let tasks = [waiting(1, &[2]), part(2, 1, &[]), part(3, 1, &[2]), waiting(4, &[1]), part(5, 4, &[])];
        let network = Network::new(&tasks, Rules::Strict);
        assert_eq!(network.layer, [0, 1, 2, 3, 4]);
        let edges = network.edges.iter().map(|edge| (edge.from + 1, edge.to + 1, edge.is_part, edge.closes_circle));
        let expected =
            [(1, 2, true, false), (1, 3, true, false), (1, 4, false, false), (2, 3, false, false), (4, 5, true, false)];
        assert_eq!(edges.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn families_that_wait_for_each_other_are_a_circle() {
        let tasks = [waiting(1, &[]), part(2, 1, &[4]), waiting(3, &[]), part(4, 3, &[1])];
        let network = Network::new(&tasks, Rules::Strict);
        let backwards = network.edges.iter().filter(|edge| network.layer[edge.to] <= network.layer[edge.from]);
        assert!(backwards.clone().all(|edge| edge.closes_circle));
        assert_eq!(backwards.count(), 1);
    }
}
