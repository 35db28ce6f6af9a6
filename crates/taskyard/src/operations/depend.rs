//! Letting a task wait for others, or no longer.

use taskyard_core::TaskId;

use super::Updated;
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Lets a task wait for others.
    pub fn depend(&self, _id: &TaskId, _on: &[TaskId]) -> Result<Outcome<Updated>, Error> {
        todo!()
    }

    /// Lets a task no longer wait for others.
    pub fn undepend(&self, _id: &TaskId, _on: &[TaskId]) -> Result<Outcome<Updated>, Error> {
        todo!()
    }
}
