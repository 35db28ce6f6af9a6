//! What every operation does about leases: it lets the dead ones end, keeps its own alive, and respects those of other agents.

use std::collections::HashMap;

use taskyard_core::rules::agents::departing::{Departure, departure_notice, given_back};
use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::leases::leasing::{holds, judge_write, renewed};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, Image, Lease, Moment, Op, Remark, Task, TaskId, Timestamp};

use super::RefusedTask;
use super::halt::Halt;
use crate::store::{HistoryQuery, Lookup, Signature, Snapshot, StoreError, Txn};
use crate::{Error, Yard};

/// Stages the end of leases that no longer count, those of one agent at a time, and returns what the commit is to be signed
/// with; none where nothing is to be done.
///
/// What such a lease held goes back: pending, and without an owner. A task that another program has changed since stays as it is.
pub(crate) fn stage_ended_leases(txn: &mut dyn Txn, yard: &Yard) -> Result<Option<Signature>, StoreError> {
    let leases = txn.leases()?;
    if leases.is_empty() {
        return Ok(None);
    }
    let now = yard.now()?;
    let mut departed: Option<AgentName> = None;
    let mut returned: Vec<Task> = Vec::new();
    for lease in leases {
        if yard.world().judge_at(&lease, &now).is_alive() {
            continue;
        }
        if departed.as_ref().is_some_and(|agent| *agent != lease.agent) {
            continue;
        }
        match txn.find(&lease.task)? {
            // It cannot be told at this moment whether it still is the holder's.
            Lookup::Unreadable(_) => continue,
            Lookup::Found(task, _) if holds(&lease, &task) => {
                txn.put(given_back(&task))?;
                returned.push(*task);
            }
            Lookup::Found(..) | Lookup::Missing => {}
        }
        txn.end_lease(&lease.task)?;
        departed = Some(lease.agent);
    }
    let Some(agent) = departed else { return Ok(None) };
    let notice = departure_notice(&agent, Departure::Terminated, returned.iter());
    let remark = Remark { notice: Some(notice), ..Remark::default() };
    Ok(Some(Signature { remark, ..Signature::new(agent, Op::Expire) }))
}

/// Gives the leases of the actor their time again: whatever an agent does shows that it is alive.
pub(crate) fn show_life(txn: &mut dyn Txn, yard: &Yard) -> Result<(), StoreError> {
    for lease in own_renewals(txn.leases()?, yard)? {
        txn.set_lease(lease)?;
    }
    Ok(())
}

/// Returns the leases of an agent that are alive and worth renewing, renewed. A lease that has ended stays so, whichever agent asks.
pub(super) fn own_renewals(leases: Vec<Lease>, yard: &Yard) -> Result<Vec<Lease>, StoreError> {
    if leases.is_empty() {
        return Ok(leases);
    }
    let (now, actor) = (yard.now()?, yard.actor());
    // A lease that lives with a process is renewed by that process: another of the same name says nothing of it.
    let is_own = |lease: &Lease| is_same_agent(lease.agent.as_str(), actor.as_str()) && lease.holder.is_none();
    let own = leases.into_iter().filter(is_own);
    let alive = own.filter(|lease| yard.world().judge_at(lease, &now).is_alive());
    Ok(alive.filter_map(|lease| renewed(&lease, &now)).collect())
}

/// Returns the lease on a task that counts, in a transaction whose dead leases have ended.
pub(super) fn lease_on(txn: &dyn Txn, task: &Task) -> Result<Option<Lease>, StoreError> {
    Ok(txn.leases()?.into_iter().find(|lease| holds(lease, task)))
}

/// How many revisions of a task are read to find out since when its owner has it.
const OWNERS_READ: usize = 100;

impl Yard {
    /// Refuses a change of a task that another agent works on, and one whose token no longer counts.
    pub(super) fn respect_lease(&self, txn: &dyn Txn, task: &Task) -> Result<(), Halt> {
        self.respect_leases(txn, std::slice::from_ref(task))
    }

    /// Refuses a change of tasks where another agent works on one of them.
    pub(super) fn respect_leases(&self, list: &dyn Snapshot, tasks: &[Task]) -> Result<(), Halt> {
        let leases: HashMap<TaskId, Lease> =
            list.leases()?.into_iter().map(|lease| (lease.task.clone(), lease)).collect();
        for task in tasks {
            let lease = leases.get(&task.id).filter(|lease| holds(lease, task));
            judge_write(task, lease, self.actor(), self.proof_on(task), self.rules())?;
        }
        Ok(())
    }

    /// Returns those of several tasks whose change is refused because another agent works on them.
    pub(super) fn refused_by_leases(&self, txn: &dyn Txn, tasks: &[Task]) -> Result<Vec<RefusedTask>, StoreError> {
        let leases: HashMap<TaskId, Lease> =
            txn.leases()?.into_iter().map(|lease| (lease.task.clone(), lease)).collect();
        let refused = |task: &Task| {
            let lease = leases.get(&task.id).filter(|lease| holds(lease, task));
            let judged = judge_write(task, lease, self.actor(), self.proof_on(task), self.rules());
            judged.err().map(|refusal| (task.id.clone(), refusal))
        };
        Ok(tasks.iter().filter_map(refused).collect())
    }

    /// Looks without a lock whether a lease forbids a change of a task.
    pub(super) fn forbidden_by_lease(&self, list: &dyn Snapshot, task: &Task) -> Result<Option<Refusal>, StoreError> {
        let now = self.now()?;
        let counts = |lease: &Lease| holds(lease, task) && self.world().judge_at(lease, &now).is_alive();
        let lease = list.leases()?.into_iter().find(counts);
        Ok(judge_write(task, lease.as_ref(), self.actor(), self.proof_on(task), self.rules()).err())
    }

    /// Returns since when the owner of a task has it: when its lease was taken, else when the journal says that it became the owner. `None`
    /// if the task has no owner, or if neither tells.
    pub fn owned_since(&self, task: &Task) -> Result<Option<Timestamp>, StoreError> {
        let Some(owner) = task.owner() else { return Ok(None) };
        let lease = self.store().read(self.list_id())?.leases()?.into_iter().find(|lease| holds(lease, task));
        if let Some(lease) = lease {
            return Ok(Some(lease.taken));
        }
        let query = HistoryQuery { task: Some(task.id.clone()), newest: Some(OWNERS_READ), ..HistoryQuery::default() };
        let is_owned = |image: &Option<Image>| {
            let task = image.as_ref().and_then(|image| image.task(&task.id).ok());
            task.is_some_and(|task| task.owner() == Some(owner))
        };
        let entries = self.store().history(self.list_id(), &query)?;
        let mut owned = entries.iter().rev().take_while(|entry| is_owned(&entry.after));
        Ok(owned.find(|entry| !is_owned(&entry.before)).map(|entry| entry.at))
    }

    /// Adds to a refusal since when the owner of a task has it.
    pub(super) fn dated(&self, refusal: Refusal, task: &Task) -> Refusal {
        match refusal {
            Refusal::OwnedByAnother { task: id, owner, .. } => {
                let since = self.owned_since(task).unwrap_or_else(|error| {
                    tracing::debug!(%error, "it is not known since when a task has its owner");
                    None
                });
                Refusal::OwnedByAnother { task: id, owner, since }
            }
            refusal => refusal,
        }
    }

    /// Records the return of what leases hold that have ended. Every writer does so anyway; this is for callers that wait.
    pub fn return_ended_leases(&self) -> Result<(), Error> {
        self.return_those_ended(&self.store().read(self.list_id())?.leases()?)
    }

    /// Does the same for callers that follow the list: those leases count that this process last saw, if the store keeps lists in memory.
    pub fn return_ended_leases_seen(&self) -> Result<(), Error> {
        let recollected = self.store().recollect(self.list_id());
        self.return_those_ended(&recollected.map_or_else(|| self.store().read(self.list_id()), Ok)?.leases()?)
    }

    fn return_those_ended(&self, leases: &[Lease]) -> Result<(), Error> {
        if self.are_alive(leases, &self.now()?) { Ok(()) } else { self.record_ended_leases() }
    }

    pub(super) fn are_alive(&self, leases: &[Lease], now: &Moment) -> bool {
        leases.iter().all(|lease| self.world().judge_at(lease, now).is_alive())
    }

    /// Has a writer's turn and does nothing else in it than every writer does first.
    pub(super) fn record_ended_leases(&self) -> Result<(), Error> {
        match self.transact(Op::Expire, |_, _| Ok(())) {
            // Nothing but a sign of life was to be written besides.
            Ok(_) | Err(Error::Store(StoreError::Unfinished { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the leases that count, each with the task it is on.
    pub fn live_leases(&self) -> Result<Vec<Lease>, Error> {
        let leases = self.store().read(self.list_id())?.leases()?;
        let now = self.now()?;
        Ok(leases.into_iter().filter(|lease| self.world().judge_at(lease, &now).is_alive()).collect())
    }

    /// Returns the lease on a task, whether or not it still counts.
    pub fn lease(&self, id: &TaskId) -> Result<Option<Lease>, Error> {
        let leases = self.store().read(self.list_id())?.leases()?;
        Ok(leases.into_iter().find(|lease| lease.task == *id))
    }
}
