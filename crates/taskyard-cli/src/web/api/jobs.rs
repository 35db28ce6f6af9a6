//! Background commands: which there are, what they write, starting and stopping them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::core::answers;

use super::inputs::pause;
use super::operation::{Asked, Operation, Parts, id};
use crate::arguments::parse_bytes;
use crate::commands::{Command, Job, JobAction, JobGc, JobList, JobMeant, JobOutput, JobRun, JobStop};
use crate::problem::Problem;
use crate::tokens::Scope;

/// So long a request sleeps at most until a job ends.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::jobs::Jobs<'_>>(
            "listJobs",
            "/jobs",
            "The jobs of the server's machine, and of others that share its database",
        )
        .with(list_all),
        Operation::get::<answers::jobs::Jobs<'_>>("listJobsOfList", "/lists/{list}/jobs", "The jobs of a list")
            .with(list_here),
        Operation::post::<answers::jobs::JobStarted<'_>>(
            "startJob",
            "/lists/{list}/jobs",
            "Run a command in the background",
        )
        .makes("/jobs/{job.id}/output")
        .only_for(Scope::All)
        .starts_commands()
        .with(start),
        Operation::get::<answers::jobs::JobOutput<'_>>(
            "readJob",
            "/jobs/{job}/output",
            "What a job is and what it wrote",
        )
        .with(output),
        Operation::post::<answers::jobs::JobStopped<'_>>("stopJob", "/jobs/{job}/stop", "Stop a job")
            .only_for(Scope::All)
            .runs(stop),
        Operation::post::<answers::jobs::JobsTidied<'_>>("tidyJobs", "/jobs/tidy", "Forget jobs that ended long ago")
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

fn list_all(_: &Parts, wanted: Wanted) -> Result<Command, Problem> {
    Ok(job(JobAction::List(JobList { running: wanted.running, here: false, task: None })))
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

fn list_here(_: &Parts, wanted: WantedHere) -> Result<Command, Problem> {
    let task = wanted.task.as_deref().map(id).transpose()?;
    Ok(job(JobAction::List(JobList { running: wanted.running, here: true, task })))
}

/// A command to run. The server runs it as its own user, where it was started with `--allow-exec`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewJob {
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

fn start(_: &Parts, new: NewJob) -> Result<Command, Problem> {
    if new.command.is_empty() {
        return Err(Problem::usage("no_command", "there is no command to run"));
    }
    if new.reopen_on_failure && new.task.is_none() {
        return Err(Problem::usage("bad_input", "`reopenOnFailure` needs `task`"));
    }
    let size = |text: &str| parse_bytes(text).map_err(|why| Problem::usage("bad_size", why));
    Ok(job(JobAction::Run(Box::new(JobRun {
        wait: false,
        name: new.name,
        description: new.description,
        task: new.task.as_deref().map(id).transpose()?,
        reopen_on_failure: new.reopen_on_failure,
        max_output: new.max_output.as_deref().map(size).transpose()?,
        timeout: pause(new.timeout.as_deref())?,
        kind: taskyard::core::JobKind::LocalBash,
        command: new.command,
    }))))
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
        return Err(Problem::usage("bad_input", "`offset` and `tail` do not go together"));
    }
    let timeout = pause(wanted.wait.as_deref())?.map(|wait| wait.min(LONGEST_WAIT));
    let command = job(JobAction::Output(JobOutput {
        meant: meant(parts),
        offset: wanted.offset,
        tail: wanted.tail,
        follow: false,
        wait: timeout.is_some(),
        timeout,
        raw: false,
    }));
    Ok(if timeout.is_some() { Asked::sleeping(command) } else { command.into() })
}

fn stop(parts: &Parts) -> Result<Command, Problem> {
    Ok(job(JobAction::Stop(JobStop { meant: meant(parts) })))
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

fn tidy(_: &Parts, wanted: Tidying) -> Result<Command, Problem> {
    let older_than = pause(wanted.older_than.as_deref())?;
    Ok(job(JobAction::Gc(JobGc { older_than, dry_run: wanted.dry_run })))
}

fn meant(parts: &Parts) -> JobMeant {
    JobMeant { id: parts.text("job").to_owned() }
}

fn job(action: JobAction) -> Command {
    Command::Job(Job { action })
}
