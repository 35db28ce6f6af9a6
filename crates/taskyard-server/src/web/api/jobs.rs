//! Operations on background jobs: listing, output, starting and stopping.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::Error;
use taskyard::config::parse_size;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::rules::history::retention::ClockTrust;
use taskyard::core::{Job, ListId, answers};
use taskyard::jobs::JobError;
use taskyard_jobs::{Jobs, NewJob, Waited};

use super::inputs::pause;
use super::operation::{Asked, Operation, Parts, Reply, id};
use crate::tokens::Scope;
use crate::web::call::Call;

/// How long a request may wait for a job to end.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::claim_answers::Jobs<'_>>(
            "listJobs",
            "/jobs",
            "The jobs of the server's machine, and of others that share its database",
        )
        .with(list_all),
        Operation::get::<answers::claim_answers::Jobs<'_>>(
            "listJobsOfList",
            "/lists/{list}/jobs",
            "The jobs of a list",
        )
        .with(list_here),
        Operation::post::<answers::claim_answers::JobStarted<'_>>(
            "startJob",
            "/lists/{list}/jobs",
            "Run a command in the background",
        )
        .makes("/jobs/{job.id}/output")
        .only_for(Scope::All)
        .starts_commands()
        .with(start),
        Operation::get::<answers::claim_answers::JobOutput<'_>>(
            "readJob",
            "/jobs/{job}/output",
            "A job and its output",
        )
        .with(output),
        Operation::post::<answers::claim_answers::JobStopped<'_>>("stopJob", "/jobs/{job}/stop", "Stop a job")
            .only_for(Scope::All)
            .runs(stop),
        Operation::post::<answers::claim_answers::JobsTidied<'_>>(
            "tidyJobs",
            "/jobs/tidy",
            "Forget jobs that ended long ago",
        )
        .only_for(Scope::All)
        .with(tidy),
    ]
}

/// Which jobs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    /// Only those that have not ended
    running: bool,
}

fn list_all(_: &Parts, wanted: Wanted) -> Result<Asked, Problem> {
    listing(wanted.running, |jobs, _| jobs.list())
}

/// Returns the request that lists the jobs which `look` finds.
fn listing(
    only_running: bool,
    look: impl Fn(&Jobs, &ListId) -> Result<Vec<Job>, JobError> + Send + 'static,
) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let jobs = call.shared_jobs();
        let list = call.yard.list_id();
        let mut found = match look(&jobs, list) {
            Err(JobError::Store(error)) => {
                tracing::warn!(%error, "jobs of other machines are not shown");
                look(&call.jobs(), list)?
            }
            found => found?,
        };
        call.host.reopen_tasks_everywhere(&jobs)?;
        found.retain(|job| !only_running || !job.state().is_over());
        Reply::of(answers::claim_answers::Jobs { jobs: found.iter().map(Into::into).collect() })
    }))
}

/// Which jobs of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct WantedHere {
    /// Only those that have not ended
    running: bool,
    /// Only those that were started for this task
    task: Option<String>,
}

fn list_here(_: &Parts, wanted: WantedHere) -> Result<Asked, Problem> {
    let task = wanted.task.as_deref().map(id).transpose()?;
    listing(wanted.running, move |jobs, list| match &task {
        Some(task) => jobs.of_task(list, task),
        None => jobs.of_list(list),
    })
}

/// A command to run. The server runs it as its own user, where it was started with `--allow-exec`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewJob")]
struct NewJobGiven {
    /// The program and its arguments; no shell reads them
    #[schemars(length(min = 1))]
    command: Vec<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// The task it is run for
    #[serde(default)]
    task: Option<String>,
    /// Open the task again when it fails
    #[serde(default)]
    reopen_on_failure: bool,
    /// How much output is kept: `10MB`
    #[serde(default)]
    max_output: Option<String>,
    /// When it is stopped: `10m`
    #[serde(default)]
    timeout: Option<String>,
}

fn start(_: &Parts, new: NewJobGiven) -> Result<Asked, Problem> {
    if new.command.is_empty() {
        return Err(Problem::usage("no_command", "there is no command to run"));
    }
    if new.reopen_on_failure && new.task.is_none() {
        return Err(Problem::usage("bad_input", "`reopenOnFailure` needs `task`"));
    }
    let size = |text: &str| parse_size(text).map_err(|why| Problem::usage("bad_size", why.to_string()));
    let max_output = new.max_output.as_deref().map(size).transpose()?;
    let (task, time_limit) = (new.task.as_deref().map(id).transpose()?, pause(new.timeout.as_deref())?);
    Ok(Asked::to(move |call| {
        call.host.let_children_in()?;
        let jobs = call.jobs();
        jobs.reconcile_few()?;
        call.host.reopen_tasks_everywhere(&jobs)?;
        if let Some(task) = &task {
            // A job for a task that does not exist is a mistake; report it before starting.
            call.yard.show(task)?.done()?;
        }
        let no_directory =
            || Problem::new(ProblemKind::CouldNot, "no_directory", "the server has no working directory");
        let directory = call.served.places.directory.clone().ok_or_else(no_directory)?;
        let (actor, list) = (call.yard.actor().clone(), call.yard.list_id().clone());
        let job = jobs.start(NewJob {
            description: new.description,
            name: new.name,
            store: call.served.address.to_string(),
            task,
            reopens_task: new.reopen_on_failure,
            session: call.served.session.clone(),
            time_limit,
            max_output,
            ..NewJob::command(new.command, directory, actor, list)
        })?;
        Reply::of(answers::claim_answers::JobStarted { job: (&job).into(), timed_out: None })
    }))
}

/// How much of what a job wrote.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct HowMuch {
    /// From this byte on
    offset: Option<u64>,
    /// Only the last so many lines
    tail: Option<u64>,
    /// Sleep until it has ended, no longer than this and than a minute: `30s`
    wait: Option<String>,
}

fn output(parts: &Parts, wanted: HowMuch) -> Result<Asked, Problem> {
    if wanted.offset.is_some() && wanted.tail.is_some() {
        return Err(Problem::usage("bad_input", "`offset` and `tail` cannot be combined"));
    }
    let wait = pause(wanted.wait.as_deref())?.map(|wait| wait.min(LONGEST_WAIT));
    let name = parts.text("job").to_owned();
    let asked = Asked::to(move |call| {
        let (jobs, mut job) = find(&name, call)?;
        let mut timed_out = None;
        if let Some(wait) = wait {
            let waited = jobs.wait(&job.id, Some(wait), &call.cancel)?;
            if matches!(waited, Waited::Cancelled(_)) {
                return Err(Error::Cancelled.into());
            }
            timed_out = Some(matches!(waited, Waited::TimedOut(_)));
            job = waited.job();
        }
        let start = match (wanted.offset, wanted.tail) {
            (Some(offset), _) => offset,
            (None, Some(lines)) => jobs.output(&job)?.last_lines(lines)?,
            (None, None) => 0,
        };
        let answer = jobs.read_output(&job, start, timed_out)?.answer;
        let end = answer.next_offset;
        let reply = Reply::of(answer)?;
        if *call.yard.actor() == job.agent {
            // Asking for output that does not exist yet reads nothing. A failure to record the read position is
            // ignored.
            if end > start && end > job.output_offset {
                let _ = jobs.note_read(&job.id, end);
            }
            acknowledge_end(&job, call)?;
        }
        Ok(reply)
    });
    Ok(asked.sleeping(wait.is_some()))
}

/// Finds a job by id, or the newest by name, after updating the state of jobs.
fn find(name: &str, call: &Call) -> Result<(Jobs, Job), Problem> {
    let jobs = call.shared_jobs();
    let job = jobs.find(name.trim())?;
    call.host.reopen_tasks_everywhere(&jobs)?;
    Ok((jobs, job))
}

/// Acknowledges the end of a job that is shown to its agent, which then needs no notice.
fn acknowledge_end(job: &Job, call: &Call) -> Result<(), Problem> {
    if job.state().is_over()
        && let Err(error) = call.notices()?.acknowledge(std::slice::from_ref(&job.id))
    {
        tracing::warn!(%error, "a notification will come though it is not needed");
    }
    Ok(())
}

fn stop(parts: &Parts) -> Result<Asked, Problem> {
    let name = parts.text("job").to_owned();
    Ok(Asked::to(move |call| {
        let (jobs, job) = find(&name, call)?;
        let job = jobs.stop(&job.id, call.yard.actor())?.stopped()?;
        Reply::of(answers::claim_answers::JobStopped { job: (&job).into(), stopped: true })
    }))
}

/// Which jobs are forgotten.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Tidying {
    /// Those that ended longer ago than this: `7d`
    older_than: Option<String>,
    /// Only show which
    dry_run: bool,
}

fn tidy(_: &Parts, wanted: Tidying) -> Result<Asked, Problem> {
    let older_than = pause(wanted.older_than.as_deref())?;
    Ok(Asked::to(move |call| {
        let jobs = call.shared_jobs();
        // Apply the effects of ended jobs on their tasks before removing the jobs.
        jobs.reconcile()?;
        call.host.reopen_tasks_everywhere(&jobs)?;
        let age = older_than.unwrap_or(jobs.options().settings.keep);
        let count = call.household().map(|household| household.try_to_count_time(ClockTrust::Plausible));
        // With an age of zero, the clock does not matter.
        let doubt = count.and_then(|count| count.elapsed.in_doubt()).filter(|_| !age.is_zero());
        let (removed, bytes) = match doubt {
            Some(doubt) => {
                tracing::warn!(%doubt, "no job goes because it is old");
                (Vec::new(), 0)
            }
            None if wanted.dry_run => (jobs.ended_before(age)?, 0),
            None => {
                let swept = jobs.gc(age)?;
                for job in &swept.foreign {
                    tracing::warn!(job = %job.id, file = %job.output_file.display(), "the file is not the job's any more");
                }
                (swept.jobs, swept.bytes)
            }
        };
        let jobs = removed.iter().map(Into::into).collect();
        Reply::of(answers::claim_answers::JobsTidied { jobs, bytes, dry_run: wanted.dry_run })
    }))
}
