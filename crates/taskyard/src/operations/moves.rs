//! The moves people make with a task.

use taskyard_core::TaskId;

use super::Updated;
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Starts a task: its status becomes in_progress.
    pub fn start(&self, _id: &TaskId) -> Result<Outcome<Updated>, Error> {
        todo!()
    }

    /// Completes a task.
    pub fn done(&self, _id: &TaskId) -> Result<Outcome<Updated>, Error> {
        todo!()
    }

    /// Cancels a task: it counts as completed, and `metadata.cancelled` says that it was not done.
    pub fn cancel(&self, _id: &TaskId) -> Result<Outcome<Updated>, Error> {
        todo!()
    }

    /// Makes a task pending again, cancelled or not.
    pub fn reopen(&self, _id: &TaskId) -> Result<Outcome<Updated>, Error> {
        todo!()
    }
}
