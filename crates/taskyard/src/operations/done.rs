//! Starts, completes, cancels and reopens tasks, one or several.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;
use taskyard_core::rules::changes::patching::{OwnerChange, Patch};
use taskyard_core::rules::changes::transitions::demanded_checks;
use taskyard_core::rules::graph::parts::with_open_parts;
use taskyard_core::rules::hooks::HookEvent;
use taskyard_core::rules::leases::leasing::reopens;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Event, Job, Metadata, Op, Rules, Status, Task, TaskId};

use super::changing::{change_as_the_client, change_or_tell};
use super::{Possible, Update, Updated};
use crate::operations::RefusedTask;
use crate::operations::outcome::{Halt, once};
use crate::operations::staged_tasks::{sign, with_owner, with_revision};
use crate::store::{StoreError, Txn};
use crate::teams::Seat;
use crate::{Error, Outcome, Yard};

/// A change that can be made to several tasks at once.
#[derive(Clone, Debug)]
pub enum Move {
    /// Sets the status to in_progress.
    Start,
    /// Completes them.
    Done,
    /// Completes them as cancelled.
    Cancel,
    /// Makes them pending again, without an owner.
    Reopen,
    /// Makes them pending again; their owners keep them, with a lease of this TTL.
    ReopenForOwner(Duration),
    /// Changes their fields and edges.
    Update(Box<Update>),
}

impl Move {
    /// Returns the update for a task.
    fn of(&self, task: &Task) -> Update {
        match self {
            Self::Start => to(Status::InProgress, no_longer_cancelled(task)),
            Self::Done => to(Status::Completed, no_longer_cancelled(task)),
            Self::Cancel => to(Status::Completed, Some(cancelled(Value::Bool(true)))),
            Self::Reopen => reopening(task),
            Self::ReopenForOwner(ttl) => {
                Update { lease_for_owner: Some(*ttl), ..to(Status::Pending, no_longer_cancelled(task)) }
            }
            Self::Update(update) => update.as_ref().clone().for_task(task),
        }
    }
}

impl Yard {
    /// Applies a move to tasks, all in one commit or none. They are judged together.
    pub fn move_together(&self, ids: &[TaskId], wanted: &Move) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all(&once(ids), |task| wanted.of(task))
    }

    /// Applies a move to those of several tasks that allow it, and returns the refusals of the others.
    pub fn move_possible(&self, ids: &[TaskId], wanted: &Move) -> Result<Possible<Updated>, Error> {
        self.change_possible(&once(ids), |task| wanted.of(task))
    }

    /// Starts a task: its status becomes in_progress.
    pub fn start(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| to(Status::InProgress, no_longer_cancelled(task)))
    }

    /// Completes tasks, all in one commit or none: a task and its parts can be completed together, in any order.
    pub fn done_together(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all(&once(ids), |task| to(Status::Completed, no_longer_cancelled(task)))
    }

    /// Cancels tasks, all in one commit or none.
    pub(crate) fn cancel_together(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all(&once(ids), |_| to(Status::Completed, Some(cancelled(Value::Bool(true)))))
    }

    /// Cancels tasks with all their open parts, all in one commit or none.
    pub fn cancel_with_parts(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Updated>>, Error> {
        let tasks = self.store().read(self.list_id())?.tasks()?;
        self.cancel_together(&with_open_parts(ids, &tasks))
    }

    /// Returns the tasks together with all their open parts.
    pub fn with_open_parts(&self, ids: &[TaskId]) -> Result<Vec<TaskId>, Error> {
        let tasks = self.store().read(self.list_id())?.tasks()?;
        Ok(with_open_parts(ids, &tasks))
    }

    /// Completes a task. A cancelled task counts as done from now on.
    pub fn done(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| to(Status::Completed, no_longer_cancelled(task)))
    }

    /// Cancels a task: it counts as completed, and `metadata.cancelled` says that it was not done.
    pub fn cancel(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, |_| to(Status::Completed, Some(cancelled(Value::Bool(true)))))
    }

    /// Makes a task pending again, without an owner, whether it was completed or cancelled.
    pub fn reopen(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, reopening)
    }

    /// Reopens the task of a job that failed, timed out or was lost, on the list that the job was started for. Changes
    /// nothing if the job did not ask for that, or if the task's state in the transaction does not call for it.
    pub fn reopen_task_of(&self, job: &Job) -> Result<Outcome<()>, Error> {
        let Some(task) = &job.task else { return Ok(Outcome::Done(())) };
        let yard = self.on(job.list.clone()).acting_as(job.agent.clone()).overruling();
        let reopened =
            yard.change(task, |task| if reopens(job, task) { reopening(task) } else { Update::default() })?;
        Ok(reopened.map(drop))
    }
}

/// Returns the update that makes a task pending again, for any agent to claim.
fn reopening(task: &Task) -> Update {
    let mut update = to(Status::Pending, no_longer_cancelled(task));
    update.patch.owner = task.owner.as_ref().map(|_| OwnerChange::Clear);
    update
}

fn to(status: Status, metadata: Option<Metadata>) -> Update {
    Update { patch: Patch { status: Some(status), metadata, ..Patch::default() }, ..Update::default() }
}

fn no_longer_cancelled(task: &Task) -> Option<Metadata> {
    task.meta("cancelled").map(|_| cancelled(Value::Null))
}

fn cancelled(value: Value) -> Metadata {
    Metadata::from_iter([("cancelled".to_owned(), value)])
}

impl Yard {
    /// Changes those of several tasks that allow it, in one commit. If hooks or checks judge the change, each task is
    /// changed in its own commit, because their verdicts are per task.
    pub(super) fn change_possible(
        &self,
        ids: &[TaskId],
        update: impl Fn(&Task) -> Update,
    ) -> Result<Possible<Updated>, Error> {
        if self.is_judged_by_others(ids)? {
            return self.change_one_by_one(ids, update);
        }
        let seat = self.seat()?;
        let update = |task: &Task| with_owner(update(task), task, seat.as_ref());
        let (mut left, mut refused) = (ids.to_vec(), Vec::new());
        if !self.store().read(self.list_id())?.exists()? {
            let missing = |task: TaskId| (task.clone(), Refusal::NoSuchTask { task });
            return Ok(Possible { done: Vec::new(), refused: left.into_iter().map(missing).collect() });
        }
        self.set_aside_unplanned(&mut left, &mut refused, &update, seat.as_ref())?;
        loop {
            let outcome = self.transact(Op::Update, |txn, signature| {
                let (updated, refused) = self.stage_possible(txn, &left, &update, seat.as_ref())?;
                sign(&updated, signature);
                Ok((updated, refused))
            })?;
            match outcome {
                Outcome::Done(((updated, also_refused), event)) => {
                    refused.extend(also_refused);
                    return Ok(self.told(updated, refused, event, seat.as_ref()));
                }
                // The limit on tasks in progress is checked when everything is staged.
                Outcome::Refused(refusal) => {
                    let Some(task) = refusal.task().filter(|task| left.contains(task)).cloned() else {
                        refused.extend(left.drain(..).map(|task| (task, refusal.clone())));
                        return Ok(Possible { done: Vec::new(), refused });
                    };
                    left.retain(|other| *other != task);
                    refused.push((task, refusal));
                }
            }
        }
    }

    fn told(
        &self,
        updated: Vec<Updated>,
        refused: Vec<RefusedTask>,
        event: Option<Event>,
        seat: Option<&Seat>,
    ) -> Possible<Updated> {
        let updated = self.noting_leases(with_revision(updated, event));
        let told = updated.into_iter().map(|updated| self.told_owner(updated, seat));
        Possible { done: told.collect(), refused }
    }

    /// Returns whether hooks or checks judge the completion of these tasks.
    fn is_judged_by_others(&self, ids: &[TaskId]) -> Result<bool, Error> {
        let Some(hooks) = self.hooks() else { return Ok(false) };
        if !hooks.find(HookEvent::TaskCompleted, None).is_empty() {
            return Ok(true);
        }
        let list = self.store().read(self.list_id())?;
        for id in ids {
            if list.find(id)?.task().is_some_and(|task| !demanded_checks(&task).is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Changes tasks one after the other. Tasks refused because of open parts are retried after those were changed.
    fn change_one_by_one(&self, ids: &[TaskId], update: impl Fn(&Task) -> Update) -> Result<Possible<Updated>, Error> {
        let mut left = ids.to_vec();
        let mut done: Vec<Updated> = Vec::new();
        let mut refused: Vec<RefusedTask> = Vec::new();
        while !left.is_empty() {
            let (before, mut again) = (done.len(), Vec::new());
            for id in left {
                let changed = match self.change_all(std::slice::from_ref(&id), &update) {
                    // The tasks before it are changed, and stay so.
                    Err(Error::Store(cause)) if !done.is_empty() => {
                        return Err(StoreError::unfinished(None, cause).into());
                    }
                    changed => changed?,
                };
                match changed {
                    Outcome::Done(updated) => done.extend(updated),
                    Outcome::Refused(refusal @ Refusal::OpenParts { .. }) => again.push((id, refusal)),
                    Outcome::Refused(refusal) => refused.push((id, refusal)),
                }
            }
            if done.len() == before {
                refused.append(&mut again);
            }
            left = again.into_iter().map(|(id, _)| id).collect();
        }
        Ok(Possible { done, refused })
    }

    /// Removes the tasks that may not start because the plan is not approved.
    fn set_aside_unplanned(
        &self,
        left: &mut Vec<TaskId>,
        refused: &mut Vec<RefusedTask>,
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<(), Error> {
        if seat.is_none() {
            return Ok(());
        }
        let list = self.store().read(self.list_id())?;
        for id in left.iter() {
            let Some(task) = list.find(id)?.task() else { continue };
            if let Some(refusal) = self.forbidden_by_plan(seat, &update(&task), &task)? {
                refused.push((id.clone(), refusal));
            }
        }
        set_aside(left, refused);
        Ok(())
    }

    /// Stages the changes of the tasks that are not refused, and returns them with the refusals.
    fn stage_possible(
        &self,
        txn: &mut dyn Txn,
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<(Vec<Updated>, Vec<RefusedTask>), Halt> {
        match self.rules() {
            Rules::Strict => self.stage_possible_strictly(txn, ids, update, seat),
            Rules::Client(_) => {
                let (mut updated, mut refused) = (Vec::new(), Vec::new());
                for id in ids {
                    match change_as_the_client(self, txn, id, update) {
                        Ok(changed) => updated.push(changed),
                        Err(Halt::Refused(refusal)) => refused.push((id.clone(), refusal)),
                        Err(halt) => return Err(halt),
                    }
                }
                Ok((updated, refused))
            }
        }
    }

    /// Each round judges all remaining tasks together and removes the refused ones. Another round is needed only if a
    /// task's verdict depended on one that was refused.
    fn stage_possible_strictly(
        &self,
        txn: &mut dyn Txn,
        ids: &[TaskId],
        update: &impl Fn(&Task) -> Update,
        seat: Option<&Seat>,
    ) -> Result<(Vec<Updated>, Vec<RefusedTask>), Halt> {
        let (mut left, mut refused) = (ids.to_vec(), Vec::new());
        loop {
            match change_or_tell(self, txn, &left, update, seat)? {
                Ok(updated) => return Ok((updated, refused)),
                Err(told) => {
                    set_aside(&mut left, &told);
                    refused.extend(told);
                }
            }
        }
    }
}

/// Removes the refused tasks.
fn set_aside(left: &mut Vec<TaskId>, refused: &[RefusedTask]) {
    let refused: HashSet<&TaskId> = refused.iter().map(|(id, _)| id).collect();
    left.retain(|id| !refused.contains(id));
}

/// Applies a function to several tasks in one transaction. `act` must not stage anything if it refuses.
pub(super) fn each<T>(
    ids: &[TaskId],
    mut act: impl FnMut(&TaskId) -> Result<T, Halt>,
) -> Result<(Vec<T>, Vec<RefusedTask>), StoreError> {
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for id in ids {
        match act(id) {
            Ok(acted) => done.push(acted),
            Err(Halt::Refused(refusal)) => refused.push((id.clone(), refusal)),
            Err(Halt::Failed(error)) => return Err(error),
        }
    }
    Ok((done, refused))
}
