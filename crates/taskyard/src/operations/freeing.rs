//! What a completed task sets free, and what it leaves open.

use std::collections::BTreeSet;

use taskyard_core::rules::graph::dependencies::is_freed;
use taskyard_core::rules::graph::parts::ancestors;
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
    let mut candidates: BTreeSet<TaskId> = ties.waiting.iter().cloned().collect();
    for waiting in &ties.waiting {
        let is_open = bench.find(waiting)?.is_some_and(|task| task.status.is_open());
        // A task that waits for its own part never held up the others.
        if is_open && above.iter().all(|task| task.id != *waiting) {
            candidates.extend(ties.all_below(waiting));
        }
    }
    if !waited_for.is_empty() {
        candidates.extend(ties.all_below(&completed.id));
    }
    candidates.extend(above.first().map(|parent| parent.id.clone()));
    let mut freed = Vec::new();
    for id in candidates {
        let Some(task) = bench.find(&id)?.cloned() else { continue };
        if task.status == Status::Pending
            && !task.is_internal()
            && bench.open_blockers(&task, Rules::Strict)?.is_empty()
            && open_parts(bench, &ties, &id)?.is_empty()
        {
            freed.push(id);
        }
    }
    Ok(freed)
}

/// Refuses to complete a task that has open parts.
pub(super) fn refuse_open_parts(bench: &mut Workbench<'_>, task: &TaskId) -> Result<(), Halt> {
    let ties = bench.ties(task)?;
    let parts = open_parts(bench, &ties, task)?;
    if parts.is_empty() { Ok(()) } else { Err(Refusal::OpenParts { task: task.clone(), parts }.into()) }
}

/// Returns the open parts of a task.
fn open_parts(bench: &mut Workbench<'_>, ties: &Ties, task: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let mut open = Vec::new();
    for id in ties.parts_of(task) {
        let Some(part) = bench.find(id)?.filter(|part| part.status.is_open() && !part.is_internal()).cloned() else {
            continue;
        };
        // Tasks that are parts of each other are parts of no task.
        if !ancestors(&part, |id| bench.named(id))?.is_empty() {
            open.push(id.clone());
        }
    }
    Ok(open)
}
