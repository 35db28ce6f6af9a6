//! Looking at a whole list with everything a board says of it.

use std::collections::{HashMap, HashSet};

use taskyard_core::rules::graph::parts::Progress;
use taskyard_core::rules::history::vanishing::Gone;
use taskyard_core::rules::leases::leasing::LeaseState;
use taskyard_core::rules::looking::listing::{Filter, Selection, select};
use taskyard_core::rules::looking::query::{ListSurroundings, Query, SortOrder, Times};
use taskyard_core::view::{Glance, Need, NeedKind, chosen_by};
use taskyard_core::{Lease, Revision, Task, TaskId, Timestamp};

use super::reading::Reading;
use crate::store::UnreadableTask;
use crate::{Error, Yard};

/// A whole list, and what a board says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Every visible task, in the order that was asked for, else in display order.
    pub tasks: Vec<Task>,
    /// Those of which the query is true; none where it is true of all.
    pub chosen: Option<HashSet<TaskId>>,
    /// Its numbers, and what needs a person.
    pub glance: Glance,
    /// The open tasks each task waits for. Tasks that wait for none are left out.
    pub blockers: HashMap<TaskId, Vec<TaskId>>,
    /// How far the parts are of each task that has some.
    pub progress: HashMap<TaskId, Progress>,
    /// When tasks were made and last changed, where that was asked for and is known.
    pub(crate) times: HashMap<TaskId, Times>,
    /// The leases on tasks of the list, each with what it is now.
    pub leases: Vec<(Lease, LeaseState)>,
    /// The newest commit shown.
    pub(crate) revision: Revision,
    /// Whether the list exists.
    pub(crate) exists: bool,
    /// The moment at which it was read.
    pub now: Timestamp,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub gone: Option<Gone>,
    /// What lies among the tasks and is none. If its last state is known, that is among the tasks.
    pub problems: Vec<UnreadableTask>,
}

impl Yard {
    /// Looks at the whole list once, and says of which tasks a query is true.
    pub fn survey(&self, query: &Query, sort: &[SortOrder]) -> Result<Survey, Error> {
        let Reading { tasks, problems, leases, revision, exists, gone, missing } = self.look()?;
        let now = self.now()?.wall;
        let filter = Filter { sort: sort.to_vec(), ..Filter::default() };
        let around = ListSurroundings::of(&tasks, now, self.rules()).with_missing(missing);
        let asks_for_times = filter.asks_for_times() || query.asks_for_times();
        let around = if asks_for_times { around.with_times(self.known_times()?) } else { around };
        let mut glance = Glance::at(&tasks, &around);
        let held: Vec<Lease> = leases.iter().map(|(lease, _)| lease.clone()).collect();
        let stale = self.of_ended_sessions(&tasks, &held)?;
        glance.needs.extend(stale.into_iter().map(|stale| Need { task: stale.task.id, kind: NeedKind::StaleOwner }));
        let chosen = chosen_by(query, &tasks, &around);
        let Selection { tasks, blockers, progress, times, .. } = select(tasks, &filter, &around, self.rules());
        Ok(Survey { tasks, chosen, glance, blockers, progress, times, leases, revision, exists, now, gone, problems })
    }
}
