//! The effects of ended jobs and members, applied before a command's own work.

use std::fs::File;
use std::sync::Arc;

use rustix::stdio::{dup2_stderr, dup2_stdout};
use taskyard::core::Job;
use taskyard::core::rules::leases::leasing::reopens_its_task;
use taskyard::jobs::{JobRecords, JobSettings, SharedJobs};
use taskyard::opening::{Address, WrittenAddress};
use taskyard::process::Cancel;
use taskyard_jobs::Jobs;

use crate::arguments::Globals;
use crate::context::Context;
use crate::displays::taken_out;
use crate::environment::Environment;
use crate::exit::Problem;
use crate::output::Output;
use crate::places;

/// Returns the shared job records of the store that a job was started for; `None` if the store is not shared.
pub(crate) fn shared_jobs_of(job: &Job, environment: &Environment) -> Option<Arc<dyn SharedJobs>> {
    match context_of(job, environment).shared_record() {
        Ok(shared) => shared,
        Err(problem) => {
            tracing::warn!(why = problem.report().message, "other machines are not told of the job");
            None
        }
    }
}

/// Reopens the tasks of failed and lost jobs on the store that the command is about to use.
pub(crate) fn reopen_tasks(context: &Context) {
    // Without a data directory there are no jobs.
    if !places::data(context.environment()).is_ok_and(|data| JobRecords::may_reopen_tasks(&data)) {
        return;
    }
    // The settings for new jobs do not matter here.
    if let Ok(place) = places::jobs(context.environment(), JobSettings::default()) {
        tell_failure(attempt(&Jobs::new(place), context));
    }
}

/// Like [`reopen_tasks`], for every store that jobs were started for.
pub(crate) fn reopen_tasks_everywhere(jobs: &Jobs, environment: &Environment) -> Result<(), Problem> {
    jobs.to_be_reopened()?.iter().for_each(|job| tell_failure(attempt(jobs, &context_of(job, environment))));
    Ok(())
}

/// Applies the effects of a job's end on its store: notifies its agent and reopens its task.
pub(crate) fn settle_end_of(jobs: &Jobs, job: &Job, environment: &Environment) {
    let context = context_of(job, environment);
    // On this machine, the notice was queued when the job ended.
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

/// Removes members that have ended, and reports them on stderr. Failures do not affect the command.
pub(crate) fn take_out_ended_members(context: &Context, output: &mut Output) {
    let Ok(teams) = context.teams() else { return };
    if teams.new_lead_mail().is_none() {
        return;
    }
    // A usage error is reported by the command itself.
    let Ok(yard) = context.yard() else { return };
    let said = match yard.take_out_ended() {
        Ok(gone) => gone.iter().map(taken_out).collect(),
        Err(error) => vec![format!("a member that has ended stays in its team: {error}")],
    };
    for said in said {
        if let Err(error) = output.warn(&said) {
            tracing::debug!(%error, said, "cannot be told");
        }
    }
}

/// Closes stdout and stderr for their readers.
pub(crate) fn let_readers_go() {
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        let _ = dup2_stdout(&nowhere);
        let _ = dup2_stderr(&nowhere);
    }
}
