//! What every verb that only looks begins with.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use taskyard_core::rules::agents::departing::given_back;
use taskyard_core::rules::graph::parts::{Named, blockers_above, with_those_above};
use taskyard_core::rules::history::vanishing::{Gone, KeptIn};
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::{Lease, Revision, Rules, Task, TaskId};

use super::leases::own_renewals;
use crate::store::{FileLayout, StoreError, Unpacked, UnreadableTask};
use crate::{Error, Yard};

/// A list as it was read.
pub(super) struct Reading {
    /// The tasks, by number. Where a file cannot be read at this moment, its last known state stands in its place.
    pub(super) tasks: Vec<Task>,
    pub(super) problems: Vec<UnreadableTask>,
    /// The leases, each with what it is now; those that have ended and whose return no process could record are among them.
    pub(super) leases: Vec<(Lease, LeaseState)>,
    pub(super) revision: Revision,
    pub(super) exists: bool,
    /// What is gone, where no task file is left.
    pub(super) gone: Option<Gone>,
    /// The tasks that open tasks wait for and that do not exist, where the store counts those.
    pub(super) missing: HashMap<TaskId, Vec<TaskId>>,
}

impl Yard {
    /// Reads the whole list.
    pub(super) fn look(&self) -> Result<Reading, Error> {
        let list = self.store().read(self.list_id())?;
        let counts_missing = list.counts_missing();
        let mut unpacked = list.unpack()?;
        let came_back = self.let_leases_end_or_live(&unpacked.leases)?;
        if self.try_to_put_back_stale_writes() || came_back {
            unpacked = self.store().read(self.list_id())?.unpack()?;
        }
        let Unpacked { mut tasks, problems, leases, revision, exists } = unpacked;
        let is_bare = tasks.is_empty() && problems.is_empty();
        let gone = if is_bare { self.gone_with((!exists).then(|| self.kept_in())) } else { None };
        // To the client a file it cannot read is not there.
        if !self.rules().is_client() && problems.iter().any(|problem| problem.last_known.is_some()) {
            let there: HashSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
            let last_known = problems.iter().filter_map(|problem| problem.last_known.as_deref());
            tasks.extend(last_known.filter(|task| !there.contains(&task.id)).cloned());
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
        }
        let leases = self.with_states(leases)?;
        give_back(&mut tasks, &leases);
        let missing = if counts_missing { missing_blockers(&tasks, self.rules()) } else { HashMap::new() };
        Ok(Reading { tasks, problems, leases, revision, exists, gone, missing })
    }

    /// Reads one task and what it is tied to; `None` if the whole list has to be read.
    pub(super) fn look_around(&self, id: &TaskId) -> Result<Option<Reading>, Error> {
        let Some(unpacked) = self.store().read_around(self.list_id(), id)? else { return Ok(None) };
        let Unpacked { mut tasks, problems, leases, revision, exists } = unpacked;
        if self.let_leases_end_or_live(&leases)? {
            // What came back is read with everything else.
            return Ok(None);
        }
        let leases = self.with_states(leases)?;
        give_back(&mut tasks, &leases);
        Ok(Some(Reading { tasks, problems, leases, revision, exists, gone: None, missing: HashMap::new() }))
    }

    /// Returns leases, each with what it is now.
    fn with_states(&self, leases: Vec<Lease>) -> Result<Vec<(Lease, LeaseState)>, StoreError> {
        let now = self.now()?;
        let judge = |lease: Lease| {
            let state = self.world().judge_at(&lease, &now);
            (lease, state)
        };
        Ok(leases.into_iter().map(judge).collect())
    }

    /// Lets dead leases end and keeps our own alive, as far as that takes no waiting; returns whether tasks came back.
    ///
    /// A reader is not troubled by a journal that cannot be written.
    fn let_leases_end_or_live(&self, leases: &[Lease]) -> Result<bool, StoreError> {
        if leases.is_empty() {
            return Ok(false);
        }
        let own = own_renewals(leases.to_vec(), self)?;
        if !own.is_empty()
            && let Err(error) = self.store().renew(self.list_id(), &own)
        {
            tracing::debug!(%error, "leases are not renewed by looking");
        }
        let now = self.now()?;
        let is_dead = |lease: &Lease| !self.world().judge_at(lease, &now).is_alive();
        Ok(leases.iter().any(is_dead)
            && self.try_return_ended_leases().unwrap_or_else(|error| {
                tracing::debug!(%error, "what dead leases hold is left for the next writer");
                false
            }))
    }

    /// Returns what the list is kept in, for a message that it is gone.
    fn kept_in(&self) -> KeptIn {
        let is_one_file = self.store().care().is_some_and(|care| care.layout() == FileLayout::OneFile);
        if is_one_file { KeptIn::File } else { KeptIn::Directory }
    }
}

/// Shows what leases held that have ended as it will be once a process has recorded it. No process has to write for a lease to end.
fn give_back(tasks: &mut [Task], leases: &[(Lease, LeaseState)]) {
    let ended: HashMap<&TaskId, &Lease> =
        leases.iter().filter(|(_, state)| !state.is_alive()).map(|(lease, _)| (&lease.task, lease)).collect();
    if ended.is_empty() {
        return;
    }
    for task in tasks {
        if ended.get(&task.id).is_some_and(|lease| holds(lease, task)) {
            *task = given_back(task);
        }
    }
}

fn missing_blockers(tasks: &[Task], rules: Rules) -> HashMap<TaskId, Vec<TaskId>> {
    let there: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let find = |id: &TaskId| -> Result<Named, Infallible> {
        let found = there.get(id).map(|task| Named::Task(Box::new((*task).clone())));
        Ok(found.unwrap_or(Named::Absent { holds_up: true }))
    };
    let missing = |task: &Task| {
        let above = if rules.is_client() {
            Vec::new()
        } else {
            blockers_above(task, find).unwrap_or_else(|never| match never {})
        };
        let all = with_those_above(task.blocked_by.clone(), above);
        all.into_iter().filter(|id| !there.contains_key(id)).collect::<Vec<_>>()
    };
    let open = tasks.iter().filter(|task| task.status.is_open());
    open.map(|task| (task.id.clone(), missing(task))).filter(|(_, missing)| !missing.is_empty()).collect()
}
