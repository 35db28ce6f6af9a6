//! Parts of tasks: what a task inherits from its ancestors, and the tree of a list.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;

use crate::dialect::macf::{set_parent, with_marks};
use crate::{Rules, Task, TaskId, Timestamp};

/// The effects of parts on the open tasks of a list, computed once for all of them.
#[derive(Debug)]
pub(crate) struct OpenParts {
    /// The open parts of each task, without internal ones, which no agent works on.
    parts: Vec<Vec<TaskId>>,
    /// The open blockers that each task inherits from its ancestors.
    blockers: Vec<Vec<TaskId>>,
    /// The latest time to which an open ancestor of each task is deferred.
    deferred: Vec<Option<Timestamp>>,
}

impl OpenParts {
    /// Computes the effects of parts. `open` are the positions of the open tasks. Returns `None` if no task has a
    /// parent.
    pub(crate) fn of(tasks: &[Task], open: &Positions) -> Option<Self> {
        let tree = Tree::of(tasks)?;
        let mut parts = vec![Vec::new(); tasks.len()];
        for (position, task) in tasks.iter().enumerate() {
            if let Some(above) = tree.above(position)
                && task.status.is_open()
                && !task.is_internal()
            {
                parts[above].push(task.id.clone());
            }
        }
        let (blockers, deferred) = (inherited(tasks, &tree, open), deferred_above(tasks, &tree));
        Some(Self { parts, blockers, deferred })
    }

    pub(crate) fn parts(&self, position: usize) -> &[TaskId] {
        &self.parts[position]
    }

    /// Returns the open blockers that the task at `position` inherits from its ancestors.
    pub(crate) fn blockers(&self, position: usize) -> &[TaskId] {
        &self.blockers[position]
    }

    /// Returns the latest time to which an open ancestor of the task at `position` is deferred.
    pub(crate) fn deferred(&self, position: usize) -> Option<Timestamp> {
        self.deferred[position]
    }
}

/// Returns the blockers that each task inherits from its ancestors. A task that waits for its own parts does not block
/// them.
fn inherited(tasks: &[Task], tree: &Tree, open: &Positions) -> Vec<Vec<TaskId>> {
    let mut blockers: Vec<Vec<TaskId>> = vec![Vec::new(); tasks.len()];
    tree.walk_down(|position, above| {
        let mut waits_for = blockers[above].clone();
        if tasks[above].status.is_open() {
            for id in &tasks[above].blocked_by {
                let is_outside = open.get(id).is_some_and(|blocker| !tree.is_below(blocker, above));
                if is_outside && !waits_for.contains(id) {
                    waits_for.push(id.clone());
                }
            }
        }
        blockers[position] = waits_for;
    });
    blockers
}

/// Returns the open parts of a task, given all tasks of the list. Internal tasks are left out, because no agent works
/// on them.
pub fn open_parts(parent: &TaskId, tasks: &[Task]) -> Vec<TaskId> {
    let Some(tree) = Tree::of(tasks) else { return Vec::new() };
    let is_wanted = |(position, task): &(usize, &Task)| {
        task.status.is_open()
            && !task.is_internal()
            && tree.above(*position).is_some_and(|above| tasks[above].id == *parent)
    };
    tasks.iter().enumerate().filter(is_wanted).map(|(_, task)| task.id.clone()).collect()
}

/// How many parts of a task are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of closed parts.
    pub done: usize,
    /// Number of all parts.
    pub total: usize,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.done, self.total)
    }
}

/// Returns the progress of each task that has parts, without internal parts. Empty under the client's rules, which have
/// no parts.
pub(crate) fn progress(tasks: &[Task], rules: Rules) -> HashMap<TaskId, Progress> {
    let mut all: HashMap<TaskId, Progress> = HashMap::new();
    let Some(tree) = Tree::of(tasks).filter(|_| !rules.is_client()) else { return all };
    for (position, task) in tasks.iter().enumerate().filter(|(_, task)| !task.is_internal()) {
        if let Some(above) = tree.above(position) {
            let progress = all.entry(tasks[above].id.clone()).or_default();
            progress.total += 1;
            progress.done += usize::from(!task.status.is_open());
        }
    }
    all
}

/// Returns the tasks together with all of their direct and indirect parts that are open, without duplicates. `tasks` is
/// the whole list.
pub fn with_open_parts(ids: &[TaskId], tasks: &[Task]) -> Vec<TaskId> {
    with_parts(ids, tasks, |task| task.status.is_open() && !task.is_internal())
}

/// Returns the tasks together with all of their direct and indirect parts, without duplicates. `tasks` is the whole
/// list.
pub fn with_all_parts(ids: &[TaskId], tasks: &[Task]) -> Vec<TaskId> {
    with_parts(ids, tasks, |_| true)
}

fn with_parts(ids: &[TaskId], tasks: &[Task], is_wanted: fn(&Task) -> bool) -> Vec<TaskId> {
    let mut all = ids.to_vec();
    let Some(tree) = Tree::of(tasks) else { return all };
    let named: HashSet<&TaskId> = ids.iter().collect();
    let mut is_below = vec![false; tasks.len()];
    tree.walk_down(|position, above| is_below[position] = is_below[above] || named.contains(&tasks[above].id));
    for (position, task) in tasks.iter().enumerate().filter(|(_, task)| is_wanted(task)) {
        if !named.contains(&task.id) && is_below[position] {
            all.push(task.id.clone());
        }
    }
    all
}

/// Returns the task with its nearest remaining ancestor as its parent, after its parent was removed. Returns `None` if
/// the parent was not removed. `gone` maps each removed task to its parent.
pub fn lifted(task: &Task, gone: &HashMap<TaskId, Option<TaskId>>) -> Option<Task> {
    let mut parent = task.parent().filter(|parent| gone.contains_key(parent));
    parent.as_ref()?;
    // Files written by other programs may contain cycles of parts, so the number of steps is limited to the number of
    // tasks.
    for _ in 0..=gone.len() {
        match parent.as_ref().and_then(|parent| gone.get(parent)) {
            Some(above) => parent = above.clone(),
            None => break,
        }
    }
    let parent = parent.filter(|parent| !gone.contains_key(parent) && *parent != task.id);
    let mut after = task.clone();
    set_parent(&mut after, parent.as_ref());
    if let Some(subject) = with_marks(task, &after, None) {
        after.subject = subject;
    }
    Some(after)
}

/// The result of looking up a task id that another task names.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    /// The task.
    Task(Box<Task>),
    /// There is no such task.
    Absent {
        /// Whether tasks that depend on it are blocked all the same, as in some dialects.
        holds_up: bool,
    },
}

impl Named {
    /// Returns whether tasks that depend on it are blocked.
    pub fn holds_up(&self) -> bool {
        match self {
            Self::Task(task) => task.status.is_open(),
            Self::Absent { holds_up } => *holds_up,
        }
    }
}

/// Returns the ancestors of a task, nearest first. Looks up no other tasks.
pub fn ancestors<E>(task: &Task, mut find: impl FnMut(&TaskId) -> Result<Named, E>) -> Result<Vec<Task>, E> {
    let mut above: Vec<Task> = Vec::new();
    let mut seen: HashMap<TaskId, usize> = HashMap::from([(task.id.clone(), 0)]);
    let mut next = task.parent();
    while let Some(id) = next {
        if let Some(met) = seen.get(&id) {
            // From the repeated task on, the ancestors form a cycle.
            above.truncate(*met);
            break;
        }
        let Named::Task(parent) = find(&id)? else { break };
        next = parent.parent();
        seen.insert(id, above.len() + 1);
        above.push(*parent);
    }
    Ok(above)
}

/// Returns the blockers that a task inherits from its ancestors.
///
/// A task that waits for its own parts does not block them.
pub fn blockers_above<E>(task: &Task, mut find: impl FnMut(&TaskId) -> Result<Named, E>) -> Result<Vec<TaskId>, E> {
    let mut blockers: Vec<TaskId> = Vec::new();
    if !task.status.is_open() || task.parent().is_none() {
        return Ok(blockers);
    }
    let mut lineage = Lineage::default();
    // Whether each task looked up so far may still be a blocker.
    let mut holds_up: HashMap<TaskId, bool> = HashMap::new();
    for above in ancestors(task, &mut find)?.into_iter().filter(|above| above.status.is_open()) {
        for id in &above.blocked_by {
            let may_hold_up = match holds_up.get(id) {
                Some(known) => *known,
                None => find(id)?.holds_up(),
            };
            let is_blocker = may_hold_up && {
                for line in [id, &above.id] {
                    lineage.see(line, |at| parent_of(at, &mut find))?;
                }
                !lineage.is_below(id, &above.id)
            };
            if is_blocker {
                blockers.push(id.clone());
            }
            holds_up.insert(id.clone(), may_hold_up && !is_blocker);
        }
    }
    Ok(blockers)
}

/// Returns the parent of a task if both exist.
fn parent_of<E>(id: &TaskId, find: &mut impl FnMut(&TaskId) -> Result<Named, E>) -> Result<Option<TaskId>, E> {
    let Named::Task(task) = find(id)? else { return Ok(None) };
    let Some(parent) = task.parent() else { return Ok(None) };
    Ok(matches!(find(&parent)?, Named::Task(_)).then_some(parent))
}

/// Returns the parent of a blocked task if at least one of the blockers is inherited rather than its own.
pub(crate) fn held_up_through(task: &Task, blockers: &[TaskId]) -> Option<TaskId> {
    task.parent().filter(|_| blockers.iter().any(|id| !task.blocked_by.contains(id)))
}

/// Appends inherited blockers to a task's own, without duplicates.
pub fn with_those_above(mut blockers: Vec<TaskId>, above: Vec<TaskId>) -> Vec<TaskId> {
    for id in above {
        if !blockers.contains(&id) {
            blockers.push(id);
        }
    }
    blockers
}

/// The paths from tasks up to their root tasks. Each is walked only once, however many tasks are queried.
#[derive(Clone, Debug)]
pub struct Lineage<K> {
    nodes: HashMap<K, Node<K>>,
}

/// A task in the tree.
#[derive(Clone, Debug)]
struct Node<K> {
    parent: Option<K>,
    /// Number of ancestors.
    depth: usize,
    /// An ancestor further up (a skip pointer), by which any other ancestor can be reached in few steps.
    jump: K,
}

impl<K> Default for Lineage<K> {
    fn default() -> Self {
        Self { nodes: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Lineage<K> {
    /// Learns the ancestors of a task. `parent` returns a task's parent and is called once for each task.
    pub fn see<E>(&mut self, task: &K, mut parent: impl FnMut(&K) -> Result<Option<K>, E>) -> Result<(), E> {
        let mut way: Vec<(K, Option<K>)> = Vec::new();
        let mut met: HashMap<K, usize> = HashMap::new();
        let mut next = Some(task.clone());
        while let Some(at) = next.take().filter(|at| !self.nodes.contains_key(at)) {
            if let Some(first) = met.get(&at) {
                // From the repeated task on, they form a cycle, so none of them has a parent.
                way[*first..].iter_mut().for_each(|(_, above)| *above = None);
                break;
            }
            let above = parent(&at)?;
            met.insert(at.clone(), way.len());
            way.push((at, above.clone()));
            next = above;
        }
        for (at, above) in way.into_iter().rev() {
            let node = self.node_below(&at, above);
            self.nodes.insert(at, node);
        }
        Ok(())
    }

    /// Returns the parent of a task. The task must have been learned with [`Lineage::see`].
    pub fn parent(&self, task: &K) -> Option<&K> {
        self.nodes.get(task)?.parent.as_ref()
    }

    /// Returns whether `task` is a direct or indirect part of `other`. Both must have been learned with
    /// [`Lineage::see`].
    pub fn is_below(&self, task: &K, other: &K) -> bool {
        let (Some(mut at), Some(end)) = (self.nodes.get(task), self.nodes.get(other)) else { return false };
        let mut reached = task;
        while at.depth > end.depth {
            let Some(parent) = &at.parent else { return false };
            let is_too_far = self.nodes.get(&at.jump).is_none_or(|jump| jump.depth < end.depth);
            reached = if is_too_far { parent } else { &at.jump };
            match self.nodes.get(reached) {
                Some(node) => at = node,
                None => return false,
            }
        }
        reached == other && task != other
    }

    /// Returns the node of a task whose parent's node is known. Two equally long jumps are joined, so that jump lengths
    /// double.
    fn node_below(&self, task: &K, parent: Option<K>) -> Node<K> {
        let above = parent.as_ref().and_then(|parent| Some((parent, self.nodes.get(parent)?)));
        let Some((parent, node)) = above else { return Node { parent: None, depth: 0, jump: task.clone() } };
        let depth_of = |key: &K| self.nodes.get(key).map_or(0, |node| node.depth);
        let further = self.nodes.get(&node.jump).map_or(&node.jump, |jump| &jump.jump);
        let is_equally_far = node.depth - depth_of(&node.jump) == depth_of(&node.jump) - depth_of(further);
        let jump = if is_equally_far && node.depth > 0 { further } else { parent };
        Node { parent: Some(parent.clone()), depth: node.depth + 1, jump: jump.clone() }
    }
}

/// The parent of each task of a list, by position.
#[derive(Debug)]
pub(crate) struct Tree {
    above: Vec<Option<usize>>,
    lineage: RefCell<Lineage<usize>>,
}

impl Tree {
    /// Builds the tree of a list. Returns `None` if no task has a parent.
    pub(crate) fn of(tasks: &[Task]) -> Option<Self> {
        let parents: Vec<Option<TaskId>> = tasks.iter().map(Task::parent).collect();
        if parents.iter().all(Option::is_none) {
            return None;
        }
        let positions = Positions::of(tasks, |_| true);
        let mut above: Vec<Option<usize>> = parents.iter().map(|parent| positions.get(parent.as_ref()?)).collect();
        forget_circles(&mut above);
        Some(Self { above, lineage: RefCell::default() })
    }

    /// Returns the position of the parent of the task at `position`.
    pub(crate) fn above(&self, position: usize) -> Option<usize> {
        self.above[position]
    }

    /// Calls `visit` with the position of every part and of its parent. A parent is visited before its parts.
    pub(crate) fn walk_down(&self, mut visit: impl FnMut(usize, usize)) {
        let mut is_known = vec![false; self.above.len()];
        for start in 0..self.above.len() {
            let mut way = Vec::new();
            let mut at = start;
            // An explicit stack: the tree may be too deep for recursion.
            while let Some(above) = self.above(at).filter(|_| !is_known[at]) {
                is_known[at] = true;
                way.push((at, above));
                at = above;
            }
            way.into_iter().rev().for_each(|(position, above)| visit(position, above));
        }
    }

    /// Returns whether the task at `position` is a direct or indirect part of the one at `other`.
    pub(crate) fn is_below(&self, position: usize, other: usize) -> bool {
        let mut lineage = self.lineage.borrow_mut();
        for task in [position, other] {
            let Ok(()) = lineage.see(&task, |at| Ok::<_, Infallible>(self.above[*at]));
        }
        lineage.is_below(&position, &other)
    }
}

/// Removes the parent of every task that is in a cycle.
fn forget_circles(above: &mut [Option<usize>]) {
    // The walk that visited each position, counted from one.
    let mut walked = vec![0_usize; above.len()];
    let mut in_circles = Vec::new();
    for start in 0..above.len() {
        let mut at = Some(start);
        while let Some(position) = at.filter(|position| walked[*position] == 0) {
            walked[position] = start + 1;
            at = above[position];
        }
        // A walk that meets its own path has found a cycle.
        let Some(met) = at.filter(|position| walked[*position] == start + 1) else { continue };
        let mut position = met;
        loop {
            in_circles.push(position);
            match above[position] {
                Some(next) if next != met => position = next,
                Some(_) | None => break,
            }
        }
    }
    for position in in_circles {
        above[position] = None;
    }
}

/// Maps ids to positions. Nearly every id is a number and few numbers are missing, so most lookups need no hashing.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// Positions of numbered tasks, indexed by the number minus `first`; `NOWHERE` for missing numbers.
    near: Vec<usize>,
    first: u64,
    /// The numbers outside that range, sorted.
    far: Vec<(u64, usize)>,
    names: HashMap<String, usize>,
}

const NOWHERE: usize = usize::MAX;

impl Positions {
    /// Indexes the tasks of a list for which `wanted` returns `true`.
    pub(crate) fn of(tasks: &[Task], wanted: impl Fn(&Task) -> bool) -> Self {
        let mut positions = Self::default();
        let mut numbers: Vec<(u64, usize)> = Vec::with_capacity(tasks.len());
        for (position, task) in tasks.iter().enumerate().filter(|(_, task)| wanted(task)) {
            match task.id.as_number() {
                Some(number) => numbers.push((number, position)),
                None => drop(positions.names.insert(task.id.as_str().to_owned(), position)),
            }
        }
        if !numbers.is_sorted() {
            numbers.sort_unstable();
        }
        positions.first = numbers.first().map_or(0, |(number, _)| *number);
        // Limits the size of the table to four entries per task; larger numbers go to `far`.
        let room = 4 * tasks.len() as u64;
        let is_near = |(number, _): &(u64, usize)| *number - positions.first < room;
        positions.far = numbers.split_off(numbers.partition_point(is_near));
        let length = numbers.last().map_or(0, |(number, _)| *number - positions.first + 1);
        positions.near = vec![NOWHERE; usize::try_from(length).unwrap_or(0)];
        for (number, position) in numbers {
            positions.near[(number - positions.first) as usize] = position;
        }
        positions
    }

    /// Returns the position of a task, or `None` if it is not indexed.
    pub(crate) fn get(&self, id: &TaskId) -> Option<usize> {
        let Some(number) = id.as_number() else { return self.names.get(id.as_str()).copied() };
        let near = number.checked_sub(self.first).and_then(|steps| self.near.get(usize::try_from(steps).ok()?));
        match near {
            Some(position) => Some(*position).filter(|position| *position != NOWHERE),
            None => {
                let found = self.far.binary_search_by_key(&number, |(number, _)| *number).ok()?;
                Some(self.far[found].1)
            }
        }
    }

    /// Returns whether a task is indexed.
    pub(crate) fn contains(&self, id: &TaskId) -> bool {
        self.get(id).is_some()
    }
}

/// Returns the latest time to which an open ancestor of each task is deferred.
pub(crate) fn deferred_above(tasks: &[Task], tree: &Tree) -> Vec<Option<Timestamp>> {
    let stated: Vec<Option<Timestamp>> =
        tasks.iter().map(|task| task.defer().filter(|_| task.status.is_open())).collect();
    let mut deferred = vec![None; tasks.len()];
    if stated.iter().all(Option::is_none) {
        return deferred;
    }
    tree.walk_down(|place, above| deferred[place] = stated[above].max(deferred[above]));
    deferred
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::{Named, blockers_above, held_up_through};
    use crate::rules::graph::dependencies::OpenTasks;
    use crate::rules::samples::{id, task};
    use crate::{ClientVersion, Rules, Status, Task, TaskId};

    fn part(number: u64, parent: u64, blocked_by: &[u64]) -> Task {
        let metadata = json!({ "parent": parent.to_string() }).as_object().cloned();
        Task { metadata, ..task(number, blocked_by, &[]) }
    }

    /// Returns the inherited blockers of each task, and asserts that both ways of computing them agree.
    fn held_up(tasks: &[Task]) -> Vec<Vec<TaskId>> {
        let open = OpenTasks::of(tasks, Rules::Strict);
        let find = |id: &TaskId| -> Result<Named, Infallible> {
            let found = tasks.iter().find(|task| task.id == *id).cloned();
            Ok(found.map_or(Named::Absent { holds_up: false }, |task| Named::Task(Box::new(task))))
        };
        let blockers: Vec<Vec<TaskId>> = tasks.iter().map(|task| open.blockers(task)).collect();
        for (task, blockers) in tasks.iter().zip(&blockers) {
            let Ok(above) = blockers_above(task, find);
            let mut inherited: Vec<&TaskId> = blockers.iter().filter(|id| !task.blocked_by.contains(id)).collect();
            let mut above: Vec<&TaskId> = above.iter().filter(|id| !task.blocked_by.contains(id)).collect();
            inherited.sort();
            above.sort();
            assert_eq!(inherited, above, "{task:?}");
        }
        blockers
    }

    #[test]
    fn parts_wait_for_what_their_parents_wait_for() {
        let mut tasks = [task(1, &[], &[]), task(2, &[1, 9], &[]), part(3, 2, &[]), part(4, 3, &[1])];
        assert_eq!(held_up(&tasks), [vec![], vec![id(1)], vec![id(1)], vec![id(1)]]);
        assert_eq!(held_up_through(&tasks[2], &[id(1)]), Some(id(2)));
        assert_eq!(held_up_through(&tasks[3], &[id(1)]), None);
        tasks[1].status = Status::Completed;
        assert_eq!(held_up(&tasks)[2], []);
        tasks[0].status = Status::Completed;
        assert_eq!(held_up(&tasks), [[], [], [], [] as [TaskId; 0]]);
    }

    #[test]
    fn a_task_that_waits_for_its_own_parts_does_not_hold_them_up() {
        let tasks = [task(1, &[2, 3, 4], &[]), part(2, 1, &[]), part(3, 1, &[2]), part(4, 3, &[])];
        assert_eq!(held_up(&tasks)[1..], [vec![], vec![id(2)], vec![id(2)]]);
    }

    #[test]
    fn open_parts_are_told_and_internal_ones_are_nobodys_work() {
        let mut tasks = [task(1, &[], &[]), part(2, 1, &[]), part(3, 1, &[]), part(4, 1, &[])];
        tasks[1].status = Status::Completed;
        tasks[3].metadata.as_mut().unwrap().insert("_internal".into(), json!(true));
        assert_eq!(OpenTasks::of(&tasks, Rules::Strict).parts(&tasks[0]), [id(3)]);
        let client = OpenTasks::of(&tasks, Rules::Client(ClientVersion::V2_1_325));
        assert_eq!(client.parts(&tasks[0]), []);
    }

    #[test]
    fn parts_of_each_other_are_nobodys_parts() {
        let tasks = [part(1, 2, &[]), part(2, 1, &[5]), part(3, 3, &[]), part(4, 2, &[]), task(5, &[], &[])];
        assert_eq!(held_up(&tasks), [vec![], vec![id(5)], vec![], vec![id(5)], vec![]]);
        let open = OpenTasks::of(&tasks, Rules::Strict);
        let parts: Vec<&[TaskId]> = tasks.iter().map(|task| open.parts(task)).collect();
        assert_eq!(parts, [&[][..], &[id(4)], &[], &[], &[]]);
    }

    #[test]
    fn parts_of_parts_without_end_do_not_overflow() {
        let mut tasks: Vec<Task> = (2..=50_000).map(|number| part(number, number - 1, &[])).collect();
        tasks.insert(0, task(1, &[60_000], &[]));
        tasks.push(task(60_000, &[], &[]));
        let open = OpenTasks::of(&tasks, Rules::Strict);
        assert_eq!(open.blockers(&tasks[49_999]), [id(60_000)]);
    }
}

#[cfg(test)]
mod part_tree_tests {
    use std::convert::Infallible;

    use super::Lineage;

    #[test]
    fn lines_are_known_however_they_branch_and_circle() {
        // 0 is above all but the last six. 1, 2 and 3 form a line, with 4 beside them. 6 and 7 are parts of each other,
        // 8 is below them, and 9 is a part of itself.
        let parents = [None, Some(0), Some(1), Some(2), Some(1), None, Some(7), Some(6), Some(7), Some(9), Some(5)];
        let mut lineage = Lineage::default();
        for task in [3, 4, 8, 9, 10, 0, 1, 2, 5, 6, 7_usize] {
            let Ok(()) = lineage.see(&task, |at| Ok::<_, Infallible>(parents[*at]));
        }
        let below: Vec<(usize, usize)> = (0..11)
            .flat_map(|task| (0..11).map(move |other| (task, other)))
            .filter(|(task, other)| lineage.is_below(task, other))
            .collect();
        let expected = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 0), (4, 1), (8, 7), (10, 5)];
        assert_eq!(below, expected);
        assert_eq!([6, 7, 8, 9].map(|task| lineage.parent(&task).copied()), [None, None, Some(7), None]);
    }

    #[test]
    fn each_parent_is_asked_for_once_and_long_lines_are_short_ways() {
        let (mut lineage, mut asked) = (Lineage::default(), 0);
        for task in 0..20_000_usize {
            let parent = |at: &usize| {
                asked += 1;
                Ok::<_, Infallible>(at.checked_sub(1))
            };
            let Ok(()) = lineage.see(&(19_999 - task), parent);
        }
        assert_eq!(asked, 20_000);
        for other in 0..19_999 {
            assert!(lineage.is_below(&19_999, &other) && !lineage.is_below(&other, &19_999));
        }
    }
}

#[cfg(test)]
mod positions_tests {
    use super::Positions;
    use crate::{Task, TaskId};

    #[test]
    fn numbers_and_names_are_found_where_they_stand() {
        let list: Vec<Task> = ["7", "abc", "2", "07", "9"].map(|id| Task::new(TaskId::stored(id), "x")).to_vec();
        let positions = Positions::of(&list, |task| task.id.as_str() != "9");
        for (id, position) in
            [("7", Some(0)), ("abc", Some(1)), ("2", Some(2)), ("07", Some(3)), ("9", None), ("x", None)]
        {
            assert_eq!(positions.get(&TaskId::stored(id)), position, "{id}");
        }
    }

    #[test]
    fn numbers_far_from_the_others_take_no_room_and_are_found() {
        let numbers = [3, 4, 6, 1_000, u64::MAX];
        let list: Vec<Task> = numbers.iter().map(|number| Task::new(TaskId::number(*number), "x")).collect();
        let positions = Positions::of(&list, |_| true);
        assert!(positions.near.len() <= 20);
        for (position, number) in numbers.iter().enumerate() {
            assert_eq!(positions.get(&TaskId::number(*number)), Some(position), "{number}");
        }
        for number in [0, 2, 5, 7, 999, 1_001, u64::MAX - 1] {
            assert_eq!(positions.get(&TaskId::number(number)), None, "{number}");
        }
    }
}
