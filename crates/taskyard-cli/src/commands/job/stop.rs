//! `taskyard job stop`

use clap::Args;
use taskyard::core::answers::jobs::JobStopped;
use taskyard::core::render::{Line, Tone};

use super::meaning::Meant;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Stop a job, with everything it started
///
/// It asks everything to end, and kills what still runs after five seconds. When this returns, nothing of it runs any
/// more. Nobody is notified of a job that was stopped. A job of another machine is stopped by its supervisor there.
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
