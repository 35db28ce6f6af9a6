//! Tasks and edges as a layered acyclic network.

use std::collections::{HashMap, HashSet};

use crate::rules::graph::parts::Tree;
use crate::{Rules, Task, TaskId};

/// The edges between tasks, from blocker to dependent or from parent to part.
#[derive(Debug)]
pub(crate) struct Network {
    /// Every edge between two different tasks, without duplicates.
    pub(crate) edges: Vec<Edge>,
    /// For each task, its outgoing edges.
    pub(crate) out: Vec<Vec<usize>>,
    /// For each task, its incoming edges.
    pub(crate) into: Vec<Vec<usize>>,
    /// For each task, its distance from tasks without blockers. Parts come after their parent, and dependents of the
    /// parent after all its parts.
    pub(crate) layer: Vec<usize>,
    /// For each task, its parent.
    pub(crate) parent: Vec<Option<usize>>,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The blocker or the parent.
    pub(crate) from: usize,
    /// The dependent or the part.
    pub(crate) to: usize,
    /// Whether it leads from a parent to its part.
    pub(crate) is_part: bool,
    /// Whether it closes a cycle and therefore runs backwards.
    pub(crate) closes_circle: bool,
}

impl Network {
    /// Builds the network of the given tasks. Edges to other tasks are omitted. The client's rules have no parts.
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
        // That a parent depends on its own parts is already implied.
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

    /// Returns for each task whether it has edges.
    pub(crate) fn connected(&self) -> Vec<bool> {
        let mut connected = vec![false; self.out.len()];
        for edge in &self.edges {
            connected[edge.from] = true;
            connected[edge.to] = true;
        }
        connected
    }
}

/// A step between two places. A place is a task, or the end of a task that has parts.
struct Step {
    from: usize,
    to: usize,
    closes_circle: bool,
}

/// Marks the edges that close a cycle and returns the layer of each task.
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

/// Marks the steps that lead back to a place on the current path, without recursion.
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
    // Starting at places without incoming steps keeps the arrows of a cycle pointing forwards.
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

/// Returns the number of tasks on the longest path to each place. The first `count` places are tasks.
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

/// Returns the connected groups of nodes, each in ascending order.
pub(crate) fn groups<I: IntoIterator<Item = usize>>(count: usize, neighbours: impl Fn(usize) -> I) -> Vec<Vec<usize>> {
    let mut is_found = vec![false; count];
    let mut groups = Vec::new();
    for start in 0..count {
        if std::mem::replace(&mut is_found[start], true) {
            continue;
        }
        let (mut members, mut pending) = (Vec::new(), vec![start]);
        while let Some(node) = pending.pop() {
            members.push(node);
            for next in neighbours(node) {
                if !std::mem::replace(&mut is_found[next], true) {
                    pending.push(next);
                }
            }
        }
        members.sort_unstable();
        groups.push(members);
    }
    groups
}

/// Sorts each layer by the mean position of its neighbours, alternately in the previous and the next layer, to reduce
/// crossings.
pub(crate) fn order_layers<B, A>(
    layers: &mut [Vec<usize>],
    sweeps: usize,
    before: impl Fn(usize) -> B,
    behind: impl Fn(usize) -> A,
) where
    B: IntoIterator<Item = usize>,
    A: IntoIterator<Item = usize>,
{
    // The position of each node within its layer, times 1024, so that means are integers.
    let mut places: HashMap<usize, usize> = HashMap::new();
    let note = |layer: &[usize], places: &mut HashMap<usize, usize>| {
        places.extend(layer.iter().enumerate().map(|(place, node)| (*node, place * 1024)));
    };
    layers.iter().for_each(|layer| note(layer, &mut places));
    let depth = layers.len();
    for sweep in 0..sweeps {
        let is_forward = sweep % 2 == 0;
        for step in 1..depth {
            let layer = &mut layers[if is_forward { step } else { depth - 1 - step }];
            layer.sort_by_cached_key(|node| {
                let place = |neighbour: usize| places[&neighbour];
                let mean = if is_forward {
                    mean(before(*node).into_iter().map(place))
                } else {
                    mean(behind(*node).into_iter().map(place))
                };
                mean.unwrap_or(places[node])
            });
            note(layer, &mut places);
        }
    }
}

fn mean(values: impl Iterator<Item = usize>) -> Option<usize> {
    let (sum, count) = values.fold((0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count)
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

#[cfg(test)]
mod layering_tests {
    use super::{groups, order_layers};

    #[test]
    fn groups_are_what_hangs_together() {
        let neighbours = [vec![2], vec![], vec![0, 3], vec![2]];
        assert_eq!(groups(4, |node| neighbours[node].clone()), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn crossed_edges_are_uncrossed() {
        // 0 -> 3 and 1 -> 2 cross.
        let mut layers = [vec![0, 1], vec![2, 3]];
        let before = |node: usize| (node > 1).then(|| 3 - node);
        let behind = |node: usize| (node < 2).then(|| 3 - node);
        order_layers(&mut layers, 2, before, behind);
        assert_eq!(layers, [vec![0, 1], vec![3, 2]]);
    }
}
