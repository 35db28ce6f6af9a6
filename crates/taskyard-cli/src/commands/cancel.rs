//! `taskyard cancel`

use clap::Args;
use taskyard::core::TaskId;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Give tasks up: they no longer hold anything up
///
/// A task with open parts is given up together with them (--with-parts). It is kept as completed with `metadata.cancelled`; `taskyard reopen` takes it back.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The tasks; all of them in one revision, or none
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',', required = true)]
    ids: Vec<TaskId>,

    /// Their open parts with them
    #[arg(long)]
    with_parts: bool,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Cancel {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let outcome = match self.with_parts {
            true => yard.cancel_with_parts(&self.ids)?,
            false => yard.cancel_together(&self.ids)?,
        };
        let updated = outcome.done()?;
        answers::updated_all("Cancelled", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
