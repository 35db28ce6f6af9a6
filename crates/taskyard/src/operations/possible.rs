//! Changing those of several tasks that can be changed, and telling of the others.

use crate::operations::Possible;
use crate::operations::RefusedTask;
use std::collections::HashSet;

use taskyard_core::rules::changes::verifying::demanded_checks;
use taskyard_core::rules::hooks::hooking::HookEvent;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Event, Op, Rules, Task, TaskId};

use super::change_terms::with_owner;
use super::change_terms::{sign, with_revision};
use super::changing::{change_as_the_client, change_or_tell};
use super::halt::Halt;
use super::{Update, Updated};
use crate::store::{StoreError, Txn};
use crate::teams::Seat;
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Changes those of several tasks that can be changed, in one commit. Where hooks or checks judge, each is changed in a commit of its own:
    /// what they forbid is known one by one.
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
                // The limit of what may be in progress is counted when everything is staged.
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

    /// Tells whether hooks or checks judge whether these tasks may be completed.
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

    /// Changes tasks one after the other. What is refused because of open parts is tried once more when those were changed.
    fn change_one_by_one(&self, ids: &[TaskId], update: impl Fn(&Task) -> Update) -> Result<Possible<Updated>, Error> {
        let mut left = ids.to_vec();
        let mut done: Vec<Updated> = Vec::new();
        let mut refused: Vec<RefusedTask> = Vec::new();
        while !left.is_empty() {
            let (before, mut again) = (done.len(), Vec::new());
            for id in left {
                let changed = match self.change_all(std::slice::from_ref(&id), &update) {
                    // Those before it are changed, and stay so.
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

    /// Takes out the tasks that a plan which is not approved forbids to begin.
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

    /// Stages the changes of those tasks of which none is refused, and returns them with the others.
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

    /// Every round judges all that are left together and sets all refused aside; one more is only needed where a task was judged by what
    /// was refused in the last.
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

/// Takes those out that were refused.
fn set_aside(left: &mut Vec<TaskId>, refused: &[RefusedTask]) {
    let refused: HashSet<&TaskId> = refused.iter().map(|(id, _)| id).collect();
    left.retain(|id| !refused.contains(id));
}

/// Does something with each of several tasks in one transaction, in which a refusal stages nothing.
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
