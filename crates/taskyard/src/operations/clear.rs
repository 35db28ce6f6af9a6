//! Emptying a list.

use taskyard_core::{Op, Revision, Task};

use crate::{Error, Outcome, Yard};

/// A list that was emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The tasks as they last were.
    pub tasks: Vec<Task>,
    /// Tasks that were missing already, as they last were: they no longer count as that.
    pub missing: Vec<Task>,
    /// The commit; none where there was nothing to remove.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Removes every task of the list. Their numbers are not given out again. Those that are missing count as deleted on purpose
    /// from then on.
    pub fn clear(&self) -> Result<Outcome<Cleared>, Error> {
        let list = self.store().read(self.list_id())?;
        if !list.exists()? && self.missing(&list.tasks()?, &list.problems()?)?.is_empty() {
            return Ok(Outcome::Done(Cleared { tasks: Vec::new(), missing: Vec::new(), revision: None }));
        }
        drop(list);
        let outcome = self.transact(Op::Clear, |txn, _| {
            let tasks = txn.tasks()?;
            self.respect_leases(txn, &tasks)?;
            let missing = self.missing(&tasks, &txn.problems()?)?;
            txn.clear()?;
            for removed in &missing {
                txn.note_absent(&removed.task.id)?;
            }
            Ok((tasks, missing.into_iter().map(|removed| removed.task).collect()))
        })?;
        Ok(outcome.map(|((tasks, missing), event)| Cleared {
            tasks,
            missing,
            revision: event.map(|event| event.revision),
        }))
    }
}
