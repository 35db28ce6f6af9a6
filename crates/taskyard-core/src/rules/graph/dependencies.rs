//! Dependencies between tasks: new cycles, open blockers, and which tasks a completion unblocks.

use std::collections::{HashMap, HashSet, VecDeque};

use super::parts::OpenParts;
use crate::rules::graph::parts::Positions;
use crate::{Rules, Status, Task, TaskId, Timestamp};

/// A dependency of one task on another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The task that waits.
    pub task: TaskId,
    /// Its blocker.
    pub on: TaskId,
}

impl Edge {
    /// Returns the edge by which `task` waits for `on`.
    pub fn new(task: TaskId, on: TaskId) -> Self {
        Self { task, on }
    }
}

/// Returns a cycle that the new edges would close. Each task waits for the next, and the first is repeated at the end.
///
/// The new edges are judged together with the existing ones: `blockers_of` returns the current blockers of a task. It
/// is called once for each task reachable from a new edge, and for no others. Existing cycles without a new edge are
/// ignored.
pub fn find_cycle<E>(
    new: &[Edge],
    blockers_of: impl FnMut(&TaskId) -> Result<Vec<TaskId>, E>,
) -> Result<Option<Vec<TaskId>>, E> {
    let mut search = Search { added: added_blockers(new), blockers_of, known: HashMap::new() };
    // The edges of one change nearly always share an end, so one or two searches judge all of them.
    let by_task = grouped(new.iter(), |edge| &edge.task);
    let (shared, single): (Vec<_>, Vec<_>) = by_task.into_iter().partition(|(_, edges)| edges.len() > 1);
    for (task, edges) in shared {
        let starts = edges.iter().map(|edge| edge.on.clone()).collect();
        if let Some(circle) = search.circle(starts, &HashSet::from([task]))? {
            return Ok(Some(circle));
        }
    }
    for (on, edges) in grouped(single.into_iter().flat_map(|(_, edges)| edges), |edge| &edge.on) {
        let targets = edges.iter().map(|edge| &edge.task).collect();
        if let Some(circle) = search.circle(vec![on.clone()], &targets)? {
            return Ok(Some(circle));
        }
    }
    Ok(None)
}

/// Returns whether completing `completed` has made this dependent ready: it waited for that task and has no other open
/// blockers.
pub fn is_freed(dependent: &Task, completed: &TaskId, open_blockers: &[TaskId]) -> bool {
    dependent.status == Status::Pending
        && !dependent.is_internal()
        && dependent.blocked_by.contains(completed)
        && open_blockers.is_empty()
}

/// Returns the tasks that are in a cycle or wait for one. Repeatedly removes the tasks that have no blockers; the rest
/// is the result.
pub(crate) fn tangled(blockers: &HashMap<TaskId, Vec<TaskId>>) -> HashSet<TaskId> {
    let mut open: HashMap<&TaskId, usize> = blockers.iter().map(|(id, on)| (id, on.len())).collect();
    let mut behind: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
    for (id, on) in blockers {
        for blocker in on {
            behind.entry(blocker).or_default().push(id);
        }
    }
    let mut free: Vec<&TaskId> = open.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        open.remove(id);
        for waiting in behind.get(id).into_iter().flatten() {
            if let Some(count) = open.get_mut(waiting) {
                *count -= 1;
                if *count == 0 {
                    free.push(waiting);
                }
            }
        }
    }
    open.into_keys().cloned().collect()
}

struct Search<'a, F> {
    added: HashMap<&'a TaskId, Vec<&'a TaskId>>,
    blockers_of: F,
    known: HashMap<TaskId, Vec<TaskId>>,
}

impl<E, F: FnMut(&TaskId) -> Result<Vec<TaskId>, E>> Search<'_, F> {
    /// Searches breadth-first from the starts along blockers. If it reaches a target, returns the shortest path to it,
    /// preceded by the target, because the targets wait for the starts.
    fn circle(&mut self, starts: Vec<TaskId>, targets: &HashSet<&TaskId>) -> Result<Option<Vec<TaskId>>, E> {
        let mut came_from: HashMap<TaskId, Option<TaskId>> = starts.iter().map(|id| (id.clone(), None)).collect();
        let mut waiting = VecDeque::from(starts);
        while let Some(id) = waiting.pop_front() {
            if targets.contains(&id) {
                return Ok(Some(way_back(id, &came_from)));
            }
            for next in self.blockers(&id)? {
                if !came_from.contains_key(&next) {
                    came_from.insert(next.clone(), Some(id.clone()));
                    waiting.push_back(next);
                }
            }
        }
        Ok(None)
    }

    fn blockers(&mut self, id: &TaskId) -> Result<Vec<TaskId>, E> {
        if let Some(known) = self.known.get(id) {
            return Ok(known.clone());
        }
        let mut blockers = (self.blockers_of)(id)?;
        blockers.extend(self.added.get(id).into_iter().flatten().map(|on| (*on).clone()));
        self.known.insert(id.clone(), blockers.clone());
        Ok(blockers)
    }
}

fn way_back(target: TaskId, came_from: &HashMap<TaskId, Option<TaskId>>) -> Vec<TaskId> {
    let mut circle = vec![target.clone()];
    let mut at = &target;
    while let Some(Some(before)) = came_from.get(at) {
        circle.push(before.clone());
        at = before;
    }
    circle.push(target);
    circle.reverse();
    circle
}

fn added_blockers(new: &[Edge]) -> HashMap<&TaskId, Vec<&TaskId>> {
    let mut added: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
    for edge in new {
        added.entry(&edge.task).or_default().push(&edge.on);
    }
    added
}

/// Groups edges by one of their ends, in order of first appearance.
fn grouped<'a>(edges: impl Iterator<Item = &'a Edge>, end: fn(&Edge) -> &TaskId) -> Vec<(&'a TaskId, Vec<&'a Edge>)> {
    let mut places: HashMap<&TaskId, usize> = HashMap::new();
    let mut groups: Vec<(&TaskId, Vec<&Edge>)> = Vec::new();
    for edge in edges {
        let place = *places.entry(end(edge)).or_insert_with(|| {
            groups.push((end(edge), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(edge);
    }
    groups
}

/// The open tasks of a list, and which tasks they block.
#[derive(Debug)]
pub struct OpenTasks {
    positions: Positions,
    /// The effects of parts, or `None` if no task has a parent or the client's rules apply, which have no parts.
    parts: Option<OpenParts>,
    /// Whether deferral counts. Under the client's rules tasks can start at any time.
    minds_time: bool,
}

impl OpenTasks {
    /// Indexes the open tasks of a list and their parts.
    pub fn of(tasks: &[Task], rules: Rules) -> Self {
        let positions = Positions::of(tasks, |task| task.status.is_open());
        let parts = if rules.is_client() { None } else { OpenParts::of(tasks, &positions) };
        Self { positions, parts, minds_time: !rules.is_client() }
    }

    /// Returns the open blockers of a task, including those it inherits from its ancestors. A missing task is not open.
    pub fn blockers(&self, task: &Task) -> Vec<TaskId> {
        let mut blockers: Vec<TaskId> =
            task.blocked_by.iter().filter(|id| self.positions.contains(id)).cloned().collect();
        for id in self.of_parts(task, OpenParts::blockers) {
            if !blockers.contains(id) {
                blockers.push(id.clone());
            }
        }
        blockers
    }

    /// Returns whether a task has open blockers, without collecting them.
    pub(crate) fn has_blockers(&self, task: &Task) -> bool {
        task.blocked_by.iter().any(|id| self.positions.contains(id))
            || !self.of_parts(task, OpenParts::blockers).is_empty()
    }

    pub(crate) fn parts(&self, task: &Task) -> &[TaskId] {
        self.of_parts(task, OpenParts::parts)
    }

    /// Returns whether a task can start now: it is pending, not deferred, not internal, and has no owner, no open
    /// blockers and no open parts.
    pub(crate) fn can_start(&self, task: &Task, open_blockers: &[TaskId], now: Timestamp) -> bool {
        open_blockers.is_empty() && self.is_ready(task, now)
    }

    /// Returns whether a task can start now, if its open blockers are not known yet.
    pub(crate) fn is_ready(&self, task: &Task, now: Timestamp) -> bool {
        self.waits_for_time_alone(task) && self.deferred(task).is_none_or(|defer| defer <= now)
    }

    /// Returns when a task can start that waits only for its deferral to end. Returns `None` if it can start now or
    /// waits for something else.
    pub(crate) fn starts_at(&self, task: &Task, now: Timestamp) -> Option<Timestamp> {
        let later = self.deferred(task).filter(|defer| *defer > now)?;
        self.waits_for_time_alone(task).then_some(later)
    }

    fn waits_for_time_alone(&self, task: &Task) -> bool {
        task.status == Status::Pending
            && task.owner().is_none()
            && !task.is_internal()
            && !self.has_blockers(task)
            && self.parts(task).is_empty()
    }

    /// Returns the latest time to which the task or one of its ancestors is deferred.
    fn deferred(&self, task: &Task) -> Option<Timestamp> {
        if !self.minds_time {
            return None;
        }
        let parts = self.parts.as_ref();
        let above = parts.and_then(|parts| parts.deferred(self.positions.get(&task.id)?));
        task.defer().max(above)
    }

    fn of_parts(&self, task: &Task, wanted: fn(&OpenParts, usize) -> &[TaskId]) -> &[TaskId] {
        match (&self.parts, self.parts.as_ref().and_then(|_| self.positions.get(&task.id))) {
            (Some(parts), Some(position)) => wanted(parts, position),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::{Edge, find_cycle, is_freed};
    use crate::{Status, Task, TaskId};

    fn id(number: u64) -> TaskId {
        TaskId::number(number)
    }

    fn edges(pairs: &[(u64, u64)]) -> Vec<Edge> {
        pairs.iter().map(|(task, on)| Edge::new(id(*task), id(*on))).collect()
    }

    fn cycle(there: &[(u64, u64)], new: &[(u64, u64)]) -> Option<Vec<u64>> {
        let blockers = |task: &TaskId| -> Result<_, Infallible> {
            Ok(there.iter().filter(|(one, _)| id(*one) == *task).map(|(_, on)| id(*on)).collect())
        };
        let circle = find_cycle(&edges(new), blockers).unwrap();
        circle.map(|path| path.iter().filter_map(TaskId::as_number).collect())
    }

    #[test]
    fn the_circle_is_shown_each_waiting_for_the_next() {
        assert_eq!(cycle(&[(1, 3)], &[(3, 1)]), Some(vec![3, 1, 3]));
        assert_eq!(cycle(&[(1, 2), (2, 3)], &[(3, 1)]), Some(vec![3, 1, 2, 3]));
        assert_eq!(cycle(&[(1, 2)], &[(3, 1)]), None);
    }

    #[test]
    fn a_task_waiting_for_itself_is_the_shortest_circle() {
        assert_eq!(cycle(&[], &[(2, 2)]), Some(vec![2, 2]));
    }

    #[test]
    fn new_edges_are_judged_together() {
        assert_eq!(cycle(&[], &[(1, 2), (2, 1)]), Some(vec![1, 2, 1]));
        assert_eq!(cycle(&[(5, 4)], &[(1, 2), (1, 5), (4, 1)]), Some(vec![1, 5, 4, 1]));
        assert_eq!(cycle(&[(5, 4)], &[(1, 2), (1, 5), (1, 4), (7, 1), (8, 1)]), None);
    }

    #[test]
    fn a_circle_that_is_there_already_forbids_nothing_else() {
        let there = [(1, 2), (2, 1)];
        assert_eq!(cycle(&there, &[(3, 1)]), None);
        assert_eq!(cycle(&there, &[(1, 3)]), None);
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_tasks_does_not_overflow() {
        const LENGTH: u64 = 100_000;
        let next = |task: &TaskId| -> Result<_, Infallible> {
            Ok(task.as_number().filter(|number| *number < LENGTH).map(|number| id(number + 1)).into_iter().collect())
        };
        let path = find_cycle(&edges(&[(LENGTH, 1)]), next).unwrap().unwrap();
        assert_eq!(path.len() as u64, LENGTH + 1);
        assert_eq!((&path[0], &path[1]), (&id(LENGTH), &id(1)));
    }

    #[test]
    fn only_what_can_be_reached_is_asked_for_and_only_once() {
        let asked = Cell::new(0);
        let blockers = |task: &TaskId| -> Result<_, Infallible> {
            asked.set(asked.get() + 1);
            Ok(if *task == id(1) { vec![id(2), id(3)] } else { Vec::new() })
        };
        assert_eq!(find_cycle(&edges(&[(9, 1), (9, 2), (8, 9)]), blockers).unwrap(), None);
        assert_eq!(asked.get(), 4);
    }

    #[test]
    fn a_task_is_freed_by_its_last_open_blocker_only() {
        let mut task = Task::new(id(9), "x");
        task.blocked_by = vec![id(1), id(2)];
        assert!(is_freed(&task, &id(1), &[]));
        assert!(!is_freed(&task, &id(3), &[]));
        assert!(!is_freed(&task, &id(1), &[id(2)]));
        task.status = Status::InProgress;
        assert!(!is_freed(&task, &id(1), &[]));
    }
}
