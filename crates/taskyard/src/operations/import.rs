//! Taking in tasks from another program's files.

use std::collections::HashMap;

use taskyard_core::dialect::foreign::Imported;
use taskyard_core::rules::moving::importing::{ImportPlan, Source, plan_import};
use taskyard_core::{Op, Revision, Task, TaskId};

use super::create::made;
use super::halt::Halt;
use crate::store::Txn;
use crate::{Error, Outcome, Yard};

/// What an import did.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportReport {
    /// What was made, changed and left, and what could not be carried.
    pub plan: ImportPlan,
    /// The commit; none where nothing was to be changed, or nothing should be.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Takes in tasks, all of them or none. What came from the same source before is changed, and never doubled.
    pub fn import(&self, imported: &Imported, source: &Source) -> Result<Outcome<ImportReport>, Error> {
        let outcome = self.transact(Op::Import, |txn, _| {
            let plan = self.judged(txn, imported, source)?;
            for task in &plan.created {
                txn.put_new(task.clone())?;
            }
            for task in &plan.updated {
                txn.put(task.clone())?;
            }
            Ok(plan)
        })?;
        Ok(outcome.map(|(plan, event)| match event {
            Some(event) => {
                let plan = with_tasks(plan, made(&event).collect());
                ImportReport { plan, revision: Some(event.revision) }
            }
            None => ImportReport { plan, revision: None },
        }))
    }

    /// Tells what an import would do, and does nothing.
    pub fn preview_import(&self, imported: &Imported, source: &Source) -> Result<Outcome<ImportReport>, Error> {
        let report = |plan| ImportReport { plan, revision: None };
        if !self.store().read(self.list_id())?.exists()? {
            let new_ids: Vec<TaskId> = (1..).map(TaskId::number).take(imported.tasks.len()).collect();
            return Ok(Outcome::Done(report(plan_import(&[], imported, source, &new_ids))));
        }
        match self.look_in_turn(|txn| Ok(self.judged(txn, imported, source)))? {
            Ok(plan) => Ok(Outcome::Done(report(plan))),
            Err(Halt::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Err(Halt::Failed(error)) => Err(error.into()),
        }
    }

    fn judged(&self, txn: &dyn Txn, imported: &Imported, source: &Source) -> Result<ImportPlan, Halt> {
        // A task that cannot be read now would come a second time.
        let came = |task: &Task| source.id_of(task).is_some();
        if let Some(problem) =
            txn.problems()?.into_iter().find(|problem| problem.last_known.as_deref().is_some_and(came))
        {
            return Err(problem.into_refusal().into());
        }
        let tasks = txn.tasks()?;
        let new_ids = txn.new_ids(imported.tasks.len())?;
        let plan = plan_import(&tasks, imported, source, &new_ids);
        let here: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let changing: Vec<Task> =
            plan.updated.iter().filter_map(|task| here.get(&task.id)).map(|task| (*task).clone()).collect();
        self.respect_leases(txn, &changing)?;
        Ok(plan)
    }
}

/// Puts in the tasks that were made, which may have got other numbers than they were put under.
fn with_tasks(mut plan: ImportPlan, made: Vec<Task>) -> ImportPlan {
    if made.len() != plan.created.len() {
        return plan;
    }
    let mut places: Vec<usize> = (0..made.len()).collect();
    places.sort_by(|one, two| plan.created[*one].id.cmp(&plan.created[*two].id));
    let mut given: HashMap<TaskId, TaskId> = HashMap::new();
    for (place, task) in places.into_iter().zip(made) {
        given.insert(plan.created[place].id.clone(), task.id.clone());
        plan.created[place] = task;
    }
    for (_, id) in &mut plan.mapping {
        if let Some(given) = given.get(id) {
            *id = given.clone();
        }
    }
    plan
}
