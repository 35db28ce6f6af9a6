//! The answer to the client's `SessionEnd`: what the agents of the session hold comes back.

use std::path::Path;

use serde_json::{Map, Value, json};
use taskyard::Yard;
use taskyard::operations::Departure;

use super::hook_event::{OwnTools, read_event};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// The event.
pub(super) const EVENT: &str = "SessionEnd";

/// The reasons for which a session ends while its client goes on with another (`docs/interop.md`).
const CLIENT_GOES_ON: [&str; 2] = ["clear", "resume"];

/// Releases what the agents of a client hold that is about to end. Whatever is wrong on our side must not trouble the client, so only an
/// event that cannot be read is an error; what is not released ends with the process of the client.
pub(super) fn answer(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let event = read_event()?;
    let reason = event.get("reason").and_then(Value::as_str).unwrap_or_default();
    if !CLIENT_GOES_ON.contains(&reason)
        && let Err(problem) = release(context, &event)
    {
        output.warn(&problem.report().message)?;
    }
    output.bare_document(json!({}))?;
    Ok(Exit::Done)
}

fn release(context: &Context, event: &Map<String, Value>) -> Result<(), Problem> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let context = context.in_session(text("session_id")).at(text("cwd").map(Path::new));
    let yard = context.yard()?;
    let own_tools = OwnTools::beside(&yard, &context)?;
    for yard in std::iter::once(&yard).chain(&own_tools.yards) {
        if yard.store().has(yard.list_id()).map_err(taskyard::Error::from)? {
            release_in(yard, &context)?;
        }
    }
    Ok(())
}

fn release_in(yard: &Yard, context: &Context) -> Result<(), Problem> {
    if let Some(client) = context.client_process() {
        yard.release_of_client(client)?;
    }
    // A name that was given may be used elsewhere, too: under that one only what lives with the client comes back.
    if let (None, Some(agent)) = (context.named_agent(), context.session_agent()) {
        yard.depart(&agent, Departure::Shutdown)?;
    }
    Ok(())
}
