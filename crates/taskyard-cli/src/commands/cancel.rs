//! `taskyard cancel`

use clap::Args;
use taskyard::core::TaskId;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Give a task up: it no longer holds anything up
///
/// It is kept as completed with `metadata.cancelled`; `taskyard reopen` takes it back.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Cancel {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let updated = yard.cancel(&self.id)?.done()?;
        answers::updated("Cancelled", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
