//! `taskyard job wait`

use std::time::Duration;

use clap::Args;

use super::meaning::Meant;
use super::waiting::{not_known, wait_for_end};
use crate::arguments::parse_pause;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Wait until a job has ended
///
/// The exit code is the command's own: 128+N when signal N ended it, 124 when the waiting ran out, 125 when we could not find out how
/// it ended. The agent that started the job is not notified of an end that it has seen here.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) meant: Meant,

    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) timeout: Option<Duration>,
}

impl Wait {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let found = self.meant.find(context);
        let waited = found.and_then(|(jobs, job)| wait_for_end(&jobs, &job, self.timeout, context, output));
        waited.map_err(not_known)
    }
}
