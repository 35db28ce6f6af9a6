//! `taskyard done`

use clap::Args;
use taskyard::operations::Move;

use super::several::make_move;
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

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Done {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        make_move("Done", &Move::Done, &self.which, &yard, output)
    }
}
