//! Renews leases and releases tasks.

use std::time::Duration;

use taskyard_core::rules::agents::{Departure, departure_notice, given_back, left_behind};
use taskyard_core::rules::changes::notes::with_note;
use taskyard_core::rules::claims::claiming::with_failed_attempt;
use taskyard_core::rules::leases::leasing::{DEFAULT_LEASE, LeaseState, stale};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, Event, Lease, Op, ProcessMark, Revision, Status, Task, TaskId, Token};

use super::Possible;
use crate::operations::done::each;
use crate::operations::lease_upkeep::lease_on;
use crate::operations::outcome::{Halt, once};
use crate::store::Txn;
use crate::{Error, Outcome, Yard};

/// A released task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// The task as it is now.
    pub task: Task,
    /// The commit; `None` if the task was not changed.
    pub revision: Option<Revision>,
}

/// What an agent left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// The released tasks as they are now.
    pub tasks: Vec<Task>,
    /// The notice for the remaining members.
    pub notice: String,
    /// The commit; `None` if nothing was released.
    pub revision: Option<Revision>,
}

impl Departed {
    /// Combines what the agent left behind in this list and in another.
    pub(super) fn with(self, other: Self, agent: &AgentName, departure: Departure) -> Self {
        let tasks = [self.tasks, other.tasks].concat();
        let notice = departure_notice(agent, departure, tasks.iter());
        Self { tasks, notice, revision: other.revision.or(self.revision) }
    }
}

impl Yard {
    /// Renews a lease, optionally with another TTL. The token proves it.
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
                // The agent is alive but the server it claimed through is not: from now on the lease expires by time.
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

    /// Releases a task: it becomes pending, without an owner.
    pub fn release(&self, id: &TaskId) -> Result<Outcome<Released>, Error> {
        self.release_changed(id, |_| {})
    }

    /// Releases tasks, all in one commit or none.
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

    /// Releases those of several tasks that can be released, in one commit, and returns the refusals of the others.
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

    /// Releases a task and changes it in the same commit.
    pub(super) fn release_changed(&self, id: &TaskId, change: impl Fn(&mut Task)) -> Result<Outcome<Released>, Error> {
        if !self.store().has(self.list_id())? {
            return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() }));
        }
        let outcome = self.transact(Op::Release, |txn, _| self.stage_release(txn, id, &change))?;
        Ok(outcome.map(|((task, _), event)| Released { task, revision: event.map(|event| event.revision) }))
    }

    /// Stages the release of a task. Returns the task, and whether it was changed.
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

    /// Releases all tasks leased to the agents of a client, whatever their names: the leases are bound to the client's
    /// process or to one of its servers. The task of a run stays with `work`. Returns the released tasks.
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

    /// Releases all tasks of an agent in one commit, and notifies the remaining members of the list's team, except the
    /// actor. `bob` and `bob@team` are the same agent.
    pub fn depart(&self, agent: &AgentName, departure: Departure) -> Result<Departed, Error> {
        let departed = self.give_back_all(agent, departure)?;
        if !departed.tasks.is_empty() {
            self.tell_remaining(agent, &departed.notice, Some(self.actor()));
        }
        Ok(departed)
    }

    /// Releases all tasks of an agent in one commit, with a notice for the remaining members.
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
            // Tasks released because the agent's leases expired just now belong to the departure, too.
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

/// Sets the commit on the tasks that were changed.
fn released(tasks: Vec<(Task, bool)>, event: Option<&Event>) -> Vec<Released> {
    let revision = event.map(|event| event.revision);
    tasks.into_iter().map(|(task, had)| Released { task, revision: revision.filter(|_| had) }).collect()
}

impl Yard {
    /// Releases a task after a failed attempt: the reason is noted and the attempt counted, in the same commit.
    pub fn give_back_failed(&self, id: &TaskId, reason: &str) -> Result<Outcome<Released>, Error> {
        let note = self.new_note(reason)?;
        self.release_changed(id, |task| *task = with_failed_attempt(&with_note(task, &note)))
    }

    /// Releases a task after an interruption: the reason is noted, and no attempt is counted.
    pub fn give_back_interrupted(&self, id: &TaskId, reason: &str) -> Result<Outcome<Released>, Error> {
        let note = self.new_note(reason)?;
        self.release_changed(id, |task| *task = with_note(task, &note))
    }
}
