//! Opening the tasks of jobs again that failed or were lost.

use taskyard_core::Job;
use taskyard_core::rules::leases::job_fate::reopens;
use taskyard_core::rules::refusal::Refusal;

use super::Update;
use super::moves::reopening;
use crate::jobs::Jobs;
use crate::opening::Address;
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Opens the tasks again whose jobs failed, ran out of time or were lost, where that was wished and no other process has done it: on
    /// every list of the store, whose address this is. A command calls this before it looks at a list or changes it.
    pub fn reopen_tasks_of_jobs(&self, jobs: &Jobs, address: &Address) -> Result<(), Error> {
        if !jobs.may_reopen_tasks() {
            return Ok(());
        }
        jobs.settle_reopenings(&address.to_string(), |job| self.reopen_task_of(job))
    }

    /// Opens the task of a job again, if the task as it stands in the transaction that writes it is to be opened.
    fn reopen_task_of(&self, job: &Job) -> Result<Option<Refusal>, Error> {
        let Some(task) = &job.task else { return Ok(None) };
        let yard = self.on(job.list.clone()).acting_as(job.agent.clone()).overruling();
        let reopened =
            yard.change(task, |task| if reopens(job, task) { reopening(task) } else { Update::default() })?;
        Ok(match reopened {
            Outcome::Done(_) => None,
            Outcome::Refused(refusal) => Some(refusal),
        })
    }
}
