//! Opening the tasks of jobs again that did not complete. What keeps us from that is for the log alone.

use taskyard::core::Job;
use taskyard::jobs::Jobs;
use taskyard::opening::WrittenAddress;
use taskyard::process::Cancel;

use crate::arguments::Globals;
use crate::context::Context;
use crate::environment::Environment;
use crate::problem::Problem;

/// Opens the tasks again whose jobs failed or were lost, on the lists of the store that a command is about to work on.
pub(crate) fn reopen_tasks(context: &Context) {
    // Without a place for jobs there are none.
    let Ok(jobs) = context.jobs() else { return };
    if jobs.may_reopen_tasks() {
        tell_failure(attempt(&jobs, context));
    }
}

/// Does the same for every store that jobs were started for.
pub(crate) fn reopen_tasks_everywhere(jobs: &Jobs, environment: &Environment) -> Result<(), Problem> {
    jobs.to_be_reopened()?.iter().for_each(|job| reopen_task_of(jobs, job, environment));
    Ok(())
}

/// Does the same for the store that a job was started for.
pub(crate) fn reopen_task_of(jobs: &Jobs, job: &Job, environment: &Environment) {
    let globals = Globals {
        list: Some(job.list.as_str().to_owned()),
        store: Some(WrittenAddress::new(job.store.clone())),
        agent: Some(job.agent.as_str().to_owned()),
        ..Globals::default()
    };
    let context = Context::new(globals, environment.clone(), Cancel::new()).at(Some(&job.directory));
    tell_failure(attempt(jobs, &context));
}

fn attempt(jobs: &Jobs, context: &Context) -> Result<(), Problem> {
    Ok(context.yard()?.reopen_tasks_of_jobs(jobs, context.address()?)?)
}

fn tell_failure(attempted: Result<(), Problem>) {
    if let Err(problem) = attempted {
        tracing::warn!(why = problem.report().message, "tasks of jobs that were lost are not opened again");
    }
}
