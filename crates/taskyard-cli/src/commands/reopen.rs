//! `taskyard reopen`

use clap::Args;
use taskyard::core::TaskId;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Put a completed or cancelled task back to pending
#[derive(Debug, Args)]
pub(crate) struct Reopen {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Reopen {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let updated = yard.reopen(&self.id)?.done()?;
        answers::updated("Reopened", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
