//! `taskyard job run`

use std::time::Duration;

use clap::Args;
use taskyard::core::answers::jobs::JobStarted;
use taskyard::core::render::{Line, Tone};
use taskyard::core::{Job, JobKind, TaskId};
use taskyard_jobs::{Jobs, NewJob};

use super::waiting::{not_known, wait_for_end};
use crate::arguments::{parse_bytes, parse_id, parse_pause};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::reopening::reopen_tasks_everywhere;

/// Start a command in the background
///
/// The command gets no input and runs in this directory. For a shell line use `-- sh -c LINE`. With --wait the exit
/// code is the command's own: 128+N when signal N ended it, 125 when we could not start it or find out how it ended; if
/// you stop waiting, the job goes on.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Wait until it has ended
    #[arg(long)]
    pub(crate) wait: bool,

    /// A name to call it by
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) name: Option<String>,

    /// What it is for; its name or its command otherwise
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// The task it belongs to
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) task: Option<TaskId>,

    /// Open that task again when the job fails, runs out of time or is lost
    #[arg(long, requires = "task")]
    pub(crate) reopen_on_failure: bool,

    /// The largest size of its output (`16MB`); beyond that the middle is left out
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) max_output: Option<u64>,

    /// How long it may take (`90s`, `1h`) before it is stopped
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) timeout: Option<Duration>,

    /// What it is: local_bash, local_agent, remote_agent or in_process_teammate
    #[arg(long = "type", value_name = "TYPE", default_value = "local_bash")]
    pub(crate) kind: JobKind,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<String>,
}

impl Run {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if self.wait {
            return self.run_and_wait(context, output).map_err(not_known);
        }
        let (_, job) = self.start(context)?;
        if output.is_json() {
            output.document(JobStarted { job: (&job).into(), timed_out: None })?;
        } else if output.is_quiet() {
            output.line(&Line::plain(job.id.as_str()))?;
        } else {
            tell_of_start(&job, output)?;
            output.advise(&format!("to see what it says: `taskyard job output {} --follow`", job.id))?;
        }
        Ok(Exit::Done)
    }

    fn run_and_wait(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (jobs, job) = self.start(context)?;
        // There is one object on stdout, and it says how the job ended.
        if !output.is_json() {
            if output.is_quiet() {
                output.line(&Line::plain(job.id.as_str()))?;
            } else {
                tell_of_start(&job, output)?;
            }
            output.flush()?;
        }
        wait_for_end(&jobs, &job, None, context, output)
    }

    fn start(self, context: &Context) -> Result<(Jobs, Job), Problem> {
        context.let_children_in()?;
        let jobs = context.jobs()?;
        jobs.reconcile_few()?;
        reopen_tasks_everywhere(&jobs, context.environment())?;
        if let Some(task) = &self.task {
            // A job for a task that is not there is a mistake, and the best time to say so is now.
            context.yard()?.show(task)?.done()?;
        }
        let directory = context.directory()?.to_owned();
        let new = NewJob {
            kind: self.kind,
            description: self.description,
            name: self.name,
            store: context.address()?.to_string(),
            task: self.task,
            reopens_task: self.reopen_on_failure,
            session: context.environment().client_session.clone(),
            time_limit: self.timeout,
            max_output: self.max_output,
            ..NewJob::command(self.command, directory, context.actor()?, context.choice()?.list)
        };
        let job = jobs.start(new)?;
        Ok((jobs, job))
    }
}

fn tell_of_start(job: &Job, output: &mut Output) -> Result<(), Problem> {
    let mut line = Line::plain("Started ").with(Tone::Id, job.id.as_str());
    line.push(Tone::Plain, &format!(" {}", job.description));
    output.line(&line)?;
    Ok(output.say(&Line::plain("  ").with(Tone::Dim, &format!("output: {}", job.output_file.display())))?)
}

/// Reads a name that one can type again.
fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(format!("`{}` is no name; use letters that one can type", text.escape_debug()));
    }
    Ok(name.to_owned())
}
