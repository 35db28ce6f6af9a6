//! Repairs the edges of tasks that are restored into a list or moved there from another one.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use super::dependencies::{Edge, find_cycle, tangled};
use crate::{Rules, Task, TaskId};

/// The changes that make the edges of a list consistent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconnected {
    /// The tasks whose edges change, sorted by id; arriving and present ones.
    pub changed: Vec<Task>,
    /// The edges that were dropped because they lead to a missing task or, under strict rules, would close a cycle.
    pub dropped: Vec<Edge>,
}

/// Makes the edges between arriving and present tasks consistent: each edge is stored at both ends or at neither.
///
/// An edge counts if either end states it. Edges between two present tasks are left unchanged.
pub fn reconnect(present: &[Task], arrivals: &[Task], rules: Rules) -> Reconnected {
    reconnect_remembering(present, arrivals, &[], rules)
}

/// Does the same as [`reconnect`], but also adds `remembered` edges that neither end states any more. Those with a
/// missing end are ignored.
pub fn reconnect_remembering(present: &[Task], arrivals: &[Task], remembered: &[Edge], rules: Rules) -> Reconnected {
    let there: HashMap<&TaskId, &Task> = present.iter().chain(arrivals).map(|task| (&task.id, task)).collect();
    let mut stated = StatedEdges::of(present, arrivals);
    for edge in remembered.iter().filter(|edge| there.contains_key(&edge.task) && there.contains_key(&edge.on)) {
        stated.end(edge.clone());
    }
    let (possible, mut dropped): (Vec<&Edge>, Vec<&Edge>) =
        stated.order.iter().partition(|edge| there.contains_key(&edge.task) && there.contains_key(&edge.on));
    let accepted = match rules {
        Rules::Client(_) => possible,
        Rules::Strict => {
            let (accepted, circular) = without_circles(&there, &stated, possible);
            dropped.extend(circular);
            accepted
        }
    };
    let mut changes = Changes { there, changed: HashMap::new() };
    for edge in accepted {
        changes.add(edge, &stated.ends[edge]);
    }
    for edge in &dropped {
        changes.remove(edge, &stated.ends[*edge]);
    }
    let mut changed: Vec<Task> = changes.changed.into_values().collect();
    changed.sort_by(|one, two| one.id.cmp(&two.id));
    Reconnected { changed, dropped: dropped.into_iter().cloned().collect() }
}

/// Which ends of an edge state it.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    waiting: bool,
    blocking: bool,
}

/// The edges with at least one arriving end, in a deterministic order.
struct StatedEdges {
    order: Vec<Edge>,
    ends: HashMap<Edge, Ends>,
}

impl StatedEdges {
    fn of(present: &[Task], arrivals: &[Task]) -> Self {
        let arriving: HashSet<&TaskId> = arrivals.iter().map(|task| &task.id).collect();
        let mut stated = Self { order: Vec::new(), ends: HashMap::new() };
        for task in arrivals.iter().chain(present) {
            let arrives = arriving.contains(&task.id);
            let concerned = |other: &&TaskId| arrives || arriving.contains(other);
            for on in task.blocked_by.iter().filter(concerned) {
                stated.end(Edge::new(task.id.clone(), on.clone())).waiting = true;
            }
            for waiting in task.blocks.iter().filter(concerned) {
                stated.end(Edge::new(waiting.clone(), task.id.clone())).blocking = true;
            }
        }
        stated
    }

    fn end(&mut self, edge: Edge) -> &mut Ends {
        if !self.ends.contains_key(&edge) {
            self.order.push(edge.clone());
        }
        self.ends.entry(edge).or_default()
    }
}

/// Splits edges into those that can be kept together and those that would close a cycle.
fn without_circles<'a>(
    there: &HashMap<&TaskId, &Task>,
    stated: &StatedEdges,
    possible: Vec<&'a Edge>,
) -> (Vec<&'a Edge>, Vec<&'a Edge>) {
    let mut blockers: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for (id, task) in there {
        let settled = task.blocked_by.iter().filter(|on| there.contains_key(on));
        let settled = settled.filter(|on| !stated.ends.contains_key(&Edge::new((*id).clone(), (*on).clone())));
        blockers.insert((*id).clone(), settled.cloned().collect());
    }
    for edge in &possible {
        blockers.entry(edge.task.clone()).or_default().push(edge.on.clone());
    }
    let tangled = tangled(&blockers);
    let (suspects, mut accepted): (Vec<&Edge>, Vec<&Edge>) =
        possible.into_iter().partition(|edge| tangled.contains(&edge.task) && tangled.contains(&edge.on));
    for edge in &suspects {
        if let Some(blockers) = blockers.get_mut(&edge.task) {
            blockers.retain(|on| *on != edge.on);
        }
    }
    let mut circular = Vec::new();
    for edge in suspects {
        let look = |id: &TaskId| Ok::<_, Infallible>(blockers.get(id).cloned().unwrap_or_default());
        let Ok(circle) = find_cycle(std::slice::from_ref(edge), look);
        if circle.is_some() {
            circular.push(edge);
        } else {
            blockers.entry(edge.task.clone()).or_default().push(edge.on.clone());
            accepted.push(edge);
        }
    }
    (accepted, circular)
}

struct Changes<'a> {
    there: HashMap<&'a TaskId, &'a Task>,
    changed: HashMap<TaskId, Task>,
}

impl Changes<'_> {
    fn add(&mut self, edge: &Edge, ends: &Ends) {
        if !ends.waiting {
            self.change(&edge.task, |task| task.blocked_by.push(edge.on.clone()));
        }
        if !ends.blocking {
            self.change(&edge.on, |task| task.blocks.push(edge.task.clone()));
        }
    }

    fn remove(&mut self, edge: &Edge, ends: &Ends) {
        if ends.waiting {
            self.change(&edge.task, |task| task.blocked_by.retain(|id| *id != edge.on));
        }
        if ends.blocking {
            self.change(&edge.on, |task| task.blocks.retain(|id| *id != edge.task));
        }
    }

    fn change(&mut self, id: &TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.there.get(id) {
            change(self.changed.entry(id.clone()).or_insert_with(|| (*task).clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reconnected, reconnect, reconnect_remembering};
    use crate::rules::graph::dependencies::Edge;
    use crate::rules::samples::{id, task};
    use crate::{ClientVersion, Rules, Task};

    fn edge(task: u64, on: u64) -> Edge {
        Edge::new(id(task), id(on))
    }

    #[test]
    fn an_edge_in_order_needs_no_change() {
        let done = reconnect(&[task(1, &[], &[2])], &[task(2, &[1], &[])], Rules::Strict);
        assert_eq!(done, Reconnected::default());
    }

    #[test]
    fn the_end_that_forgot_is_told_again() {
        let done = reconnect(&[task(1, &[], &[]), task(3, &[2], &[])], &[task(2, &[1], &[])], Rules::Strict);
        assert_eq!(done.changed, [task(1, &[], &[2]), task(2, &[1], &[3])]);
        assert!(done.dropped.is_empty());
    }

    #[test]
    fn an_edge_that_neither_end_has_any_more_is_told_to_both() {
        let remembered = [edge(3, 2), edge(9, 2)];
        let present = [task(1, &[], &[]), task(3, &[], &[])];
        let done = reconnect_remembering(&present, &[task(2, &[], &[])], &remembered, Rules::Strict);
        assert_eq!(done.changed, [task(2, &[], &[3]), task(3, &[2], &[])]);
        assert!(done.dropped.is_empty());
    }

    #[test]
    fn an_edge_to_no_task_is_dropped_and_told() {
        let done = reconnect(&[], &[task(2, &[1], &[3])], Rules::Strict);
        assert_eq!(done.changed, [task(2, &[], &[])]);
        assert_eq!(done.dropped, [edge(2, 1), edge(3, 2)]);
    }

    #[test]
    fn an_edge_that_would_close_a_circle_is_dropped_at_both_ends() {
        let present = [task(1, &[], &[2, 3]), task(3, &[1], &[])];
        let done = reconnect(&present, &[task(2, &[1, 3], &[1])], Rules::Strict);
        assert_eq!(done.dropped, [edge(1, 2)]);
        assert_eq!(done.changed, [task(2, &[1, 3], &[]), task(3, &[1], &[2])]);
    }

    #[test]
    fn the_clients_rules_keep_circles() {
        let client = Rules::Client(ClientVersion::V2_1_325);
        let done = reconnect(&[task(1, &[2], &[2])], &[task(2, &[1, 2], &[1, 2])], client);
        assert_eq!(done, Reconnected::default());
    }

    #[test]
    fn a_task_that_waits_for_itself_comes_back_without_that_edge() {
        let done = reconnect(&[], &[task(2, &[2], &[2])], Rules::Strict);
        assert_eq!(done.changed, [task(2, &[], &[])]);
        assert_eq!(done.dropped, [edge(2, 2)]);
    }

    #[test]
    fn a_circle_among_those_present_is_left_alone() {
        let present = [task(1, &[3], &[3]), task(3, &[1], &[1])];
        let done = reconnect(&present, &[task(2, &[1], &[])], Rules::Strict);
        assert_eq!(done.dropped, []);
        assert_eq!(done.changed, [task(1, &[3], &[3, 2])]);
    }

    #[test]
    fn a_long_chain_comes_back_whole() {
        let arrivals: Vec<Task> = (1..=20_000).map(|number| task(number, &[number - 1], &[number + 1])).collect();
        let done = reconnect(&[], &arrivals, Rules::Strict);
        assert_eq!(done.dropped, [edge(1, 0), edge(20_001, 20_000)]);
    }
}
