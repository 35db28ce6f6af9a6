//! `taskyard done`

use clap::Args;
use taskyard::core::TaskId;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Complete a task, and tell what can start now
#[derive(Debug, Args)]
pub(crate) struct Done {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Done {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let updated = yard.done(&self.id)?.done()?;
        answers::updated("Done", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
