//! `taskyard reopen`

use clap::Args;
use taskyard::core::TaskId;
use taskyard::operations::DEFAULT_LEASE;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Put a completed or cancelled task back to pending
///
/// Nobody owns it then, so that whoever comes can take it. With --keep-owner its owner goes on, under a new lease.
#[derive(Debug, Args)]
pub(crate) struct Reopen {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: TaskId,

    /// Leave it to its owner, who gets a lease on it
    #[arg(long)]
    keep_owner: bool,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Reopen {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let outcome = if self.keep_owner {
            yard.reopen_for_owner(&self.id, context.config()?.lease().unwrap_or(DEFAULT_LEASE))?
        } else {
            yard.reopen(&self.id)?
        };
        let updated = outcome.done()?;
        answers::updated("Reopened", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
