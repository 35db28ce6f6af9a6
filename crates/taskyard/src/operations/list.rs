//! Looking at a list.

use std::collections::HashMap;

use taskyard_core::rules::leasing::LeaseState;
use taskyard_core::rules::listing::{Filter, Selection, select};
use taskyard_core::rules::parts::Progress;
use taskyard_core::rules::vanishing::Gone;
use taskyard_core::{Lease, Revision, Task, TaskId};

use super::reading::Reading;
use crate::store::Problem;
use crate::{Error, Yard};

/// A list as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The tasks wanted, in display order: in progress, pending, completed, each by number.
    pub tasks: Vec<Task>,
    /// How many tasks the whole list holds: pending, in progress, completed. Internal ones are not counted.
    pub counts: [usize; 3],
    /// The open tasks each shown task waits for. Tasks that wait for none are left out.
    pub blockers: HashMap<TaskId, Vec<TaskId>>,
    /// How far the parts are of each task of the whole list that has some.
    pub progress: HashMap<TaskId, Progress>,
    /// What lies among the tasks and is none. Where its last state is known, that is among the tasks.
    pub problems: Vec<Problem>,
    /// The leases on tasks of the list, each with what it is now; those that have ended and not yet been recorded are among them.
    pub leases: Vec<(Lease, LeaseState)>,
    /// The newest commit shown.
    pub revision: Revision,
    /// Whether the list exists.
    pub exists: bool,
    /// What is gone, where no task file is left though nobody deleted the tasks.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns the tasks a filter lets through, and what there is to know of the whole list.
    pub fn list(&self, filter: &Filter) -> Result<Listing, Error> {
        let Reading { tasks, problems, leases, revision, exists, gone, missing } = self.look()?;
        let Selection { mut tasks, counts, mut blockers, progress } = select(tasks, filter, self.rules());
        if !missing.is_empty() {
            tasks.retain(|task| !filter.ready || !missing.contains_key(&task.id));
            for (task, missing) in missing {
                blockers.entry(task).or_default().extend(missing);
            }
        }
        Ok(Listing { tasks, counts, blockers, progress, problems, leases, revision, exists, gone })
    }
}
