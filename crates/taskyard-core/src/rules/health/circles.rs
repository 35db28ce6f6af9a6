//! Circles, and where to cut them.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use crate::TaskId;
use crate::rules::dependencies::{Edge, find_cycle, tangled};

/// A circle: each task with the next, and the first again at the end.
pub(super) type Circle = Vec<TaskId>;

/// Returns circles, each with the edge to take away, until none is left without those edges.
///
/// The lowest number of a circle is set free: who made the tasks wrote the first step first. So a circle begins with it, and its
/// first edge is the one to go.
pub(super) fn circles(mut next: HashMap<TaskId, Vec<TaskId>>) -> Vec<Circle> {
    let mut found = Vec::new();
    trim(&mut next);
    // A task that is in no circle now will be in none later: edges only go.
    let mut starts: Vec<TaskId> = next.keys().cloned().collect();
    starts.sort();
    for start in starts {
        let known = found.len();
        while let Some(circle) = circle_through(&start, &next) {
            if let Some(ons) = next.get_mut(&circle[0]) {
                ons.retain(|on| *on != circle[1]);
            }
            found.push(circle);
        }
        // Whatever circles there are now, this task is in none of them.
        next.remove(&start);
        if found.len() > known {
            trim(&mut next);
        }
    }
    found
}

/// Takes away what is surely in no circle: whoever waits for no circle, and whoever no circle waits for.
fn trim(next: &mut HashMap<TaskId, Vec<TaskId>>) {
    keep(&tangled(next), next);
    let mut back: HashMap<TaskId, Vec<TaskId>> = next.keys().map(|id| (id.clone(), Vec::new())).collect();
    for (id, ons) in &*next {
        for on in ons {
            back.entry(on.clone()).or_default().push(id.clone());
        }
    }
    keep(&tangled(&back), next);
}

fn keep(left: &HashSet<TaskId>, next: &mut HashMap<TaskId, Vec<TaskId>>) {
    next.retain(|id, _| left.contains(id));
    next.values_mut().for_each(|ons| ons.retain(|id| left.contains(id)));
}

/// Returns the shortest circle through a task.
fn circle_through(start: &TaskId, next: &HashMap<TaskId, Vec<TaskId>>) -> Option<Circle> {
    let edges: Vec<Edge> = next.get(start)?.iter().map(|on| Edge::new(start.clone(), on.clone())).collect();
    let Ok(circle) = find_cycle(&edges, |id| Ok::<_, Infallible>(next.get(id).cloned().unwrap_or_default()));
    circle
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::circles;
    use crate::TaskId;
    use crate::rules::samples::id;

    fn graph(edges: &[(u64, &[u64])]) -> HashMap<TaskId, Vec<TaskId>> {
        edges.iter().map(|(task, on)| (id(*task), on.iter().map(|on| id(*on)).collect())).collect()
    }

    fn numbers(edges: &[(u64, &[u64])]) -> Vec<Vec<u64>> {
        let circles = circles(graph(edges));
        circles.iter().map(|circle| circle.iter().map(|id| id.as_number().unwrap()).collect()).collect()
    }

    #[test]
    fn a_circle_is_cut_where_its_lowest_number_waits() {
        assert_eq!(numbers(&[(3, &[1]), (1, &[2]), (2, &[3]), (4, &[1])]), [[1, 2, 3, 1]]);
        assert_eq!(numbers(&[(1, &[]), (2, &[1]), (3, &[2, 1])]), [[0; 0]; 0]);
    }

    #[test]
    fn a_long_circle_with_a_long_queue_is_found_in_no_time() {
        let mut long: Vec<(u64, Vec<u64>)> = (1..20_000).map(|task| (task, vec![task + 1])).collect();
        long.push((20_000, vec![10_000]));
        let edges: Vec<(u64, &[u64])> = long.iter().map(|(task, on)| (*task, on.as_slice())).collect();
        let found = numbers(&edges);
        assert_eq!((found.len(), found[0][0], found[0].len()), (1, 10_000, 10_002));
    }

    #[test]
    fn circles_that_share_a_task_are_all_cut() {
        assert_eq!(numbers(&[(1, &[2, 3]), (2, &[1]), (3, &[1])]).len(), 2);
        let everybody: Vec<u64> = (1..=30).collect();
        let mut tight: Vec<(u64, Vec<u64>)> = Vec::new();
        for task in &everybody {
            tight.push((*task, everybody.iter().copied().filter(|on| on != task).collect()));
        }
        let edges: Vec<(u64, &[u64])> = tight.iter().map(|(task, on)| (*task, on.as_slice())).collect();
        let mut left = graph(&edges);
        for circle in circles(left.clone()) {
            left.get_mut(&circle[0]).unwrap().retain(|on| *on != circle[1]);
        }
        assert_eq!(circles(left), Vec::<Vec<TaskId>>::new());
    }
}
