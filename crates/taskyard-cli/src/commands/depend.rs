//! `taskyard depend`

use clap::Args;
use taskyard::core::TaskId;

use super::several::tell_rehearsal;
use crate::arguments::{LeaseFlags, parse_id};
use crate::context::Context;
use crate::displays::answers;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Let a task wait for others
///
/// It refuses an edge that would close a circle, and shows the circle.
#[derive(Debug, Args)]
pub(crate) struct Depend {
    /// The task that waits
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// The tasks it waits for
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',', required = true)]
    pub(crate) on: Vec<TaskId>,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Depend {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        if self.dry_run {
            let updated = yard.rehearsing().depend(&self.id, &self.on)?.done()?;
            return tell_rehearsal("Would update", &[&updated.task], &[], output);
        }
        let updated = yard.depend(&self.id, &self.on)?.done()?;
        answers::updated("Updated", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
