//! Letting a task wait for others, or no longer.

use taskyard_core::TaskId;

use super::{Update, Updated};
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Lets a task wait for others.
    pub fn depend(&self, id: &TaskId, on: &[TaskId]) -> Result<Outcome<Updated>, Error> {
        self.update(id, Update { add_blocked_by: on.to_vec(), ..Update::default() })
    }

    /// Lets a task no longer wait for others.
    pub fn undepend(&self, id: &TaskId, on: &[TaskId]) -> Result<Outcome<Updated>, Error> {
        self.update(id, Update { remove_blocked_by: on.to_vec(), ..Update::default() })
    }
}
