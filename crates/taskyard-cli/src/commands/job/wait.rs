//! `taskyard job wait`

use std::time::Duration;

use clap::Args;
use serde_json::json;
use taskyard::core::JobState;
use taskyard::core::render::job_line;
use taskyard::jobs::Waited;

use super::hearing::has_heard_of;
use super::meaning::Meant;
use crate::arguments::parse_pause;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{JobShape, Output};
use crate::problem::Problem;

/// Wait until a job has ended
///
/// The exit code is 0 when it completed, 3 when it failed, was stopped or lost, and 5 when the time was up before it ended. The
/// agent that started the job is not notified of an end that it has seen here.
#[derive(Debug, Args)]
pub(super) struct Wait {
    #[command(flatten)]
    meant: Meant,

    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    timeout: Option<Duration>,
}

impl Wait {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (jobs, job) = self.meant.find(context)?;
        let waited = jobs.wait(&job.id, self.timeout, context.cancel())?;
        let exit = match &waited {
            Waited::Over(job) if job.state() == JobState::Completed => Exit::Done,
            Waited::Over(_) => Exit::Refused,
            Waited::TimedOut(_) => Exit::GaveUp,
            Waited::Cancelled(_) => Exit::Stopped,
        };
        let timed_out = matches!(waited, Waited::TimedOut(_));
        let job = waited.job();
        if output.is_json() {
            output.document(json!({ "job": JobShape(&job), "timedOut": timed_out }))?;
        } else {
            output.say(&job_line("", &job, &output.look()))?;
            if job.state() == JobState::Failed {
                output.advise(&format!("to see what it wrote: `taskyard job output {}`", job.id))?;
            }
        }
        has_heard_of(&job, context, output)?;
        Ok(exit)
    }
}
