//! `taskyard job list`

use clap::Args;
use taskyard::core::render::{Line, job_line};
use taskyard::core::{TaskId, answers};
use taskyard::jobs::JobError;
use taskyard_jobs::Jobs;

use crate::arguments::parse_id;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::reopening::reopen_tasks_everywhere;

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
            output.document(answers::jobs::Jobs { jobs: found.iter().map(Into::into).collect() })?;
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
