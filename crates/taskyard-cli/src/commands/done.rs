//! `taskyard done`

use clap::Args;
use taskyard::core::TaskId;

use super::answers;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Complete tasks, and tell what can start now
///
/// A task with open parts is not finished; together with its parts it can be closed in one go.
#[derive(Debug, Args)]
pub(crate) struct Done {
    /// The tasks; all of them in one revision, or none
    #[arg(value_name = "ID", value_parser = parse_id, value_delimiter = ',', required = true)]
    ids: Vec<TaskId>,

    #[command(flatten)]
    lease: LeaseFlags,
}

impl Done {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let updated = yard.done_together(&self.ids)?.done()?;
        answers::updated_all("Done", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
