//! `taskyard job gc`

use std::time::Duration;

use clap::Args;
use taskyard::core::answers::jobs::JobsTidied;
use taskyard::core::render::{Line, job_line};
use taskyard::core::rules::history::elapsed::ClockTrust;

use crate::arguments::parse_pause;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::reopening::reopen_tasks_everywhere;

/// Tidy away the jobs that ended long ago, with their output
///
/// Only files that Taskyard itself made are removed. `jobs.keep` in taskyard.toml says how long ended jobs are kept, a
/// week by default. If the clock has moved by more than a month, or back, nothing goes until `taskyard gc` has asked
/// whether it is right.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Only jobs that ended at least so long ago
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) older_than: Option<Duration>,

    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Gc {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let jobs = context.shared_jobs()?;
        // What a job still has to do for its task is done before it is forgotten.
        jobs.reconcile()?;
        reopen_tasks_everywhere(&jobs, context.environment())?;
        let age = self.older_than.unwrap_or(jobs.options().settings.keep);
        let count = context.household()?.map(|household| household.try_to_count_time(ClockTrust::Plausible));
        let doubt = count.and_then(|count| count.elapsed.in_doubt());
        // What does not have to be old goes whatever the clock says.
        let doubt = doubt.filter(|_| !age.is_zero());
        if let Some(doubt) = doubt {
            output.warn(&format!(
                "no job goes because it is old: {doubt}; if the clock is right, use `taskyard gc --yes`"
            ))?;
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
                "`{}` is not the file of job {} any more; it was left alone",
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
