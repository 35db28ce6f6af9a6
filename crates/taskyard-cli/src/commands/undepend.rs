//! `taskyard undepend`

use clap::Args;
use taskyard::core::TaskId;

use super::several::tell_rehearsal;
use crate::arguments::{LeaseFlags, parse_id, parse_other};
use crate::context::Context;
use crate::displays::answers;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Let a task no longer wait for others
#[derive(Debug, Args)]
pub(crate) struct Undepend {
    /// The task that waits
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// The tasks it no longer waits for; `on` may stand before them: `undepend 3 on 4,5`
    #[arg(value_name = "IDS", value_parser = parse_other, value_delimiter = ',', required_unless_present = "on")]
    pub(crate) others: Vec<Option<TaskId>>,

    /// The same as a flag
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) on: Vec<TaskId>,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Undepend {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let on: Vec<TaskId> = self.others.into_iter().flatten().chain(self.on).collect();
        if on.is_empty() {
            return Err(Problem::usage("usage", "no task was named behind `on`").hint("`taskyard undepend 3 on 4`"));
        }
        if self.dry_run {
            let updated = yard.rehearsing().undepend(&self.id, &on)?.done()?;
            return tell_rehearsal("Would update", &[&updated.task], &[], output);
        }
        let updated = yard.undepend(&self.id, &on)?.done()?;
        answers::updated("Updated", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}
