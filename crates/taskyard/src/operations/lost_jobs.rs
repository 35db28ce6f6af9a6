//! What the jobs of this machine do for a checkup and for tasks.

use taskyard_core::Job;

use super::JobChecks;
use crate::jobs::Jobs;
use crate::opening::Address;
use crate::{Error, Outcome, Yard};

impl Jobs {
    /// Reopens the tasks whose jobs failed, timed out or were lost, if that was wished and no other process has done it: on every list of the
    /// yard's store, whose address this is. Called before a command looks at a list or changes it.
    pub fn reopen_tasks(&self, yard: &Yard, address: &Address) -> Result<(), Error> {
        if !self.may_reopen_tasks() {
            return Ok(());
        }
        self.settle_reopenings(&address.to_string(), |job| match yard.reopen_task_of(job)? {
            Outcome::Done(()) => Ok(None),
            Outcome::Refused(refusal) => Ok(Some(refusal)),
        })
    }
}

impl JobChecks for Jobs {
    fn without_process(&self) -> Result<Vec<Job>, Error> {
        Ok(self.recorded_without_process()?)
    }

    fn end_without_process(&self) -> Result<Vec<Job>, Error> {
        Ok(self.reconcile()?)
    }
}
