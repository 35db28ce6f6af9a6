//! Keeping a task, and giving it back.

use std::time::Duration;

use taskyard_core::rules::agents::departing::{Departure, departure_notice, given_back, left_behind};
use taskyard_core::rules::leases::leasing::{DEFAULT_LEASE, LeaseState, stale};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, Event, Lease, Op, ProcessMark, Revision, Status, Task, TaskId, Token};

use super::Possible;
use super::halt::Halt;
use super::leases::lease_on;
use super::named_once::once;
use super::possible::each;
use crate::store::Txn;
use crate::{Error, Outcome, Yard};

/// A task that was given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// The task as it is now.
    pub task: Task,
    /// The commit; none where it had no owner.
    pub revision: Option<Revision>,
}

/// What an agent left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// The tasks that came back, as they are now.
    pub tasks: Vec<Task>,
    /// The text for the members that remain.
    pub notice: String,
    /// The commit; none where nothing came back.
    pub revision: Option<Revision>,
}

impl Departed {
    /// Returns what the agent left behind in this list and in another.
    pub(super) fn with(self, other: Self, agent: &AgentName, departure: Departure) -> Self {
        let tasks = [self.tasks, other.tasks].concat();
        let notice = departure_notice(agent, departure, tasks.iter());
        Self { tasks, notice, revision: other.revision.or(self.revision) }
    }
}

impl Yard {
    /// Gives a lease its time again, or another time; its token proves it.
    pub fn renew(&self, id: &TaskId, token: Token, ttl: Option<Duration>) -> Result<Outcome<(Task, Lease)>, Error> {
        if !self.store().has(self.list_id())? {
            return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() }));
        }
        let outcome = self.transact(Op::Claim, |txn, _| {
            let task = txn.find(id)?.task().ok_or_else(|| Refusal::NoSuchTask { task: id.clone() })?;
            self.proving(token).respect_lease(txn, &task)?;
            let lease = lease_on(txn, &task)?.ok_or_else(|| stale(&task, token))?;
            let now = self.now()?;
            let lease = match self.world().judge_at(&lease, &now) {
                // The agent that renews lives, and the server it claimed through does not: from now on the lease lives by time.
                LeaseState::Lapsing(_) => Lease { holder: None, ttl: lease.ttl.or(Some(DEFAULT_LEASE)), ..lease },
                _ => lease,
            };
            let ttl = ttl.or(lease.ttl);
            let ends = ttl.map(|ttl| now.after(ttl)).or(lease.ends);
            let lease = Lease { ttl, ends, ..lease };
            txn.set_lease(lease.clone())?;
            Ok((task, lease))
        })?;
        Ok(outcome.map(|(renewed, _)| renewed))
    }

    /// Gives a task back: it is pending again, and without an owner.
    pub fn release(&self, id: &TaskId) -> Result<Outcome<Released>, Error> {
        self.release_changed(id, |_| {})
    }

    /// Gives tasks back, all of them in one commit or none.
    pub fn release_together(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Released>>, Error> {
        if let (Some(task), false) = (ids.first(), self.store().read(self.list_id())?.exists()?) {
            return Ok(Outcome::Refused(Refusal::NoSuchTask { task: task.clone() }));
        }
        let ids = once(ids);
        let outcome = self.transact(Op::Release, |txn, _| {
            ids.iter().map(|id| self.stage_release(txn, id, &|_| {})).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(outcome.map(|(tasks, event)| released(tasks, event.as_ref())))
    }

    /// Gives back those of several tasks that can be given back, in one commit, and tells of the others.
    pub fn release_possible(&self, ids: &[TaskId]) -> Result<Possible<Released>, Error> {
        let ids = once(ids);
        if !self.store().read(self.list_id())?.exists()? {
            let missing = |task: TaskId| (task.clone(), Refusal::NoSuchTask { task });
            return Ok(Possible { done: Vec::new(), refused: ids.into_iter().map(missing).collect() });
        }
        let outcome =
            self.transact(Op::Release, |txn, _| Ok(each(&ids, |id| self.stage_release(txn, id, &|_| {}))?))?;
        Ok(match outcome {
            Outcome::Done(((tasks, refused), event)) => Possible { done: released(tasks, event.as_ref()), refused },
            Outcome::Refused(refusal) => {
                let refused = ids.into_iter().map(|task| (task, refusal.clone())).collect();
                Possible { done: Vec::new(), refused }
            }
        })
    }

    /// Gives a task back and changes it in the same commit.
    pub(super) fn release_changed(&self, id: &TaskId, change: impl Fn(&mut Task)) -> Result<Outcome<Released>, Error> {
        if !self.store().has(self.list_id())? {
            return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() }));
        }
        let outcome = self.transact(Op::Release, |txn, _| self.stage_release(txn, id, &change))?;
        Ok(outcome.map(|((task, _), event)| Released { task, revision: event.map(|event| event.revision) }))
    }

    /// Stages that a task is given back, and returns it with whether it had an owner.
    fn stage_release(&self, txn: &mut dyn Txn, id: &TaskId, change: &dyn Fn(&mut Task)) -> Result<(Task, bool), Halt> {
        let task = txn.find(id)?.task().ok_or_else(|| Refusal::NoSuchTask { task: id.clone() })?;
        self.respect_lease(txn, &task)?;
        if task.status == Status::Completed {
            return Err(Refusal::AlreadyCompleted { task: id.clone() }.into());
        }
        let mut after = given_back(&task);
        change(&mut after);
        let is_changed = after != task;
        if is_changed {
            txn.put(after)?;
        }
        Ok((txn.find(id)?.task().unwrap_or(task), is_changed))
    }

    /// Gives back what is leased to the agents of a client, whatever their names: it lives with the process of the client, or with one of its
    /// servers. The task of a run stays with `work`. Returns the tasks that came back.
    pub fn release_of_client(&self, client: &ProcessMark) -> Result<Vec<Task>, Error> {
        let mut leases = self.store().read(self.list_id())?.leases()?;
        leases.retain(|lease| lease.holder.as_ref().is_some_and(|holder| self.world().lives_with(holder, client)));
        leases.retain(|lease| self.run().is_none_or(|run| run.task != lease.task));
        let mut returned = Vec::new();
        for lease in leases {
            if let Outcome::Done(released) = self.acting_as(lease.agent).proving(lease.token).release(&lease.task)? {
                returned.push(released.task);
            }
        }
        Ok(returned)
    }

    /// Gives back everything an agent has, in one commit, and tells the members that remain in the team whose list this is, except the
    /// actor. `bob` and `bob@team` are one.
    pub fn depart(&self, agent: &AgentName, departure: Departure) -> Result<Departed, Error> {
        let departed = self.give_back_all(agent, departure)?;
        if !departed.tasks.is_empty() {
            self.tell_remaining(agent, &departed.notice, Some(self.actor()));
        }
        Ok(departed)
    }

    /// Gives back everything an agent has, in one commit, with a notice for the members that remain.
    pub(super) fn give_back_all(&self, agent: &AgentName, departure: Departure) -> Result<Departed, Error> {
        let nothing =
            || Departed { tasks: Vec::new(), notice: departure_notice(agent, departure, [].iter()), revision: None };
        let had = left_behind(&self.store().read(self.list_id())?.tasks()?, agent);
        if had.is_empty() {
            return Ok(nothing());
        }
        let outcome = self.seeing_off(agent).transact(Op::Release, |txn, signature| {
            let present = txn.tasks()?;
            let tasks = left_behind(&present, agent);
            for task in &tasks {
                txn.put(task.clone())?;
            }
            // What its leases held came back when they ended, this moment.
            let returned = present.into_iter().filter(|task| had.iter().any(|had| had == task));
            let mut tasks: Vec<Task> = returned.chain(tasks).collect();
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
            let notice = departure_notice(agent, departure, tasks.iter());
            signature.remark.notice = Some(notice.clone());
            Ok((tasks, notice))
        })?;
        Ok(match outcome {
            Outcome::Done(((tasks, notice), event)) => {
                Departed { tasks, notice, revision: event.map(|event| event.revision) }
            }
            Outcome::Refused(_) => nothing(),
        })
    }
}

/// Adds the commit to those tasks that an agent had.
fn released(tasks: Vec<(Task, bool)>, event: Option<&Event>) -> Vec<Released> {
    let revision = event.map(|event| event.revision);
    tasks.into_iter().map(|(task, had)| Released { task, revision: revision.filter(|_| had) }).collect()
}
