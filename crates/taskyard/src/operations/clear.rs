//! Emptying a list.

use taskyard_core::{Op, Revision, Task};

use crate::{Error, Outcome, Yard};

/// A list that was emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The tasks as they last were.
    pub tasks: Vec<Task>,
    /// The commit; none where there was nothing to remove.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Removes every task of the list. Their numbers are not given out again.
    pub fn clear(&self) -> Result<Outcome<Cleared>, Error> {
        if !self.store().read(self.list_id())?.exists() {
            return Ok(Outcome::Done(Cleared { tasks: Vec::new(), revision: None }));
        }
        let outcome = self.transact(Op::Clear, |txn, _| {
            let tasks = txn.tasks()?;
            self.respect_leases(txn, &tasks)?;
            txn.clear()?;
            Ok(tasks)
        })?;
        Ok(outcome.map(|(tasks, event)| Cleared { tasks, revision: event.map(|event| event.revision) }))
    }
}
