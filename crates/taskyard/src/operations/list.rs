//! Looking at a list.

use std::collections::HashMap;

use taskyard_core::rules::graph::parts::Progress;
use taskyard_core::rules::history::vanishing::Gone;
use taskyard_core::rules::leases::leasing::LeaseState;
use taskyard_core::rules::looking::listing::{Filter, Selection, select};
use taskyard_core::rules::looking::query::{ListSurroundings, Times};
use taskyard_core::{Lease, Revision, Task, TaskId, Timestamp};

use super::reading::Reading;
use crate::store::UnreadableTask;
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
    /// When the tasks were made and last changed, where that was asked for and is known.
    pub times: HashMap<TaskId, Times>,
    /// What lies among the tasks and is none. Where its last state is known, that is among the tasks.
    pub problems: Vec<UnreadableTask>,
    /// The leases on tasks of the list, each with what it is now; those that have ended and not yet been recorded are among them.
    pub leases: Vec<(Lease, LeaseState)>,
    /// The newest commit shown.
    pub revision: Revision,
    /// Whether the list exists.
    pub exists: bool,
    /// The moment at which it was read.
    pub now: Timestamp,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns the tasks a filter lets through, and what there is to know of the whole list.
    pub fn list(&self, filter: &Filter) -> Result<Listing, Error> {
        let Reading { tasks, problems, leases, revision, exists, gone, missing } = self.look()?;
        let now = self.now()?.wall;
        let around = ListSurroundings::of(&tasks, now, self.rules()).with_missing(missing);
        let around = if filter.asks_for_times() { around.with_times(self.known_times()?) } else { around };
        let Selection { tasks, counts, blockers, progress, times } = select(tasks, filter, &around, self.rules());
        Ok(Listing { tasks, counts, blockers, progress, times, problems, leases, revision, exists, now, gone })
    }
}
