//! What the end of jobs means for their tasks and agents. What keeps us from settling it is for the log alone.

use std::sync::Arc;

use taskyard::core::Job;
use taskyard::core::rules::leases::job_fate::reopens_its_task;
use taskyard::jobs::{JobSettings, SharedJobs};
use taskyard::opening::{Address, WrittenAddress};
use taskyard::process::Cancel;
use taskyard_jobs::Jobs;

use crate::arguments::Globals;
use crate::context::Context;
use crate::environment::Environment;
use crate::places;
use crate::problem::Problem;

/// Returns the jobs of the store that a job was started for; `None` if no other machine shares it.
pub(crate) fn shared_jobs_of(job: &Job, environment: &Environment) -> Option<Arc<dyn SharedJobs>> {
    match context_of(job, environment).shared_record() {
        Ok(shared) => shared,
        Err(problem) => {
            tracing::warn!(why = problem.report().message, "other machines are not told of the job");
            None
        }
    }
}

/// Opens the tasks again whose jobs failed or were lost, on the lists of the store that a command is about to work on.
pub(crate) fn reopen_tasks(context: &Context) {
    // Without a place for jobs there are none; and what is configured for new ones does not matter here.
    let Ok(place) = places::jobs(context.environment(), JobSettings::default()) else { return };
    let jobs = Jobs::new(place);
    if jobs.may_reopen_tasks() {
        tell_failure(attempt(&jobs, context));
    }
}

/// Does the same for every store that jobs were started for.
pub(crate) fn reopen_tasks_everywhere(jobs: &Jobs, environment: &Environment) -> Result<(), Problem> {
    jobs.to_be_reopened()?.iter().for_each(|job| tell_failure(attempt(jobs, &context_of(job, environment))));
    Ok(())
}

/// Does what the end of a job means where its list lives: its agent is told, and its task opened again.
pub(crate) fn settle_end_of(jobs: &Jobs, job: &Job, environment: &Environment) {
    let context = context_of(job, environment);
    // On this machine it was told with its end.
    if matches!(context.address(), Ok(Address::Remote(_))) {
        tell_failure(context.notices().and_then(|notices| Ok(notices.queue(job)?)));
    }
    if reopens_its_task(job) {
        tell_failure(attempt(jobs, &context));
    }
}

fn context_of(job: &Job, environment: &Environment) -> Context {
    let globals = Globals {
        list: Some(job.list.as_str().to_owned()),
        store: Some(WrittenAddress::new(job.store.clone())),
        agent: Some(job.agent.as_str().to_owned()),
        ..Globals::default()
    };
    Context::new(globals, environment.clone(), Cancel::new()).at(Some(&job.directory))
}

fn attempt(jobs: &Jobs, context: &Context) -> Result<(), Problem> {
    Ok(jobs.reopen_tasks(&context.yard()?, context.address()?)?)
}

fn tell_failure(attempted: Result<(), Problem>) {
    if let Err(problem) = attempted {
        tracing::warn!(why = problem.report().message, "what the end of jobs means is not settled yet");
    }
}
