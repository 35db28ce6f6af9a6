//! `taskyard done`

use clap::Args;
use taskyard::operations::Move;

use super::several::{is_agreed, move_these};
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Complete tasks, and tell what can start now
///
/// All of them in one revision, or none. A task with open parts cannot be completed on its own; name its parts with it
/// to complete all in one go.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Done {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Do not ask, however many tasks `--where` chooses
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Done {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let ids = context.ids_of(&self.which, &yard)?;
        if !self.yes && !is_agreed("Complete", (&self.which, &ids), &yard, output)? {
            return Ok(Exit::Refused);
        }
        move_these(("Done", "Would complete"), &Move::Done, (&self.which, &ids), &yard, output)
    }
}
