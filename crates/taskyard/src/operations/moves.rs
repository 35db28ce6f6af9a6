//! The moves people make with a task.

use std::time::Duration;

use serde_json::Value;
use taskyard_core::rules::changes::patching::{OwnerChange, Patch};
use taskyard_core::rules::graph::parts::with_open_parts;
use taskyard_core::rules::leases::job_fate::reopens;
use taskyard_core::{Job, Metadata, Status, Task, TaskId};

use super::named_once::once;
use super::{Possible, Update, Updated};
use crate::{Error, Outcome, Yard};

/// A move that can be made with several tasks at once.
#[derive(Clone, Debug)]
pub enum Move {
    /// Their status becomes in_progress.
    Start,
    /// They are completed.
    Done,
    /// They are completed without having been done.
    Cancel,
    /// They are pending again, and without an owner.
    Reopen,
    /// They are pending again; their owners keep them, with a lease for a time.
    ReopenForOwner(Duration),
    /// Their fields and edges change.
    Update(Box<Update>),
}

impl Move {
    /// Returns what the move changes about a task.
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
    /// Makes a move with tasks, with all of them in one commit or with none. They are judged together.
    pub fn move_together(&self, ids: &[TaskId], wanted: &Move) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all(&once(ids), |task| wanted.of(task))
    }

    /// Makes a move with those of several tasks with which it can be made, and tells of the others.
    pub fn move_possible(&self, ids: &[TaskId], wanted: &Move) -> Result<Possible<Updated>, Error> {
        self.change_possible(&once(ids), |task| wanted.of(task))
    }

    /// Starts a task: its status becomes in_progress.
    pub fn start(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| to(Status::InProgress, no_longer_cancelled(task)))
    }

    /// Completes tasks, all of them in one commit or none: a task and its parts can be closed in any order.
    pub fn done_together(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all(&once(ids), |task| to(Status::Completed, no_longer_cancelled(task)))
    }

    /// Cancels tasks, all of them in one commit or none.
    pub(crate) fn cancel_together(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Updated>>, Error> {
        self.change_all(&once(ids), |_| to(Status::Completed, Some(cancelled(Value::Bool(true)))))
    }

    /// Cancels tasks with all their open parts, in one commit or none of them.
    pub fn cancel_with_parts(&self, ids: &[TaskId]) -> Result<Outcome<Vec<Updated>>, Error> {
        let tasks = self.store().read(self.list_id())?.tasks()?;
        self.cancel_together(&with_open_parts(ids, &tasks))
    }

    /// Returns tasks with all their open parts.
    pub fn with_open_parts(&self, ids: &[TaskId]) -> Result<Vec<TaskId>, Error> {
        let tasks = self.store().read(self.list_id())?.tasks()?;
        Ok(with_open_parts(ids, &tasks))
    }

    /// Completes a task; one that was cancelled counts as done from now on.
    pub fn done(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, |task| to(Status::Completed, no_longer_cancelled(task)))
    }

    /// Cancels a task: it counts as completed, and `metadata.cancelled` says that it was not done.
    pub fn cancel(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, |_| to(Status::Completed, Some(cancelled(Value::Bool(true)))))
    }

    /// Makes a task pending again, cancelled or not, and without an owner.
    pub fn reopen(&self, id: &TaskId) -> Result<Outcome<Updated>, Error> {
        self.change(id, reopening)
    }

    /// Reopens the task of a job that failed, timed out or was lost, on the list that the job was started for. Changes nothing if the job did not
    /// wish for that, or if the task as it stands in the transaction that writes it is not to be reopened.
    pub fn reopen_task_of(&self, job: &Job) -> Result<Outcome<()>, Error> {
        let Some(task) = &job.task else { return Ok(Outcome::Done(())) };
        let yard = self.on(job.list.clone()).acting_as(job.agent.clone()).overruling();
        let reopened =
            yard.change(task, |task| if reopens(job, task) { reopening(task) } else { Update::default() })?;
        Ok(reopened.map(drop))
    }
}

/// Returns what makes a task pending again, for any agent to take.
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
