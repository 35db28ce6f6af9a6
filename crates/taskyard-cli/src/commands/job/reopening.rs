//! Opening the task of a job again that did not complete.

use taskyard::Outcome;
use taskyard::core::{Job, JobEnding, JobState, Status};
use taskyard::jobs::Jobs;
use taskyard::process::Cancel;

use crate::arguments::Globals;
use crate::context::Context;
use crate::environment::Environment;
use crate::problem::Problem;

/// Opens the task of a job again, where that was wished and the job failed, ran out of time or was lost. One that somebody
/// stopped is no failure.
pub(crate) fn reopen_task_of(job: &Job, environment: &Environment) -> Result<(), Problem> {
    let has_failed = match job.state() {
        JobState::Failed | JobState::Lost => true,
        JobState::Killed => matches!(job.ending(), Some(JobEnding::TimedOut(_))),
        JobState::Pending | JobState::Running | JobState::Completed => false,
    };
    let Some(task) = job.task.as_ref().filter(|_| job.reopens_task && has_failed) else { return Ok(()) };
    let globals = Globals {
        list: Some(job.list.as_str().to_owned()),
        store: Some(job.store.clone()),
        agent: Some(job.agent.as_str().to_owned()),
        ..Globals::default()
    };
    let context = Context::new(globals, environment.clone(), Cancel::new());
    let yard = context.at(Some(&job.directory)).yard()?.overruling();
    // One that is open needs no opening.
    if yard.show(task)?.done()?.task.status == Status::Pending {
        return Ok(());
    }
    match yard.reopen(task)? {
        Outcome::Done(_) => Ok(()),
        Outcome::Refused(refusal) => Err(refusal.into()),
    }
}

/// Puts right what is recorded of jobs that nobody looks after any more, and opens their tasks again where that was wished.
pub(crate) fn settle(jobs: &Jobs, context: &Context) -> Result<(), Problem> {
    for job in jobs.reconcile()? {
        if let Err(problem) = reopen_task_of(&job, context.environment()) {
            tracing::warn!(job = %job.id, why = problem.report().message, "its task was not opened again");
        }
    }
    Ok(())
}
