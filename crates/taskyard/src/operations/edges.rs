//! Staging edges between tasks.

use taskyard_core::rules::graph::dependencies::Edge;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Task, TaskId};

use super::halt::Halt;
use super::workbench::Workbench;
use crate::Yard;
use crate::store::{FileLayout, StoreError, Txn};

impl Yard {
    /// Tells whether its lists are such as the client has, in its own files or elsewhere. What the client does is recorded for those alone.
    fn is_on_clients_lists(&self) -> bool {
        self.store().care().is_none_or(|care| care.layout() == FileLayout::Numbered)
    }
}

/// Adds edges at both ends. They are judged together, with the tasks that became parts of others: nothing leads to itself, to no
/// task, or into a circle.
pub(super) fn connect_strictly(bench: &mut Workbench<'_>, edges: &[Edge], parts: &[TaskId]) -> Result<(), Halt> {
    let new = attach(bench, edges, parts)?;
    if bench.may_close_circle(&new, parts) { refuse_circles(bench, &new, parts) } else { Ok(()) }
}

/// Adds edges at both ends, and returns those that are new. Nothing leads to itself or to no task; the caller looks for circles, once for
/// all that is attached.
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

/// Refuses that a task is a part of itself, or of one that is not there.
pub(super) fn refuse_bad_parent(bench: &mut Workbench<'_>, part: &TaskId) -> Result<(), Halt> {
    let Some(parent) = bench.find(part)?.and_then(Task::parent) else { return Ok(()) };
    if parent == *part {
        return Err(Refusal::PartOfItself { task: parent }.into());
    }
    bench.demand(&parent, || Refusal::NoSuchParent { task: parent.clone() })?;
    Ok(())
}

/// Refuses edges and parts, which are on the bench or staged already, that close a circle.
pub(super) fn refuse_circles(bench: &mut Workbench<'_>, edges: &[Edge], parts: &[TaskId]) -> Result<(), Halt> {
    if edges.is_empty() && parts.is_empty() {
        return Ok(());
    }
    match bench.find_circle(edges, parts)? {
        Some(path) => Err(Refusal::Cycle { path }.into()),
        None => Ok(()),
    }
}

/// Refuses tasks that come back, and are staged already, where their edges or that they are parts close a circle.
pub(super) fn refuse_circles_through(txn: &mut dyn Txn, arrivals: &[Task]) -> Result<(), Halt> {
    let edges: Vec<Edge> = arrivals
        .iter()
        .flat_map(|task| waiting_for(&task.id, &task.blocked_by).chain(blocking(&task.id, &task.blocks)))
        .collect();
    let is_part = |task: &&Task| task.parent().is_some();
    let parts: Vec<TaskId> = arrivals.iter().filter(is_part).map(|task| task.id.clone()).collect();
    refuse_circles(&mut Workbench::on(txn), &edges, &parts)
}

/// Adds an edge at each end that is there and does not know of it.
pub(super) fn connect(bench: &mut Workbench<'_>, edge: &Edge) -> Result<(), StoreError> {
    bench.change(&edge.task, |task| add(&mut task.blocked_by, &edge.on))?;
    bench.change(&edge.on, |task| add(&mut task.blocks, &edge.task))
}

/// Takes an edge away at each end that is there and knows of it.
pub(super) fn disconnect(bench: &mut Workbench<'_>, edge: &Edge) -> Result<(), StoreError> {
    bench.change(&edge.task, |task| task.blocked_by.retain(|id| *id != edge.on))?;
    bench.change(&edge.on, |task| task.blocks.retain(|id| *id != edge.task))
}

/// Adds an edge as the client does: the blocker's file first, each file only where it changes. Edges to itself and circles pass. If one of
/// the tasks is not there, nothing is added; a list that no client has is refused it.
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
        // Read again: where a task waits for itself, the first write is already in it.
        if let Some(mut after) = txn.find(&edge.task)?.task() {
            after.blocked_by.push(edge.on.clone());
            txn.put(after)?;
        }
    }
    Ok(())
}

/// Takes an edge away in the client's rules, each end its own write. The client itself has no tool for this.
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

/// Returns the edges by which this task waits for those.
pub(super) fn waiting_for<'a>(task: &'a TaskId, on: &'a [TaskId]) -> impl Iterator<Item = Edge> + 'a {
    on.iter().map(|on| Edge::new(task.clone(), on.clone()))
}

/// Returns the edges by which those tasks wait for this one.
pub(super) fn blocking<'a>(task: &'a TaskId, waiting: &'a [TaskId]) -> impl Iterator<Item = Edge> + 'a {
    waiting.iter().map(|waiting| Edge::new(waiting.clone(), task.clone()))
}

fn add(ids: &mut Vec<TaskId>, id: &TaskId) {
    if !ids.contains(id) {
        ids.push(id.clone());
    }
}
