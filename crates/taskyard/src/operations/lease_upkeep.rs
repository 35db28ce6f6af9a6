//! Lease upkeep: every operation ends expired leases and renews the actor's, and a keeper renews one in the background.

use std::collections::HashMap;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use taskyard_core::rules::agents::{Departure, departure_notice, given_back, is_same_agent};
use taskyard_core::rules::leases::leasing::{Fate, Loss, holds, judge_fate, judge_write, matters, renewed};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, Image, Lease, Moment, Op, Remark, Revision, Task, TaskId, Timestamp, Token};

use super::RefusedTask;
use crate::operations::outcome::Halt;
use crate::store::{HistoryQuery, Lookup, Signature, Snapshot, StoreError, Txn};
use crate::{Error, Outcome, Yard, system};

/// Stages the end of leases that no longer count, for one agent at a time. Returns the signature for the commit, or
/// `None` if there is nothing to do.
///
/// A task held by such a lease is released: pending, and without an owner. A task that another program has changed
/// since is left unchanged.
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
            // We cannot determine now whether it still belongs to the holder.
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

/// Renews the leases of the actor: any operation of an agent shows that it is alive.
pub(crate) fn show_life(txn: &mut dyn Txn, yard: &Yard) -> Result<(), StoreError> {
    for lease in own_renewals(txn.leases()?, yard)? {
        txn.set_lease(lease)?;
    }
    Ok(())
}

/// Returns the agent's live leases that are worth renewing, renewed. An ended lease stays ended, whoever asks.
pub(super) fn own_renewals(leases: Vec<Lease>, yard: &Yard) -> Result<Vec<Lease>, StoreError> {
    if leases.is_empty() {
        return Ok(leases);
    }
    let (now, actor) = (yard.now()?, yard.actor());
    // A lease bound to a process is renewed by that process: another process under the same name proves nothing about
    // it.
    let is_own = |lease: &Lease| is_same_agent(lease.agent.as_str(), actor.as_str()) && lease.holder.is_none();
    let own = leases.into_iter().filter(is_own);
    let alive = own.filter(|lease| yard.world().judge_at(lease, &now).is_alive());
    Ok(alive.filter_map(|lease| renewed(&lease, &now)).collect())
}

/// Returns the valid lease on a task, in a transaction whose expired leases have been ended.
pub(super) fn lease_on(txn: &dyn Txn, task: &Task) -> Result<Option<Lease>, StoreError> {
    Ok(txn.leases()?.into_iter().find(|lease| holds(lease, task)))
}

/// How many revisions of a task are read to find out when its owner got it.
const OWNERS_READ: usize = 100;

impl Yard {
    /// Refuses a change of a task that another agent holds, or whose token is no longer valid.
    pub(super) fn respect_lease(&self, txn: &dyn Txn, task: &Task) -> Result<(), Halt> {
        self.respect_leases(txn, std::slice::from_ref(task))
    }

    /// Refuses a change of several tasks if another agent holds one of them.
    pub(super) fn respect_leases(&self, list: &dyn Snapshot, tasks: &[Task]) -> Result<(), Halt> {
        let leases: HashMap<TaskId, Lease> =
            list.leases()?.into_iter().map(|lease| (lease.task.clone(), lease)).collect();
        for task in tasks {
            let lease = leases.get(&task.id).filter(|lease| holds(lease, task));
            judge_write(task, lease, self.actor(), self.proof_on(task), self.rules())?;
        }
        Ok(())
    }

    /// Returns the refusals for those of several tasks that another agent holds.
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

    /// Checks without a lock whether a lease forbids a change of a task.
    pub(super) fn forbidden_by_lease(&self, list: &dyn Snapshot, task: &Task) -> Result<Option<Refusal>, StoreError> {
        let now = self.now()?;
        let counts = |lease: &Lease| holds(lease, task) && self.world().judge_at(lease, &now).is_alive();
        let lease = list.leases()?.into_iter().find(counts);
        Ok(judge_write(task, lease.as_ref(), self.actor(), self.proof_on(task), self.rules()).err())
    }

    /// Returns when the owner of a task got it: when its lease was granted, otherwise when it became the owner
    /// according to the journal. `None` if the task has no owner, or if neither is known.
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

    /// Adds to a refusal when the owner got the task.
    pub(super) fn dated(&self, refusal: Refusal, task: &Task) -> Refusal {
        match refusal {
            Refusal::OwnedByAnother { task: id, owner, .. } => {
                let since = self.owned_since(task).unwrap_or_else(|error| {
                    tracing::debug!(%error, "the owner's start time is unknown");
                    None
                });
                Refusal::OwnedByAnother { task: id, owner, since }
            }
            refusal => refusal,
        }
    }

    /// Releases the tasks of expired leases. Every writer does so anyway; this is for callers that only wait.
    pub fn return_ended_leases(&self) -> Result<(), Error> {
        self.return_those_ended(&self.store().read(self.list_id())?.leases()?)
    }

    /// Like [`Self::return_ended_leases`], for callers that follow the list: uses the leases in this process's memory
    /// if the store keeps lists there.
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

    /// Runs a transaction that does only what every writer does first.
    pub(super) fn record_ended_leases(&self) -> Result<(), Error> {
        match self.transact(Op::Expire, |_, _| Ok(())) {
            // Apart from that, the transaction only had to renew leases, so this failure does not matter.
            Ok(_) | Err(Error::Store(StoreError::Unfinished { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the leases that are still valid.
    pub fn live_leases(&self) -> Result<Vec<Lease>, Error> {
        let leases = self.store().read(self.list_id())?.leases()?;
        let now = self.now()?;
        Ok(leases.into_iter().filter(|lease| self.world().judge_at(lease, &now).is_alive()).collect())
    }

    /// Returns the lease on a task, whether or not it is still valid.
    pub fn lease(&self, id: &TaskId) -> Result<Option<Lease>, Error> {
        let leases = self.store().read(self.list_id())?.leases()?;
        Ok(leases.into_iter().find(|lease| lease.task == *id))
    }
}

/// A task that an agent holds, as long as the lease is valid. Clones hold the same task.
#[derive(Clone, Debug)]
pub struct Hold {
    /// A yard that acts as the agent and proves the lease.
    pub yard: Yard,
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The revision at which the agent got the task. Earlier history is ignored.
    pub since: Revision,
}

impl Hold {
    /// Returns whether the lease is still valid, without renewing it.
    pub fn is_ours(&self) -> Result<bool, Error> {
        let list = self.yard.store().read(self.yard.list_id())?;
        let Some(lease) = list.leases()?.into_iter().find(|lease| lease.task == self.task) else { return Ok(false) };
        let is_held = list.find(&self.task)?.task().is_some_and(|task| holds(&lease, &task));
        Ok(is_held && lease.token == self.token && self.yard.judge(&lease)?.is_alive())
    }

    /// Renews the lease. Returns what became of the task if that is refused, otherwise `None`.
    pub fn renew(&self) -> Result<Option<Fate>, Error> {
        match self.yard.renew(&self.task, self.token, None)? {
            Outcome::Done(_) => Ok(None),
            Outcome::Refused(_) => self.fate().map(Some),
        }
    }

    /// Returns what became of the task after its lease became invalid.
    pub fn fate(&self) -> Result<Fate, Error> {
        let task = self.yard.store().read(self.yard.list_id())?.find(&self.task)?.task();
        let query = HistoryQuery { task: Some(self.task.clone()), since: self.since, ..HistoryQuery::default() };
        let mut since = Vec::new();
        for page in self.yard.history_in_pages(query)? {
            since.extend(page?.into_iter().filter(matters));
        }
        Ok(judge_fate(task.as_ref(), &since, self.yard.actor()))
    }
}

/// A lease is renewed when this fraction (1/PARTS) of its TTL has passed, so that two renewals may fail before it
/// expires.
const PARTS: u32 = 3;
/// The longest delay before the next attempt after a failure.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);
/// How often a lease without a TTL is checked.
const WITHOUT_TIME: Duration = Duration::from_secs(60);

/// Renews a lease on its own thread until it is finished or dropped, or the lease is lost.
#[derive(Debug)]
pub struct Keeper {
    hold: Hold,
    tell: Sender<KeeperSignal>,
    thread: Option<JoinHandle<Option<Loss>>>,
}

/// Makes a keeper check at once whether the lease is still valid.
#[derive(Clone, Debug)]
pub struct Nudge {
    hold: Hold,
    tell: Sender<KeeperSignal>,
}

#[derive(Debug)]
enum KeeperSignal {
    Look,
    Finish,
}

impl Yard {
    /// Keeps a lease of the actor alive while it works on the task. The keeper calls `lost` once, on its own thread,
    /// when the task is no longer the actor's: another agent overrode the lease, the task was removed, or the store was
    /// unreachable for the lease's whole TTL. The actor must stop working then. `lost` is not called if the actor
    /// completed the task itself.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use taskyard::core::{AgentName, ListId, Rules};
    /// # use taskyard::operations::{Claim, NewTask};
    /// # use taskyard::store::MemoryStore;
    /// # use taskyard::{Outcome, Yard};
    /// # let store = Arc::new(MemoryStore::new(Rules::Strict));
    /// # let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("ana")?);
    /// # yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?;
    /// let Outcome::Done(claimed) = yard.claim_next(&Claim::default())? else { panic!("it is ready") };
    /// let keeper = yard.keep(&claimed.lease, |loss| eprintln!("stop: {loss}"))?;
    /// // The work, however long it takes.
    /// assert_eq!(keeper.finish(), None, "it was ours to the end");
    /// yard.proving(claimed.lease.token).done(&claimed.task.id)?.done()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep(&self, lease: &Lease, lost: impl FnOnce(&Loss) + Send + 'static) -> Result<Keeper, Error> {
        let since = self.store().read(self.list_id())?.revision();
        let hold = Hold { yard: self.proving(lease.token), task: lease.task.clone(), token: lease.token, since };
        Ok(Keeper::of(hold, lease.ttl.unwrap_or(WITHOUT_TIME * PARTS), lost))
    }
}

impl Keeper {
    /// Starts to renew a lease with the given TTL. `lost` is called once, on another thread, if the lease is lost.
    pub fn of(hold: Hold, ttl: Duration, lost: impl FnOnce(&Loss) + Send + 'static) -> Self {
        let (tell, hear) = mpsc::channel();
        let work = {
            let hold = hold.clone();
            move || keep(&hold, ttl, &hear).inspect(|loss| lost(loss))
        };
        let thread = thread::Builder::new().name("lease".into()).spawn(work);
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "a lease is not renewed")).ok();
        Self { hold, tell, thread }
    }

    /// Returns a handle that makes the keeper check at once.
    pub fn nudge(&self) -> Nudge {
        Nudge { hold: self.hold.clone(), tell: self.tell.clone() }
    }

    /// Stops renewing. Returns how the task was lost, or `None` if it was not.
    pub fn finish(mut self) -> Option<Loss> {
        self.end()
    }

    fn end(&mut self) -> Option<Loss> {
        let _ = self.tell.send(KeeperSignal::Finish);
        self.thread.take()?.join().ok()?
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Nudge {
    /// Makes the keeper check if the lease seems to be no longer valid.
    pub fn look(&self) {
        let is_ours = self.hold.is_ours().inspect_err(|error| tracing::debug!(%error, "cannot look at a lease"));
        if matches!(is_ours, Ok(false)) {
            let _ = self.tell.send(KeeperSignal::Look);
        }
    }
}

fn keep(hold: &Hold, ttl: Duration, hear: &Receiver<KeeperSignal>) -> Option<Loss> {
    let (interval, mut renewed) = (ttl / PARTS, system::since_boot());
    let mut pause = interval;
    loop {
        match hear.recv_timeout(pause) {
            Ok(KeeperSignal::Look) | Err(RecvTimeoutError::Timeout) => {}
            Ok(KeeperSignal::Finish) | Err(RecvTimeoutError::Disconnected) => return None,
        }
        // The TTL counts from when the renewal was requested.
        let asked = system::since_boot();
        match hold.renew() {
            Ok(None) => (pause, renewed) = (interval, asked),
            // The agent completed it itself, and may have something left to report.
            Ok(Some(Fate::Completed)) => return None,
            Ok(Some(Fate::Lost(loss))) => return Some(loss),
            Err(error) => {
                tracing::warn!(task = %hold.task, %error, "a lease is not renewed, trying again");
                if u128::from((system::since_boot() - renewed).unsigned_abs()) >= ttl.as_nanos() {
                    return Some(Loss::NotRenewed);
                }
                pause = interval.min(AFTER_A_FAILURE);
            }
        }
    }
}
