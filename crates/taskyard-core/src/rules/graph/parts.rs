//! What it means to be a part of another task: a task with open parts is no work, and its parts wait for what it waits for.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::deferring::deferred_above;
pub use super::part_tree::Lineage;
use super::part_tree::Tree;
use super::positions::Positions;
use crate::dialect::macf::{set_parent, with_marks};
use crate::{Rules, Task, TaskId, Timestamp};

/// What parts mean for the open tasks of a list, worked out once for all of them.
#[derive(Debug)]
pub(crate) struct OpenParts {
    /// For each task, its open parts. Internal ones are no agent's work.
    parts: Vec<Vec<TaskId>>,
    /// For each task, the open tasks that those wait for which it is a part of.
    blockers: Vec<Vec<TaskId>>,
    /// For each task, the last moment to which open tasks are deferred that it is a part of.
    deferred: Vec<Option<Timestamp>>,
}

impl OpenParts {
    /// Looks at a list, given the positions of its open tasks; none where no task is a part of another.
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

    /// Returns the open parts of the task at this position.
    pub(crate) fn parts(&self, position: usize) -> &[TaskId] {
        &self.parts[position]
    }

    /// Returns the open tasks that those wait for which the task at this position is a part of.
    pub(crate) fn blockers(&self, position: usize) -> &[TaskId] {
        &self.blockers[position]
    }

    /// Returns the last moment to which those are deferred which the task at this position is a part of.
    pub(crate) fn deferred(&self, position: usize) -> Option<Timestamp> {
        self.deferred[position]
    }
}

/// Returns, for each task, what holds up those that it is a part of. A task that waits for its own parts holds up none of them.
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

/// Returns the open parts of a task, given all tasks of the list. Internal ones are no agent's work.
pub fn open_parts(parent: &TaskId, tasks: &[Task]) -> Vec<TaskId> {
    let Some(tree) = Tree::of(tasks) else { return Vec::new() };
    let is_wanted = |(position, task): &(usize, &Task)| {
        task.status.is_open()
            && !task.is_internal()
            && tree.above(*position).is_some_and(|above| tasks[above].id == *parent)
    };
    tasks.iter().enumerate().filter(is_wanted).map(|(_, task)| task.id.clone()).collect()
}

/// How far the parts of a task are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many of them are closed.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.done, self.total)
    }
}

/// Returns how far the parts of each task are that has some, internal ones left out. The client knows no parts.
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

/// Returns tasks with every open part of theirs and of those, each once, given all tasks of the list.
pub fn with_open_parts(ids: &[TaskId], tasks: &[Task]) -> Vec<TaskId> {
    with_parts(ids, tasks, |task| task.status.is_open() && !task.is_internal())
}

/// Returns tasks with every part of theirs and of those, each once, given all tasks of the list.
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

/// Returns a task as it is when the one it is a part of has gone: a part of whatever that was a part of. None where that has not
/// gone. `gone` tells of what each task that has gone was a part.
pub fn lifted(task: &Task, gone: &HashMap<TaskId, Option<TaskId>>) -> Option<Task> {
    let mut parent = task.parent().filter(|parent| gone.contains_key(parent));
    parent.as_ref()?;
    // Foreign files may hold parts of each other: as many steps as there are tasks lead out of any tree.
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

/// What stands under the id of a task that another names.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    /// A task.
    Task(Box<Task>),
    /// None.
    Absent {
        /// Whether tasks that wait for it are held up all the same, as some dialects have it.
        holds_up: bool,
    },
}

impl Named {
    /// Tells whether tasks that wait for it are held up.
    pub fn holds_up(&self) -> bool {
        match self {
            Self::Task(task) => task.status.is_open(),
            Self::Absent { holds_up } => *holds_up,
        }
    }
}

/// Returns the tasks that a task is a part of, the nearest first, asking for no others.
pub fn ancestors<E>(task: &Task, mut find: impl FnMut(&TaskId) -> Result<Named, E>) -> Result<Vec<Task>, E> {
    let mut above: Vec<Task> = Vec::new();
    let mut seen: HashMap<TaskId, usize> = HashMap::from([(task.id.clone(), 0)]);
    let mut next = task.parent();
    while let Some(id) = next {
        if let Some(met) = seen.get(&id) {
            // From the task that was met on, they are parts of each other.
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

/// Returns the tasks that hold a task up because those wait for them which it is a part of.
///
/// A task that waits for its own parts does not hold them up.
pub fn blockers_above<E>(task: &Task, mut find: impl FnMut(&TaskId) -> Result<Named, E>) -> Result<Vec<TaskId>, E> {
    let mut blockers: Vec<TaskId> = Vec::new();
    if !task.status.is_open() || task.parent().is_none() {
        return Ok(blockers);
    }
    let mut lineage = Lineage::default();
    // Whether each task that was named may still hold the task up.
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

/// Returns the task that a task is a part of, if both are there.
fn parent_of<E>(id: &TaskId, find: &mut impl FnMut(&TaskId) -> Result<Named, E>) -> Result<Option<TaskId>, E> {
    let Named::Task(task) = find(id)? else { return Ok(None) };
    let Some(parent) = task.parent() else { return Ok(None) };
    Ok(matches!(find(&parent)?, Named::Task(_)).then_some(parent))
}

/// Returns the task through which a task is held up by others: the one it is a part of, where it does not wait for all of them itself.
pub(crate) fn held_up_through(task: &Task, blockers: &[TaskId]) -> Option<TaskId> {
    task.parent().filter(|_| blockers.iter().any(|id| !task.blocked_by.contains(id)))
}

/// Adds the tasks that hold a task up through those it is a part of to the ones it waits for itself.
pub fn with_those_above(mut blockers: Vec<TaskId>, above: Vec<TaskId>) -> Vec<TaskId> {
    for id in above {
        if !blockers.contains(&id) {
            blockers.push(id);
        }
    }
    blockers
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::{Named, blockers_above, held_up_through};
    use crate::rules::graph::open_tasks::OpenTasks;
    use crate::rules::samples::{id, task};
    use crate::{ClientVersion, Rules, Status, Task, TaskId};

    fn part(number: u64, parent: u64, blocked_by: &[u64]) -> Task {
        let metadata = json!({ "parent": parent.to_string() }).as_object().cloned();
        Task { metadata, ..task(number, blocked_by, &[]) }
    }

    /// Returns what holds each task up, by both ways to find that out, which agree.
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
