//! `taskyard renew`

use std::time::Duration;

use clap::Args;
use taskyard::answers::renewed;
use taskyard::core::render::Tone;
use taskyard::core::{TaskId, Token};

use crate::arguments::{parse_id, parse_lifetime};
use crate::context::Context;
use crate::displays::answers::did;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Renew the lease on a task
///
/// Every command of an agent renews its leases; use this for long work without any command.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// The token of the lease
    #[arg(long, value_name = "N")]
    pub(crate) token: u64,

    /// How long the lease lasts from now on
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
    pub(crate) ttl: Option<Duration>,
}

impl Renew {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let (task, lease) = yard.renew(&self.id, Token(self.token), self.ttl)?.done()?;
        context.note_write(yard.list_id());
        if output.is_json() {
            output.document(renewed(&task, &lease))?;
        } else {
            let mut line = did("Renewed", &task);
            line.push(Tone::Dim, &format!(", yours {}", output.look().lease(&lease, &yard.judge(&lease)?)));
            output.say(&line)?;
        }
        Ok(Exit::Done)
    }
}
