//! Removing tasks, and the edges that led to them.

use std::collections::HashSet;

use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Revision, Rules, Task, TaskId};

use crate::store::{Lookup, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// Tasks that were removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The tasks as they last were.
    pub tasks: Vec<Task>,
    /// Those of them that were missing already: they no longer count as that.
    pub missing: Vec<TaskId>,
    /// The commit.
    pub revision: Revision,
}

impl Yard {
    /// Removes tasks and every edge to them, in one commit. A task that is missing counts as deleted on purpose from then on;
    /// to the client such a task is not there.
    pub fn delete(&self, ids: &[TaskId]) -> Result<Outcome<Deleted>, Error> {
        let list = self.store().read(self.list_id())?;
        if !list.exists() {
            for id in ids {
                if self.missing_to_delete(id)?.is_none() {
                    return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() }));
                }
            }
        }
        drop(list);
        let outcome = self.transact(Op::Delete, |txn, _| {
            let mut tasks: Vec<Task> = Vec::with_capacity(ids.len());
            let mut missing = Vec::new();
            for id in ids {
                match txn.find(id)? {
                    Lookup::Found(task, _) => {
                        self.respect_lease(txn, &task)?;
                        tasks.push(*task);
                    }
                    // A task that is named twice is gone by now.
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
            forget(txn, &tasks.iter().map(|task| &task.id).collect(), self.rules())?;
            Ok((tasks, missing, txn.revision()))
        })?;
        Ok(outcome.map(|((tasks, missing, before), event)| Deleted {
            tasks,
            missing,
            revision: event.map_or(before, |event| event.revision),
        }))
    }

    /// Returns a task that is not there and can be deleted all the same.
    fn missing_to_delete(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        if self.rules().is_client() { Ok(None) } else { self.missing_task(id) }
    }
}

/// Takes every edge to tasks that are gone out of those that are left.
///
/// All tasks are looked at: another program may have written an edge at one end only, which the removed task does not name.
pub(super) fn forget(txn: &mut dyn Txn, gone: &HashSet<&TaskId>, rules: Rules) -> Result<(), StoreError> {
    for task in txn.tasks()? {
        // The client looks a task up by the id in its file, so it does not find one whose file has another name.
        if rules.is_client() && task.stated_id.is_some() {
            continue;
        }
        let names_one = |ids: &[TaskId]| ids.iter().any(|id| gone.contains(id));
        if names_one(&task.blocks) || names_one(&task.blocked_by) {
            let mut after = task;
            after.blocks.retain(|id| !gone.contains(id));
            after.blocked_by.retain(|id| !gone.contains(id));
            txn.put(after)?;
        }
    }
    Ok(())
}
