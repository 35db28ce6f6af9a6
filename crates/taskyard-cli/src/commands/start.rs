//! `taskyard start`

use clap::Args;
use taskyard::core::TaskId;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Put a task in progress
///
/// Refused while it waits for open tasks; the refusal names them.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Start {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let updated = yard.start(&self.id)?.done()?;
        answers::updated("Started", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
