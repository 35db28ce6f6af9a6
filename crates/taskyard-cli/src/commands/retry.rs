//! `taskyard retry`

use clap::Args;
use serde_json::Value;
use taskyard::core::Metadata;
use taskyard::core::rules::claims::attempts::ATTEMPTS;
use taskyard::operations::{Move, Patch, Update};

use super::several::make_move;
use crate::arguments::{LeaseFlags, WhichTasks};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

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
