//! `taskyard start`

use clap::Args;
use taskyard::operations::Move;

use super::several::make_move;
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Put tasks in progress
///
/// All of them in one revision, or none. A task that waits for open tasks is refused; the refusal names them.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Start {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        make_move("Started", &Move::Start, &self.which, &yard, output)
    }
}
