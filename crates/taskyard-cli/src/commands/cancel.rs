//! `taskyard cancel`

use clap::Args;
use taskyard::operations::Move;

use super::several::{is_agreed, move_these};
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Give tasks up: nothing waits for them any more
///
/// All of them in one revision, or none. A task with open parts is given up together with them (--with-parts). It is kept as completed with `metadata.cancelled`; `taskyard reopen` takes it back.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Their open parts with them
    #[arg(long)]
    pub(crate) with_parts: bool,

    /// Do not ask, however many tasks `--where` chooses
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Cancel {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let mut ids = context.ids_of(&self.which, &yard)?;
        if self.with_parts {
            ids = yard.with_open_parts(&ids)?;
        }
        if !self.yes && !is_agreed("Cancel", (&self.which, &ids), &yard, output)? {
            return Ok(Exit::Refused);
        }
        move_these(("Cancelled", "Would cancel"), &Move::Cancel, (&self.which, &ids), &yard, output)
    }
}
