//! Opening the tasks of jobs again that did not complete.

use taskyard::core::{Job, ListId};
use taskyard::jobs::Jobs;
use taskyard::opening::WrittenAddress;
use taskyard::process::Cancel;

use crate::arguments::Globals;
use crate::context::Context;
use crate::environment::Environment;
use crate::problem::Problem;

/// Opens the task of a job again, where that is to be; what keeps it from that is for the log alone.
pub(crate) fn reopen_task_of(jobs: &Jobs, job: &Job, environment: &Environment) {
    let globals = Globals {
        list: Some(job.list.as_str().to_owned()),
        store: Some(WrittenAddress::new(job.store.clone())),
        agent: Some(job.agent.as_str().to_owned()),
        ..Globals::default()
    };
    let context = Context::new(globals, environment.clone(), Cancel::new());
    let attempt = || -> Result<(), Problem> {
        let yard = context.at(Some(&job.directory)).yard_as_it_is()?;
        match jobs.reopen_task_of(job, &yard)? {
            None => Ok(()),
            Some(refusal) => Err(refusal.into()),
        }
    };
    if let Err(problem) = attempt() {
        tracing::warn!(job = %job.id, why = problem.report().message, "its task was not opened again");
    }
}

/// Opens the tasks again whose jobs failed or were lost, where that was wished and nobody has done it.
pub(crate) fn settle(jobs: &Jobs, context: &Context) -> Result<(), Problem> {
    for job in jobs.to_be_reopened()? {
        reopen_task_of(jobs, &job, context.environment());
    }
    Ok(())
}

/// Does the same for the tasks of one list, as far as that can be found out: whoever looks at a task wants to know no more.
pub(crate) fn settle_list(jobs: &Jobs, list: &ListId, store: &str, environment: &Environment) {
    if !jobs.may_reopen_tasks() {
        return;
    }
    match jobs.to_be_reopened() {
        Ok(due) => due
            .iter()
            .filter(|job| job.list == *list && job.store == store)
            .for_each(|job| reopen_task_of(jobs, job, environment)),
        Err(error) => tracing::warn!(%error, "tasks of jobs that were lost are not opened again"),
    }
}
