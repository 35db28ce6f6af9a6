//! What a completed task sets free, and what it leaves open.

use std::collections::{HashMap, HashSet};

use taskyard_core::rules::graph::dependencies::is_freed;
use taskyard_core::rules::graph::parts::{Lineage, ancestors};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Rules, Status, Task, TaskId};

use super::halt::Halt;
use super::workbench::{Ties, Workbench};
use crate::store::StoreError;

/// Returns the tasks that wait for a task. The client believes the task alone; an edge may be written on the other side only.
pub(super) fn dependents(bench: &mut Workbench<'_>, task: &Task, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
    match rules {
        Rules::Strict => Ok(bench.ties(&task.id)?.waiting),
        Rules::Client(_) => Ok(task.blocks.clone()),
    }
}

pub(super) fn freed_as_the_client(
    bench: &mut Workbench<'_>,
    completed: &Task,
    rules: Rules,
) -> Result<Vec<TaskId>, StoreError> {
    let mut freed = Vec::new();
    for id in dependents(bench, completed, rules)? {
        let Some(dependent) = bench.find(&id)?.cloned() else { continue };
        if is_freed(&dependent, &completed.id, &bench.open_blockers(&dependent, rules)?) {
            freed.push(id);
        }
    }
    Ok(freed)
}

/// Returns the tasks that can start now because one was completed: what waited for it, the parts of that, and what it was the last
/// open part of. What the completed one waited for holds up its own parts no longer.
pub(super) fn freed(
    bench: &mut Workbench<'_>,
    completed: &Task,
    waited_for: &[TaskId],
) -> Result<Vec<TaskId>, StoreError> {
    let ties = bench.ties(&completed.id)?;
    let above: Vec<Task> = ancestors(completed, |id| bench.named(id))?;
    let lines_above: HashSet<&TaskId> = above.iter().map(|task| &task.id).collect();
    let mut held_up_parts: Vec<&TaskId> = Vec::new();
    for waiting in &ties.waiting {
        let is_open = bench.find(waiting)?.is_some_and(|task| task.status.is_open());
        // A task that waits for its own part never held up the others.
        if is_open && !lines_above.contains(waiting) {
            held_up_parts.push(waiting);
        }
    }
    if !waited_for.is_empty() {
        held_up_parts.push(&completed.id);
    }
    let mut candidates = ties.all_below(held_up_parts);
    candidates.remove(&completed.id);
    candidates.extend(ties.waiting.iter().cloned());
    candidates.extend(above.first().map(|parent| parent.id.clone()));
    let mut lines = Lines::default();
    let mut freed = Vec::new();
    for id in candidates {
        let Some(task) = bench.find(&id)?.cloned() else { continue };
        if task.status == Status::Pending
            && !task.is_internal()
            && bench.own_open_blockers(&task)?.is_empty()
            && !lines.is_held_up(bench, &id)?
            && lines.open_parts(bench, &ties, &id)?.is_empty()
        {
            freed.push(id);
        }
    }
    Ok(freed)
}

/// Refuses to complete a task that has open parts.
pub(super) fn refuse_open_parts(bench: &mut Workbench<'_>, task: &TaskId) -> Result<(), Halt> {
    let ties = bench.ties(task)?;
    let parts = Lines::default().open_parts(bench, &ties, task)?;
    if parts.is_empty() { Ok(()) } else { Err(Refusal::OpenParts { task: task.clone(), parts }.into()) }
}

/// What tasks are parts of and are held up by through that, worked out once for each task however many are asked about.
#[derive(Default)]
struct Lines {
    lineage: Lineage<TaskId>,
    /// Whether those that a task is a part of wait for an open task that is no part of them.
    held_up: HashMap<TaskId, bool>,
}

impl Lines {
    /// Returns the open parts of a task.
    fn open_parts(&mut self, bench: &mut Workbench<'_>, ties: &Ties, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
        let mut open = Vec::new();
        for id in ties.parts_of(task) {
            if bench.find(id)?.is_none_or(|part| !part.status.is_open() || part.is_internal()) {
                continue;
            }
            // Tasks that are parts of each other are parts of no task.
            self.see(bench, id)?;
            if self.lineage.parent(id).is_some() {
                open.push(id.clone());
            }
        }
        Ok(open)
    }

    /// Tells whether a task is held up through those that it is a part of.
    fn is_held_up(&mut self, bench: &mut Workbench<'_>, task: &TaskId) -> Result<bool, StoreError> {
        self.see(bench, task)?;
        let (mut way, mut at) = (Vec::new(), task.clone());
        while !self.held_up.contains_key(&at) {
            match self.lineage.parent(&at).cloned() {
                Some(parent) => way.push((std::mem::replace(&mut at, parent.clone()), parent)),
                None => drop(self.held_up.insert(at.clone(), false)),
            }
        }
        for (task, parent) in way.into_iter().rev() {
            let is_held_up = self.held_up[&parent] || self.holds_up_its_parts(bench, &parent)?;
            self.held_up.insert(task, is_held_up);
        }
        Ok(self.held_up[task])
    }

    fn holds_up_its_parts(&mut self, bench: &mut Workbench<'_>, task: &TaskId) -> Result<bool, StoreError> {
        let Some(open) = bench.find(task)?.filter(|task| task.status.is_open()).cloned() else { return Ok(false) };
        for blocker in bench.own_open_blockers(&open)? {
            self.see(bench, &blocker)?;
            if !self.lineage.is_below(&blocker, task) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn see(&mut self, bench: &mut Workbench<'_>, task: &TaskId) -> Result<(), StoreError> {
        self.lineage.see(task, |at| {
            let Some(parent) = bench.find(at)?.and_then(Task::parent) else { return Ok(None) };
            Ok(bench.find(&parent)?.is_some().then_some(parent))
        })
    }
}
