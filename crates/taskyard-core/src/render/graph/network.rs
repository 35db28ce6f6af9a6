//! Tasks and edges as places and arrows, with no circle left.

use std::collections::{HashMap, HashSet};

use crate::{Task, TaskId};

/// The edges among tasks, each from the task that blocks to the task that waits.
#[derive(Debug)]
pub(crate) struct Network {
    /// Every edge between two different tasks, by place, without repeats.
    pub(crate) edges: Vec<Edge>,
    /// For each task, the edges that leave it.
    pub(crate) out: Vec<Vec<usize>>,
    /// For each task, the edges that reach it.
    pub(crate) into: Vec<Vec<usize>>,
    /// For each task, how far it is from the tasks that wait for nothing.
    pub(crate) layer: Vec<usize>,
}

/// One edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The task that blocks.
    pub(crate) from: usize,
    /// The task that waits.
    pub(crate) to: usize,
    /// Whether it closes a circle, and so runs against the order of the drawing.
    pub(crate) closes_circle: bool,
}

impl Network {
    /// Takes the tasks to draw. Edges to tasks that are not among them are left out.
    pub(crate) fn new(tasks: &[Task]) -> Self {
        let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
        let mut seen = HashSet::new();
        let mut edges = Vec::new();
        for (place, task) in tasks.iter().enumerate() {
            let before = task.blocked_by.iter().filter_map(|id| Some((*places.get(id)?, place)));
            let behind = task.blocks.iter().filter_map(|id| Some((place, *places.get(id)?)));
            for (from, to) in before.chain(behind) {
                if from != to && seen.insert((from, to)) {
                    edges.push(Edge { from, to, closes_circle: false });
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
        open_circles(&mut edges, &out);
        let layer = layers(&edges, &out);
        Self { edges, out, into, layer }
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

/// Marks the edges that lead back to a task they came from, in a walk that does not recurse.
fn open_circles(edges: &mut [Edge], out: &[Vec<usize>]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnTheWay,
        Left,
    }
    let mut seen = vec![Seen::Never; out.len()];
    let mut waits = vec![false; out.len()];
    edges.iter().for_each(|edge| waits[edge.to] = true);
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
            let to = edges[number].to;
            match seen[to] {
                Seen::Never => {
                    seen[to] = Seen::OnTheWay;
                    way.push((to, 0));
                }
                Seen::OnTheWay => edges[number].closes_circle = true,
                Seen::Left => {}
            }
        }
    }
}

/// Returns the length of the longest way to each task.
fn layers(edges: &[Edge], out: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![0usize; out.len()];
    edges.iter().filter(|edge| !edge.closes_circle).for_each(|edge| before[edge.to] += 1);
    let mut layer = vec![0; out.len()];
    let mut free: Vec<usize> = (0..out.len()).filter(|place| before[*place] == 0).collect();
    while let Some(place) = free.pop() {
        for edge in out[place].iter().map(|number| edges[*number]).filter(|edge| !edge.closes_circle) {
            layer[edge.to] = layer[edge.to].max(layer[place] + 1);
            before[edge.to] -= 1;
            if before[edge.to] == 0 {
                free.push(edge.to);
            }
        }
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::Network;
    use crate::{Task, TaskId};

    fn waiting(number: u64, on: &[u64]) -> Task {
        let mut task = Task::new(TaskId::number(number), "x");
        task.blocked_by = on.iter().copied().map(TaskId::number).collect();
        task
    }

    #[test]
    fn a_task_stands_behind_everything_it_waits_for() {
        let network = Network::new(&[waiting(1, &[]), waiting(2, &[1]), waiting(3, &[1, 2]), waiting(4, &[9])]);
        assert_eq!(network.layer, [0, 1, 2, 0]);
        assert_eq!(network.edges.len(), 3);
    }

    #[test]
    fn exactly_one_edge_of_a_circle_runs_backwards() {
        let network = Network::new(&[waiting(1, &[3]), waiting(2, &[1]), waiting(3, &[2]), waiting(4, &[4])]);
        assert_eq!(network.edges.iter().filter(|edge| edge.closes_circle).count(), 1);
        assert_eq!(network.layer, [0, 1, 2, 0]);
    }
}
