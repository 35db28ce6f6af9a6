//! Deletes tasks and the edges to them, or clears a list.

use std::collections::HashMap;

use taskyard_core::rules::graph::parts::{lifted, with_all_parts};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Revision, Rules, Task, TaskId};

use super::RefusedTask;
use crate::operations::outcome::once;
use crate::store::{Lookup, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// The result of deleting tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The deleted tasks in their last state.
    pub tasks: Vec<Task>,
    /// Those of them that were missing already. They no longer count as missing.
    pub missing: Vec<TaskId>,
    /// Parts of deleted tasks that became parts of those tasks' parents.
    pub lifted: Vec<TaskId>,
    /// The commit.
    pub revision: Revision,
}

/// What happens to the parts of deleted tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    /// They become parts of the deleted task's parent.
    Lifted,
    /// They are deleted as well.
    Removed,
}

impl Yard {
    /// Deletes tasks and every edge to them, in one commit; their parts become parts of their parents. A missing task
    /// counts as deleted on purpose from then on. With client rules a missing task does not exist, and there are no
    /// parts.
    pub fn delete(&self, ids: &[TaskId]) -> Result<Outcome<Deleted>, Error> {
        self.remove_all(ids, Parts::Lifted)
    }

    /// Deletes tasks with all their parts, in one commit.
    pub fn delete_with_parts(&self, ids: &[TaskId]) -> Result<Outcome<Deleted>, Error> {
        self.remove_all(ids, Parts::Removed)
    }

    /// Deletes those of several tasks that can be deleted, as [`Yard::delete`] does, and returns the refusals of the
    /// others.
    pub fn delete_possible(&self, ids: &[TaskId]) -> Result<(Option<Deleted>, Vec<RefusedTask>), Error> {
        self.remove_possible(ids, Parts::Lifted)
    }

    /// Deletes those of several tasks that can be deleted, with all their parts, and returns the refusals of the
    /// others.
    pub fn delete_possible_with_parts(&self, ids: &[TaskId]) -> Result<(Option<Deleted>, Vec<RefusedTask>), Error> {
        self.remove_possible(ids, Parts::Removed)
    }

    fn remove_possible(&self, named: &[TaskId], parts: Parts) -> Result<(Option<Deleted>, Vec<RefusedTask>), Error> {
        let (mut left, mut refused) = (Vec::new(), Vec::new());
        let list = self.store().read(self.list_id())?;
        for id in once(named) {
            let refusal = match list.find(&id)? {
                Lookup::Found(task, _) => self.forbidden_by_lease(&*list, &task)?,
                Lookup::Missing if self.missing_to_delete(&id)?.is_some() => None,
                Lookup::Unreadable(problem) if !self.rules().is_client() => Some(problem.into_refusal()),
                Lookup::Missing | Lookup::Unreadable(_) => Some(Refusal::NoSuchTask { task: id.clone() }),
            };
            match refusal {
                Some(refusal) => refused.push((id, refusal)),
                None => left.push(id),
            }
        }
        drop(list);
        // Tasks refused only since that check are removed one by one; this is rare.
        while !left.is_empty() {
            match self.remove_all(&left, parts)? {
                Outcome::Done(deleted) => return Ok((Some(deleted), refused)),
                Outcome::Refused(refusal) => {
                    let task = refusal.task().filter(|task| left.contains(task)).or(left.first()).cloned();
                    left.retain(|other| Some(other) != task.as_ref());
                    refused.extend(task.map(|task| (task, refusal)));
                }
            }
        }
        Ok((None, refused))
    }

    fn remove_all(&self, named: &[TaskId], parts: Parts) -> Result<Outcome<Deleted>, Error> {
        let list = self.store().read(self.list_id())?;
        if !list.exists()? {
            for id in named {
                if self.missing_to_delete(id)?.is_none() {
                    return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() }));
                }
            }
        }
        drop(list);
        let outcome = self.transact(Op::Delete, |txn, _| {
            let ids = match parts {
                Parts::Removed => with_all_parts(named, &txn.tasks()?),
                Parts::Lifted => named.to_vec(),
            };
            let mut tasks: Vec<Task> = Vec::with_capacity(ids.len());
            let mut missing = Vec::new();
            for id in &ids {
                match txn.find(id)? {
                    Lookup::Found(task, _) => {
                        self.respect_lease(txn, &task)?;
                        tasks.push(*task);
                    }
                    // A task that is named twice has already been removed.
                    Lookup::Missing if tasks.iter().any(|task| task.id == *id) => continue,
                    Lookup::Unreadable(problem) if !self.rules().is_client() => {
                        return Err(problem.into_refusal().into());
                    }
                    Lookup::Missing => {
                        let Some(task) = self.missing_to_delete(id)? else {
                            return Err(Refusal::NoSuchTask { task: id.clone() }.into());
                        };
                        txn.note_absent(&task.id)?;
                        missing.push(task.id.clone());
                        tasks.push(task);
                        continue;
                    }
                    Lookup::Unreadable(_) => return Err(Refusal::NoSuchTask { task: id.clone() }.into()),
                }
                txn.remove(id)?;
            }
            let lifted = forget(txn, &tasks, self.rules())?;
            Ok((tasks, missing, lifted, txn.revision()))
        })?;
        Ok(outcome.map(|((tasks, missing, lifted, before), event)| Deleted {
            tasks,
            missing,
            lifted,
            revision: event.map_or(before, |event| event.revision),
        }))
    }

    /// Returns a missing task that can nevertheless be deleted.
    fn missing_to_delete(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        if self.rules().is_client() { Ok(None) } else { self.missing_task(id) }
    }
}

/// The result of clearing a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The deleted tasks in their last state.
    pub tasks: Vec<Task>,
    /// Tasks that were missing already, in their last state. They no longer count as missing.
    pub missing: Vec<Task>,
    /// The commit; `None` if there was nothing to remove.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Deletes every task of the list. Their numbers are not reused. Missing tasks count as deleted on purpose from
    /// then on.
    pub fn clear(&self) -> Result<Outcome<Cleared>, Error> {
        let list = self.store().read(self.list_id())?;
        if !list.exists()? && self.missing(&list.tasks()?, &list.problems()?)?.is_empty() {
            return Ok(Outcome::Done(Cleared { tasks: Vec::new(), missing: Vec::new(), revision: None }));
        }
        drop(list);
        let outcome = self.transact(Op::Clear, |txn, _| {
            let tasks = txn.tasks()?;
            self.respect_leases(txn, &tasks)?;
            let missing = self.missing(&tasks, &txn.problems()?)?;
            txn.clear()?;
            for removed in &missing {
                txn.note_absent(&removed.task.id)?;
            }
            Ok((tasks, missing.into_iter().map(|removed| removed.task).collect()))
        })?;
        Ok(outcome.map(|((tasks, missing), event)| Cleared {
            tasks,
            missing,
            revision: event.map(|event| event.revision),
        }))
    }
}

/// Removes every edge to deleted tasks from the remaining ones, and makes their parts parts of their parents. Returns
/// those parts.
///
/// Tasks that the deleted ones do not name are checked as well: another program may have written an edge at one end
/// only.
pub(super) fn forget(txn: &mut dyn Txn, gone: &[Task], rules: Rules) -> Result<Vec<TaskId>, StoreError> {
    let stood: HashMap<TaskId, Option<TaskId>> = gone.iter().map(|task| (task.id.clone(), task.parent())).collect();
    let mut parts = Vec::new();
    let gone: Vec<TaskId> = gone.iter().map(|task| task.id.clone()).collect();
    for task in txn.connected(&gone)? {
        // The client looks a task up by the id in its file, so it does not find one whose file has another name.
        if rules.is_client() && task.stated_id.is_some() {
            continue;
        }
        let lifted = if rules.is_client() { None } else { lifted(&task, &stood) };
        parts.extend(lifted.as_ref().map(|part| part.id.clone()));
        let names_one = |ids: &[TaskId]| ids.iter().any(|id| stood.contains_key(id));
        if names_one(&task.blocks) || names_one(&task.blocked_by) || lifted.is_some() {
            let mut after = lifted.unwrap_or(task);
            after.blocks.retain(|id| !stood.contains_key(id));
            after.blocked_by.retain(|id| !stood.contains_key(id));
            txn.put(after)?;
        }
    }
    Ok(parts)
}
