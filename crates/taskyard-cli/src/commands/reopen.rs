//! `taskyard reopen` and `taskyard retry`: tasks that are worked on again.

use clap::Args;
use serde_json::Value;
use taskyard::core::Metadata;
use taskyard::core::rules::claims::attempts::ATTEMPTS;
use taskyard::operations::{DEFAULT_LEASE, Move, Patch, Update};

use super::several::make_move;
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Put completed or cancelled tasks back to pending
///
/// All of them in one revision, or none. They lose their owners, so that anybody can claim them; with --keep-owner the owner goes on, under a new lease.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Reopen {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Leave it to its owner, who gets a lease on it
    #[arg(long)]
    pub(crate) keep_owner: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Reopen {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let wanted = match self.keep_owner {
            true => Move::ReopenForOwner(context.config()?.lease().unwrap_or(DEFAULT_LEASE)),
            false => Move::Reopen,
        };
        make_move(("Reopened", "Would reopen"), &wanted, &self.which, (context, &yard), output)
    }
}

/// Let `work` try tasks again that it gave up
///
/// A task is given up when its command has failed as often as `work --retries` allows. This forgets the failed attempts.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Retry {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let metadata = Metadata::from_iter([(ATTEMPTS.to_owned(), Value::Null)]);
        let update = Update { patch: Patch { metadata: Some(metadata), ..Patch::default() }, ..Update::default() };
        let verbs = ("To be tried again:", "Would be tried again:");
        make_move(verbs, &Move::Update(Box::new(update)), &self.which, (context, &yard), output)
    }
}
