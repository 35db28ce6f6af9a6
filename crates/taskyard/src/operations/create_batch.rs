//! Making many tasks at once.

use std::collections::HashSet;

use taskyard_core::forms::batch::{BatchEntry, BatchMistake, Resolved, possible_ids, resolve};
use taskyard_core::rules::hooks::hooking::HookEvent;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Revision, Rules, Task, TaskId};

use super::create::made;
use super::edges::{connect_as_the_client, connect_strictly};
use super::halt::Halt;
use super::workbench::Workbench;
use crate::store::{Lookup, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// Tasks that were made together, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedBatch {
    /// The tasks, in the order of the batch.
    pub tasks: Vec<Task>,
    /// The tasks of the list that they wait for, and those that wait for them.
    pub neighbours: Vec<Task>,
    /// The commit; none where nothing was made.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Makes the tasks of a batch, and the list where there is none yet, all of them in one commit or none. Where a hook forbids one of them,
    /// all are removed again.
    pub fn create_batch(&self, batch: &[BatchEntry]) -> Result<Outcome<Result<CreatedBatch, BatchMistake>>, Error> {
        let judges = self.judges_of_creation();
        let _attending = judges.as_ref().map(|(hooks, _)| hooks.cancel().attend());
        let outcome = self.transact(Op::Create, |txn, _| {
            let ids = txn.new_ids(batch.len())?;
            match resolve(batch, &ids, &named_tasks(txn, batch)?) {
                Ok(resolved) => match self.stage_batch(txn, resolved) {
                    Err(Halt::Refused(Refusal::Cycle { path })) => Ok(Err(BatchMistake::cycle(batch, &ids, &path))),
                    staged => Ok(Ok(staged?)),
                },
                Err(mistake) => Ok(Err(mistake)),
            }
        })?;
        let created = match outcome {
            Outcome::Done((Ok(created), event)) => match event {
                // The store may have had to give other numbers than they were put under.
                Some(event) => {
                    let made: Vec<Task> = made(&event).collect();
                    let tasks = if made.len() == created.tasks.len() { made } else { created.tasks };
                    CreatedBatch { tasks, revision: Some(event.revision), ..created }
                }
                None => created,
            },
            Outcome::Done((Err(mistake), _)) => return Ok(Outcome::Done(Err(mistake))),
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
        };
        let Some((hooks, found)) = judges else { return Ok(Outcome::Done(Ok(created))) };
        for task in &created.tasks {
            match self.ask(hooks, &found, HookEvent::TaskCreated, task, &|| self.list_for_hooks(|_| Vec::new())) {
                Ok(None) => {}
                Ok(Some(refusal)) => {
                    self.take_back(&created.tasks)?;
                    return Ok(Outcome::Refused(refusal));
                }
                Err(error) => {
                    self.take_back(&created.tasks)?;
                    return Err(error);
                }
            }
        }
        Ok(Outcome::Done(Ok(created)))
    }

    /// Tells what [`Yard::create_batch`] would make, with the numbers that are next at this moment, and makes nothing.
    pub fn preview_batch(&self, batch: &[BatchEntry]) -> Result<Outcome<Result<CreatedBatch, BatchMistake>>, Error> {
        // A list that is not there is not made for the sake of a look.
        let is_there = self.store().read(self.list_id())?.exists()?;
        let nowhere = crate::store::MemoryStore::new(self.rules());
        let store: &dyn crate::store::Store = if is_there { self.store() } else { &nowhere };
        let mut txn = store.write(self.list_id())?;
        let ids = txn.new_ids(batch.len())?;
        let resolved = match resolve(batch, &ids, &named_tasks(&mut *txn, batch)?) {
            Ok(resolved) => resolved,
            Err(mistake) => return Ok(Outcome::Done(Err(mistake))),
        };
        match self.stage_batch(&mut *txn, resolved) {
            Ok(created) => Ok(Outcome::Done(Ok(created))),
            Err(Halt::Refused(Refusal::Cycle { path })) => {
                Ok(Outcome::Done(Err(BatchMistake::cycle(batch, &ids, &path))))
            }
            Err(Halt::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => Err(error.into()),
        }
    }

    fn stage_batch(&self, txn: &mut dyn Txn, resolved: Resolved) -> Result<CreatedBatch, Halt> {
        let Resolved { tasks, edges, parts } = resolved;
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let of_batch: HashSet<TaskId> = ids.iter().cloned().collect();
        match self.rules() {
            Rules::Client(_) => {
                for task in tasks {
                    txn.put_new(task)?;
                }
                for edge in &edges {
                    connect_as_the_client(self, txn, edge)?;
                }
            }
            Rules::Strict => {
                let mut bench = Workbench::on(txn);
                tasks.into_iter().for_each(|task| bench.put_new(task));
                connect_strictly(&mut bench, &edges, &parts)?;
                bench.stage()?;
            }
        }
        let mut others: Vec<TaskId> = edges.into_iter().flat_map(|edge| [edge.task, edge.on]).collect();
        others.retain(|id| !of_batch.contains(id));
        others.sort();
        others.dedup();
        let find = |ids: &[TaskId]| {
            let found = ids.iter().map(|id| Ok(txn.find(id)?.task()));
            found.collect::<Result<Vec<_>, Halt>>().map(|tasks| tasks.into_iter().flatten().collect())
        };
        Ok(CreatedBatch { tasks: find(&ids)?, neighbours: find(&others)?, revision: None })
    }
}

/// Returns the tasks of the list that a batch names by ids that are no numbers.
fn named_tasks(txn: &mut dyn Txn, batch: &[BatchEntry]) -> Result<HashSet<TaskId>, StoreError> {
    let mut found = possible_ids(batch);
    for id in found.clone() {
        if matches!(txn.find(&id)?, Lookup::Missing) {
            found.remove(&id);
        }
    }
    Ok(found)
}
