//! `taskyard whoami`

use clap::Args;
use taskyard::core::answers;
use taskyard::core::answers::words::NameSource;
use taskyard::core::render::{Line, Tone};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Show the name that commands act under, and where it comes from
///
/// Changes are recorded under this name, it owns the tasks that you start, and `taskyard undo` takes back its changes. A person at a
/// terminal owns tasks without a lease; every other actor is an agent.
#[derive(Debug, Args)]
pub(crate) struct Whoami {}

impl Whoami {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (actor, source) = context.actor_and_source()?;
        let is_person = context.is_person();
        if output.is_json() {
            output.document(answers::lists::Whoami { agent: actor.as_str(), source, person: is_person })?;
            return Ok(Exit::Done);
        }
        if output.is_quiet() {
            output.line(&Line::plain(actor.as_str()))?;
            return Ok(Exit::Done);
        }
        let kind = if is_person { "a person" } else { "an agent" };
        let mut line = Line::new().with(Tone::Strong, actor.as_str());
        line.push(Tone::Plain, &format!(", {kind} ({})", in_words(source)));
        output.line(&line)?;
        if source == NameSource::Nobody {
            output.advise("give a name with --as or TASKYARD_AGENT")?;
        }
        Ok(Exit::Done)
    }
}

const fn in_words(source: NameSource) -> &'static str {
    match source {
        NameSource::Flag => "named by --as",
        NameSource::Variable => "named by TASKYARD_AGENT",
        NameSource::Request => "named by the link, the token or the request",
        NameSource::Session => "named after the client's session",
        NameSource::Login => "your login",
        NameSource::Nobody => "no name was given",
    }
}
