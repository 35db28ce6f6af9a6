//! Adds and removes dependencies; also the graph of all edges.

use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Task, TaskId};

use super::{Update, Updated};
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::Workbench;
use crate::store::{FileLayout, StoreError, Txn};
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Makes a task depend on others.
    pub fn depend(&self, id: &TaskId, on: &[TaskId]) -> Result<Outcome<Updated>, Error> {
        self.update(id, Update { add_blocked_by: on.to_vec(), ..Update::default() })
    }

    /// Removes dependencies of a task on others.
    pub fn undepend(&self, id: &TaskId, on: &[TaskId]) -> Result<Outcome<Updated>, Error> {
        self.update(id, Update { remove_blocked_by: on.to_vec(), ..Update::default() })
    }
}

impl Yard {
    /// Returns whether the store's lists have the client's layout. What the client does is known for those only.
    fn is_on_clients_lists(&self) -> bool {
        self.store().care().is_none_or(|care| care.layout() == FileLayout::Numbered)
    }
}

/// Adds edges at both ends. They are judged together with the tasks that became parts of others: an edge to itself, to
/// a missing task or into a cycle is refused.
pub(super) fn connect_strictly(bench: &mut Workbench<'_>, edges: &[Edge], parts: &[TaskId]) -> Result<(), Halt> {
    let new = attach(bench, edges, parts)?;
    if bench.may_close_circle(&new, parts) { refuse_circles(bench, &new, parts) } else { Ok(()) }
}

/// Adds edges at both ends, and returns the new ones. Refuses edges to itself or to a missing task; the caller checks
/// for cycles, once for everything that is attached.
pub(super) fn attach(bench: &mut Workbench<'_>, edges: &[Edge], parts: &[TaskId]) -> Result<Vec<Edge>, Halt> {
    let mut new = Vec::new();
    for edge in edges {
        if edge.task == edge.on {
            return Err(Refusal::EdgeToItself { task: edge.task.clone() }.into());
        }
        bench.demand(&edge.on, || Refusal::NoSuchBlocker { task: edge.on.clone() })?;
        let task = bench.demand(&edge.task, || Refusal::NoSuchTask { task: edge.task.clone() })?;
        if !task.blocked_by.contains(&edge.on) {
            new.push(edge.clone());
        }
    }
    for part in parts {
        refuse_bad_parent(bench, part)?;
    }
    for edge in edges {
        connect(bench, edge)?;
    }
    Ok(new)
}

/// Refuses a task that is a part of itself or of a missing task.
pub(super) fn refuse_bad_parent(bench: &mut Workbench<'_>, part: &TaskId) -> Result<(), Halt> {
    let Some(parent) = bench.find(part)?.and_then(Task::parent) else { return Ok(()) };
    if parent == *part {
        return Err(Refusal::PartOfItself { task: parent }.into());
    }
    bench.demand(&parent, || Refusal::NoSuchParent { task: parent.clone() })?;
    Ok(())
}

/// Refuses edges and parts, already applied or staged, that close a cycle.
pub(super) fn refuse_circles(bench: &mut Workbench<'_>, edges: &[Edge], parts: &[TaskId]) -> Result<(), Halt> {
    if edges.is_empty() && parts.is_empty() {
        return Ok(());
    }
    match bench.find_circle(edges, parts)? {
        Some(path) => Err(Refusal::Cycle { path }.into()),
        None => Ok(()),
    }
}

/// Refuses restored tasks, already staged, whose edges or parents close a cycle.
pub(super) fn refuse_circles_through(txn: &mut dyn Txn, arrivals: &[Task]) -> Result<(), Halt> {
    let edges: Vec<Edge> = arrivals
        .iter()
        .flat_map(|task| waiting_for(&task.id, &task.blocked_by).chain(blocking(&task.id, &task.blocks)))
        .collect();
    let is_part = |task: &&Task| task.parent().is_some();
    let parts: Vec<TaskId> = arrivals.iter().filter(is_part).map(|task| task.id.clone()).collect();
    refuse_circles(&mut Workbench::on(txn), &edges, &parts)
}

/// Adds an edge at each existing end that lacks it.
pub(super) fn connect(bench: &mut Workbench<'_>, edge: &Edge) -> Result<(), StoreError> {
    bench.change(&edge.task, |task| add(&mut task.blocked_by, &edge.on))?;
    bench.change(&edge.on, |task| add(&mut task.blocks, &edge.task))
}

/// Removes an edge at each existing end that has it.
pub(super) fn disconnect(bench: &mut Workbench<'_>, edge: &Edge) -> Result<(), StoreError> {
    bench.change(&edge.task, |task| task.blocked_by.retain(|id| *id != edge.on))?;
    bench.change(&edge.on, |task| task.blocks.retain(|id| *id != edge.task))
}

/// Adds an edge as the client does: the blocker's file first, each file only if it changes. Edges to itself and cycles
/// are allowed. If one of the tasks is missing, nothing is added; for lists without the client's layout that is a
/// refusal.
pub(super) fn connect_as_the_client(yard: &Yard, txn: &mut dyn Txn, edge: &Edge) -> Result<(), Halt> {
    let (blocker, blocked) = match (txn.find(&edge.on)?.task(), txn.find(&edge.task)?.task()) {
        (Some(blocker), Some(blocked)) => (blocker, blocked),
        _ if yard.is_on_clients_lists() => return Ok(()),
        (None, _) => return Err(Refusal::NoSuchBlocker { task: edge.on.clone() }.into()),
        (Some(_), None) => return Err(Refusal::NoSuchTask { task: edge.task.clone() }.into()),
    };
    if !blocker.blocks.contains(&edge.task) {
        let mut after = blocker;
        after.blocks.push(edge.task.clone());
        txn.put(after)?;
    }
    if !blocked.blocked_by.contains(&edge.on) {
        // Read again: if a task depends on itself, the first write has already changed it.
        if let Some(mut after) = txn.find(&edge.task)?.task() {
            after.blocked_by.push(edge.on.clone());
            txn.put(after)?;
        }
    }
    Ok(())
}

/// Removes an edge with client rules, each end in its own write. The client itself has no tool for this.
pub(super) fn disconnect_as_the_client(txn: &mut dyn Txn, edge: &Edge) -> Result<(), StoreError> {
    if let Some(mut blocker) = txn.find(&edge.on)?.task().filter(|task| task.blocks.contains(&edge.task)) {
        blocker.blocks.retain(|id| *id != edge.task);
        txn.put(blocker)?;
    }
    if let Some(mut blocked) = txn.find(&edge.task)?.task().filter(|task| task.blocked_by.contains(&edge.on)) {
        blocked.blocked_by.retain(|id| *id != edge.on);
        txn.put(blocked)?;
    }
    Ok(())
}

/// Returns the edges by which `task` depends on others.
pub(super) fn waiting_for<'a>(task: &'a TaskId, on: &'a [TaskId]) -> impl Iterator<Item = Edge> + 'a {
    on.iter().map(|on| Edge::new(task.clone(), on.clone()))
}

/// Returns the edges by which others depend on `task`.
pub(super) fn blocking<'a>(task: &'a TaskId, waiting: &'a [TaskId]) -> impl Iterator<Item = Edge> + 'a {
    waiting.iter().map(|waiting| Edge::new(waiting.clone(), task.clone()))
}

fn add(ids: &mut Vec<TaskId>, id: &TaskId) {
    if !ids.contains(id) {
        ids.push(id.clone());
    }
}

/// The data for drawing the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The visible tasks, by number.
    pub tasks: Vec<Task>,
}

impl Yard {
    /// Returns the visible tasks of the list.
    pub fn graph(&self) -> Result<Graph, Error> {
        let mut tasks = self.look()?.tasks;
        tasks.retain(|task| !task.is_internal());
        Ok(Graph { tasks })
    }
}
