//! Changing fields and edges of a task.

use crate::operations::Update;
use crate::operations::Updated;
use crate::operations::change_terms::sign;
use crate::operations::change_terms::with_revision;

use taskyard_core::rules::graph::parts::open_parts;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Proof, Rules, Status, Task, TaskId};

use super::change_terms::with_owner;
use super::changing::{change_as_the_client, change_strictly};
use super::consulting::{Consultation, Consulted};
use crate::store::{Snapshot, StoreError};
use crate::teams::Seat;
use crate::{Error, Outcome, Yard};

/// How often a change begins again because another agent reopened the task while hooks were asked.
const ATTEMPTS: u32 = 16;

impl Yard {
    /// Changes fields and edges of a task, in one commit.
    pub fn update(&self, id: &TaskId, update: Update) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| update.clone().for_task(task))
    }

    /// Changes a task as `update` says once it has seen it.
    pub(super) fn change(&self, id: &TaskId, update: impl Fn(&Task) -> Update) -> Result<Outcome<Updated>, Error> {
        let outcome = self.change_all(std::slice::from_ref(id), update)?;
        Ok(outcome.map(|mut updated| updated.remove(0)))
    }

    /// Changes tasks as `update` says once it has seen each, all of them in one commit or none. They are judged together.
    ///
    /// Where that completes a task, checks and hooks are asked first, with no lock held; the change is then made on what is there by then.
    /// Where that turns out to be a completion that no hook was asked about, it begins again.
    pub(super) fn change_all(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
    ) -> Result<Outcome<Vec<Updated>>, Error> {
        let seat = self.seat()?;
        let update = |task: &Task| with_owner(update(task), task, seat.as_ref());
        let outcome = self.change_seated(ids, update, seat.as_ref())?.map(|all| self.noting_leases(all));
        Ok(outcome.map(|all| all.into_iter().map(|updated| self.told_owner(updated, seat.as_ref())).collect()))
    }

    /// Takes note of the leases that were given: this process leaves signs of life if they live with it.
    pub(super) fn noting_leases(&self, all: Vec<Updated>) -> Vec<Updated> {
        all.iter()
            .filter_map(|updated| updated.lease.as_ref()?.holder.as_ref())
            .for_each(|holder| self.holds_now(holder));
        all
    }

    fn change_seated(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Vec<Updated>>, Error> {
        let mut has_looked_again = false;
        for attempt in 0..ATTEMPTS {
            // If a task turns out to demand a check, the next attempt looks first.
            let may_skip = attempt == 0 && seat.is_none() && self.store().reads_on_demand(self.list_id());
            let unasked = if may_skip { self.consultation_of_nobody(ids.len()) } else { None };
            let consulted =
                match unasked.map_or_else(|| self.consult_about(ids, &update, seat), |all| Ok(Outcome::Done(all)))? {
                    Outcome::Done(consulted) => consulted,
                    // A stale write of another program may have taken back the claim that the token is of.
                    Outcome::Refused(Refusal::StaleToken { .. })
                        if !has_looked_again && self.put_back_unrecorded_writes()? =>
                    {
                        has_looked_again = true;
                        continue;
                    }
                    Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
                };
            match self.change_after(&consulted.about, ids, &update, seat)? {
                Outcome::Done(Some(updated)) => return Ok(Outcome::Done(updated)),
                Outcome::Done(None) => {}
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            }
        }
        let task = ids.first().cloned().unwrap_or_else(|| TaskId::stored(""));
        Err(Error::TooManyConflicts { task, attempts: ATTEMPTS })
    }

    /// Asks hooks and checks about changes of tasks, as far as they are this agent's to make.
    fn consult_about(
        &self,
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Consultation>, Error> {
        if let Some(list) = self.store().recollect(self.list_id()) {
            let seen = self.seen_on(&*list, ids, update, seat)?;
            // The transaction reads the list anyway, and judges. Only what hooks are handed is read first.
            if let Outcome::Done(seen) = seen
                && !self.is_judged(&seen, update)
            {
                return self.consult(&seen, update);
            }
        }
        let list = self.store().read(self.list_id())?;
        let seen = self.seen_on(&*list, ids, update, seat)?;
        drop(list);
        match seen {
            Outcome::Done(seen) => self.consult(&seen, update),
            Outcome::Refused(refusal) => Ok(Outcome::Refused(refusal)),
        }
    }

    /// Returns the tasks as a list has them, as far as hooks and the rules of a team have to know; `None` for one that is not there.
    fn seen_on(
        &self,
        list: &dyn Snapshot,
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Vec<Option<Task>>>, Error> {
        if !list.exists()? {
            let task = ids.first().cloned().unwrap_or_else(|| TaskId::stored(""));
            return Ok(Outcome::Refused(Refusal::NoSuchTask { task }));
        }
        let mut seen: Vec<Option<Task>> = vec![None; ids.len()];
        if self.hooks().is_some() || seat.is_some() {
            for (place, id) in ids.iter().enumerate() {
                let Some(task) = list.find(id)?.task() else { continue };
                if let Some(refusal) = self.forbidden_by_plan(seat, &update(&task), &task)? {
                    return Ok(Outcome::Refused(refusal));
                }
                // No hook is asked about a change that is not this agent's to make.
                if let Some(refusal) = self.forbidden_by_lease(list, &task)? {
                    return Ok(Outcome::Refused(refusal));
                }
                seen[place] = Some(task);
            }
            if let Some(refusal) = self.forbidden_by_parts(list, &seen, update)? {
                return Ok(Outcome::Refused(refusal));
            }
        }
        Ok(Outcome::Done(seen))
    }

    /// Looks without a lock whether open parts forbid that tasks are completed.
    fn forbidden_by_parts(
        &self,
        list: &dyn Snapshot,
        seen: &[Option<Task>],
        update: &impl Fn(&Task) -> Update,
    ) -> Result<Option<Refusal>, StoreError> {
        let closes = |task: &&Task| {
            let to = update(task).patch.status;
            task.status.is_open() && to == Some(Status::Completed)
        };
        let closing: Vec<&Task> = seen.iter().flatten().filter(closes).collect();
        if closing.is_empty() || !self.minds_parts() {
            return Ok(None);
        }
        if let Some(live) = list.live()? {
            let refusal = |task: &&Task| {
                let mut parts = live.open_parts(&task.id);
                parts.retain(|part| closing.iter().all(|other| other.id != *part));
                (!parts.is_empty()).then(|| Refusal::OpenParts { task: task.id.clone(), parts })
            };
            return Ok(closing.iter().find_map(refusal));
        }
        let named: Vec<TaskId> = closing.iter().map(|task| task.id.clone()).collect();
        let mut tasks = list.connected(&named)?;
        for task in tasks.iter_mut().filter(|task| closing.iter().any(|other| other.id == task.id)) {
            task.status = Status::Completed;
        }
        let refusal = |task: &&Task| {
            let parts = open_parts(&task.id, &tasks);
            (!parts.is_empty()).then(|| Refusal::OpenParts { task: task.id.clone(), parts })
        };
        Ok(closing.iter().find_map(refusal))
    }

    /// Tells whether open parts stand in the way of a completion: the client knows none, and people may overrule them.
    pub(super) fn minds_parts(&self) -> bool {
        !self.rules().is_client() && self.proof() != Proof::Force
    }

    /// Changes tasks; none, and nothing changed, where it finds a completion that no hook was asked about.
    fn change_after(
        &self,
        consulted: &[Consulted],
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<Outcome<Option<Vec<Updated>>>, Error> {
        let outcome = self.transact(Op::Update, |txn, signature| {
            for (id, consulted) in ids.iter().zip(consulted).filter(|_| self.hooks().is_some()) {
                if let Some(task) = txn.find(id)?.task()
                    && !consulted.covers(&task, &update(&task), self.rules())
                {
                    return Ok(None);
                }
            }
            let updated = match self.rules() {
                Rules::Strict => change_strictly(self, txn, ids, update, seat)?,
                Rules::Client(_) => {
                    let change = |id| change_as_the_client(self, txn, id, update);
                    ids.iter().map(change).collect::<Result<_, _>>()?
                }
            };
            sign(&updated, signature);
            Ok(Some(updated))
        })?;
        Ok(outcome.map(|(updated, event)| updated.map(|updated| with_revision(updated, event))))
    }
}
