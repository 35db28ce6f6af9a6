//! `taskyard job`: `list`, `stop` and `gc`; the other subcommands are in `job_output.rs`.

use std::time::Duration;

use clap::{Args, Subcommand};
use taskyard::core::answers::claim_answers::{JobStopped, JobsTidied};
use taskyard::core::render::{Line, Tone, job_line};
use taskyard::core::rules::history::retention::ClockTrust;
use taskyard::core::{TaskId, answers};
use taskyard::jobs::JobError;
use taskyard_jobs::Jobs;

use crate::arguments::{parse_id, parse_pause};
pub(crate) use crate::commands::job_output::background;
use crate::commands::job_output::{Meant, Run, ShowOutput, Wait};
use crate::context::Context;
use crate::ended_agents::reopen_tasks_everywhere;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Run and manage background commands
///
/// A job keeps running when the program that started it ends, and later commands find it again. Its output goes to one
/// file, in the place and format of Claude Code's own background tasks, and never grows beyond its limit: the beginning
/// and the end are kept. When its command ends or is stopped, everything it started is ended too. Refer to a job by its
/// id or its name; a name means the newest job with that name.
#[derive(Debug, Args)]
pub(crate) struct Job {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Run(Box<Run>),
    List(List),
    Output(ShowOutput),
    Wait(Wait),
    Stop(Stop),
    Gc(Gc),
}

impl Job {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self.action {
            Action::Run(command) => command.run(context, output),
            Action::List(command) => command.run(context, output),
            Action::Output(command) => command.run(context, output),
            Action::Wait(command) => command.run(context, output),
            Action::Stop(command) => command.run(context, output),
            Action::Gc(command) => command.run(context, output),
        }
    }
}

/// Show the jobs of this machine and of others on the same database, the newest last
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only jobs that have not ended
    #[arg(long)]
    pub(crate) running: bool,

    /// Only jobs started for this list
    #[arg(long)]
    pub(crate) here: bool,

    /// Only jobs of this task
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) task: Option<TaskId>,
}

impl List {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let jobs = context.shared_jobs()?;
        let list = if self.here || self.task.is_some() { Some(context.choice()?.list) } else { None };
        let look = |jobs: &Jobs| match (&list, &self.task) {
            (Some(list), Some(task)) => jobs.of_task(list, task),
            (Some(list), None) => jobs.of_list(list),
            (None, _) => jobs.list(),
        };
        let mut found = match look(&jobs) {
            Err(JobError::Store(error)) => {
                output.warn(&format!("jobs of other machines are not shown: {error}"))?;
                look(&context.jobs()?)?
            }
            found => found?,
        };
        reopen_tasks_everywhere(&jobs, context.environment())?;
        found.retain(|job| !self.running || !job.state().is_over());
        if output.is_json() {
            output.document(answers::claim_answers::Jobs { jobs: found.iter().map(Into::into).collect() })?;
            return Ok(Exit::Done);
        }
        if found.is_empty() {
            output.say(&Line::plain("No jobs"))?;
            output.advise("to start one: `taskyard job run -- COMMAND`")?;
        }
        let look = output.look();
        let lines: Vec<Line> = found.iter().map(|job| job_line("", job, &look)).collect();
        output.lines(&lines)?;
        Ok(Exit::Done)
    }
}

/// Stop a job and every process it started
///
/// It asks every process of the job to end, and kills those still running after five seconds. When it returns, no
/// process of the job is left. No one is notified of a stopped job. A job on another machine is stopped by its
/// supervisor there.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    pub(crate) meant: Meant,
}

impl Stop {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (jobs, job) = self.meant.find(context)?;
        let job = jobs.stop(&job.id, &context.actor()?)?.stopped()?;
        if output.is_json() {
            output.document(JobStopped { job: (&job).into(), stopped: true })?;
        } else {
            let mut line = Line::plain("Stopped ").with(Tone::Id, job.id.as_str());
            line.push(Tone::Plain, &format!(" {}", job.description));
            output.say(&line)?;
        }
        Ok(Exit::Done)
    }
}

/// Remove jobs that ended long ago, with their output
///
/// Only files that Taskyard itself made are removed. `jobs.keep` in taskyard.toml says how long ended jobs are kept, a
/// week by default. If the clock has jumped by more than a month, or back, nothing is removed until `taskyard gc` has
/// asked whether the clock is right.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Only jobs that ended at least this long ago
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) older_than: Option<Duration>,

    /// Show what would be removed, without removing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Gc {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let jobs = context.shared_jobs()?;
        // Apply the effects of ended jobs on their tasks before removing the jobs.
        jobs.reconcile()?;
        reopen_tasks_everywhere(&jobs, context.environment())?;
        let age = self.older_than.unwrap_or(jobs.options().settings.keep);
        let count = context.household()?.map(|household| household.try_to_count_time(ClockTrust::Plausible));
        let doubt = count.and_then(|count| count.elapsed.in_doubt());
        // With an age of zero, the clock does not matter.
        let doubt = doubt.filter(|_| !age.is_zero());
        if let Some(doubt) = doubt {
            output
                .warn(&format!("no job is removed by age: {doubt}; if the clock is right, use `taskyard gc --yes`"))?;
        }
        let (removed, bytes, foreign) = if doubt.is_some() {
            (Vec::new(), 0, Vec::new())
        } else if self.dry_run {
            (jobs.ended_before(age)?, 0, Vec::new())
        } else {
            let swept = jobs.gc(age)?;
            (swept.jobs, swept.bytes, swept.foreign)
        };
        for job in &foreign {
            output.warn(&format!(
                "`{}` no longer belongs to job {} and was not removed",
                job.output_file.display(),
                job.id
            ))?;
        }
        if output.is_json() {
            let jobs = removed.iter().map(Into::into).collect();
            output.document(JobsTidied { jobs, bytes, dry_run: self.dry_run })?;
            return Ok(Exit::Done);
        }
        let look = output.look();
        let verb = if self.dry_run { "Would remove" } else { "Removed" };
        if removed.is_empty() {
            output.say(&Line::plain("Nothing to tidy"))?;
        } else {
            let count = removed.len();
            output.say(&Line::plain(&format!("{verb} {count} {}", if count == 1 { "job" } else { "jobs" })))?;
        }
        let lines: Vec<Line> = removed.iter().map(|job| job_line("  ", job, &look)).collect();
        lines.iter().try_for_each(|line| output.say(line))?;
        Ok(Exit::Done)
    }
}
