//! `taskyard start`

use clap::Args;
use taskyard::operations::Move;

use super::several::make_move;
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Start tasks: they are in progress, and yours
///
/// All of them in one revision, or none. You become their owner; an agent also gets a lease, as with `claim`, a person
/// at a terminal does not. A task that another agent owns is refused, unless you take it over with --force, and so is
/// one that waits for open tasks.
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
        make_move(("Started", "Would start"), &Move::Start, &self.which, (context, &yard), output)
    }
}
