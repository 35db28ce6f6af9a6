//! Changing fields and edges of a task.

use taskyard_core::rules::patching::{Field, Patch};
use taskyard_core::{Revision, Status, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// What is to change about a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// The fields to change.
    pub patch: Patch,
    /// Tasks that shall wait for this one.
    pub add_blocks: Vec<TaskId>,
    /// Tasks this one shall wait for.
    pub add_blocked_by: Vec<TaskId>,
    /// Tasks that shall no longer wait for this one.
    pub remove_blocks: Vec<TaskId>,
    /// Tasks this one shall no longer wait for.
    pub remove_blocked_by: Vec<TaskId>,
}

/// A task that was changed, or was already as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The task as it is now.
    pub task: Task,
    /// The fields that changed, in the order the client reports them.
    pub updated: Vec<Field>,
    /// The status before and after, where it changed.
    pub status_change: Option<(Status, Status)>,
    /// The commit; none where nothing changed.
    pub revision: Option<Revision>,
    /// The tasks that can start now because this one was completed.
    pub now_ready: Vec<TaskId>,
    /// The open tasks this one was completed in spite of.
    pub open_blockers: Vec<TaskId>,
    /// The tasks that wait for this one and were already started when it was reopened.
    pub dependents_started: Vec<TaskId>,
}

impl Yard {
    /// Changes fields and edges of a task, in one commit.
    pub fn update(&self, _id: &TaskId, _update: Update) -> Result<Outcome<Updated>, Error> {
        todo!()
    }
}
