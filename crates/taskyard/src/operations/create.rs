//! Making a task.

use taskyard_core::{Metadata, Revision, Task, TaskId};

use crate::{Error, Outcome, Yard};

/// A task to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    /// The title.
    pub subject: String,
    /// What there is to do.
    pub description: String,
    /// What is being done, while it is being done.
    pub active_form: Option<String>,
    /// Who has it.
    pub owner: Option<String>,
    /// The tasks that will wait for it.
    pub blocks: Vec<TaskId>,
    /// The tasks it will wait for.
    pub blocked_by: Vec<TaskId>,
    /// What else is kept with it.
    pub metadata: Option<Metadata>,
}

/// A task that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The task, with its new number.
    pub task: Task,
    /// The commit that made it.
    pub revision: Revision,
}

impl Yard {
    /// Makes a task, and the list where there is none yet.
    pub fn create(&self, _new: NewTask) -> Result<Outcome<Created>, Error> {
        todo!()
    }
}
