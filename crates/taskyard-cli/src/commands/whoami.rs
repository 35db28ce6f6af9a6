//! `taskyard whoami`

use clap::Args;
use serde_json::json;
use taskyard::core::render::{Line, Tone};

use crate::context::{Context, NameSource};
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
            let source = source.as_str();
            output.document(json!({ "agent": actor.as_str(), "source": source, "person": is_person }))?;
            return Ok(Exit::Done);
        }
        if output.is_quiet() {
            output.line(&Line::plain(actor.as_str()))?;
            return Ok(Exit::Done);
        }
        let kind = if is_person { "a person" } else { "an agent" };
        let mut line = Line::new().with(Tone::Strong, actor.as_str());
        line.push(Tone::Plain, &format!(", {kind} ({})", source.in_words()));
        output.line(&line)?;
        if source == NameSource::Nobody {
            output.advise("give a name with --as or TASKYARD_AGENT")?;
        }
        Ok(Exit::Done)
    }
}
