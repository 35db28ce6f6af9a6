//! Removing tasks, and the edges that led to them.

use crate::operations::forgetting::forget;

use taskyard_core::rules::graph::parts::with_all_parts;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Revision, Task, TaskId};

use super::RefusedTask;
use super::named_once::once;
use crate::store::{Lookup, StoreError};
use crate::{Error, Outcome, Yard};

/// Tasks that were removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The tasks as they last were.
    pub tasks: Vec<Task>,
    /// Those of them that were missing already: they no longer count as that.
    pub missing: Vec<TaskId>,
    /// Tasks that were parts of these and stand where those stood now.
    pub lifted: Vec<TaskId>,
    /// The commit that removed them.
    pub revision: Revision,
}

/// What becomes of the parts of tasks that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    /// They become parts of whatever the removed task was a part of.
    Lifted,
    /// They are removed, too.
    Removed,
}

impl Yard {
    /// Removes tasks and every edge to them, in one commit; their parts are lifted to where they stood. A task that is missing counts
    /// as deleted on purpose from then on; to the client such a task is not there, and nothing is a part of anything.
    pub fn delete(&self, ids: &[TaskId]) -> Result<Outcome<Deleted>, Error> {
        self.remove_all(ids, Parts::Lifted)
    }

    /// Removes tasks with all their parts, in one commit.
    pub fn delete_with_parts(&self, ids: &[TaskId]) -> Result<Outcome<Deleted>, Error> {
        self.remove_all(ids, Parts::Removed)
    }

    /// Removes those of several tasks that can be removed, as [`Yard::delete`] does, and tells of the others.
    pub fn delete_possible(&self, ids: &[TaskId]) -> Result<(Option<Deleted>, Vec<RefusedTask>), Error> {
        self.remove_possible(ids, Parts::Lifted)
    }

    /// Removes those of several tasks that can be removed, with all their parts, and tells of the others.
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
        // What was refused since we looked is set aside one by one; that is rare.
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

    /// Returns a task that is not there and can be deleted all the same.
    fn missing_to_delete(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        if self.rules().is_client() { Ok(None) } else { self.missing_task(id) }
    }
}
