//! The answer to the client's `SessionStart`: what is open in the list of the session, and what was left elsewhere.

use std::path::Path;

use serde_json::{Map, Value, json};
use taskyard::Yard;
use taskyard::core::render::{brief_lines, loss_in_words};
use taskyard::operations::Brief;

use super::hook_event::read_event;
use crate::context::Context;
use crate::environment::TASKYARD_SESSION_AGENT;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::{client_environment_file, places};

/// The event.
pub(super) const EVENT: &str = "SessionStart";

/// Tells a new session of the client what is open, in few words; nothing where nothing is. Whatever is wrong on our side must not
/// trouble the session, so that only an event that cannot be read is an error.
pub(super) fn answer(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let event = read_event()?;
    match facts(context, &event, output) {
        Ok(facts) if facts.is_empty() => {}
        Ok(facts) => {
            let told = json!({"hookEventName": EVENT, "additionalContext": facts.join("\n")});
            output.bare_document(json!({ "hookSpecificOutput": told }))?;
        }
        Err(problem) => output.warn(&problem.report().message)?,
    }
    Ok(Exit::Done)
}

fn facts(context: &Context, event: &Map<String, Value>, output: &mut Output) -> Result<Vec<String>, Problem> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let context = context.in_session(text("session_id")).at(text("cwd").map(Path::new));
    tell_session_agent(&context, output)?;
    let yard = context.yard()?;
    let brief = yard.brief()?;
    let mut facts = Vec::new();
    if brief.open() > 0 || is_loss(&brief) {
        facts.push(
            "Taskyard keeps the tasks of this session; `taskyard prime` says how one works with them.".to_owned(),
        );
        facts.extend(brief_lines(yard.list_id(), &brief));
    }
    facts.extend(left_in_the_directory(&context, &yard)?);
    facts.extend(left_by_sessions(&context, &yard)?);
    context.tell_notices(output)?;
    Ok(facts)
}

/// Has the commands of the session act under the name that its MCP server uses.
fn tell_session_agent(context: &Context, output: &mut Output) -> Result<(), Problem> {
    let (Some(file), Some(agent)) = (&context.environment().client_environment_file, context.session_agent()) else {
        return Ok(());
    };
    if let Err(error) = client_environment_file::set(file, TASKYARD_SESSION_AGENT, agent.as_str()) {
        output.warn(&format!("cannot set {TASKYARD_SESSION_AGENT} in `{}`: {error}", file.display()))?;
    }
    Ok(())
}

fn is_loss(brief: &Brief) -> bool {
    brief.gone.is_some_and(|gone| gone.is_loss())
}

/// Tells of the list that the directory has apart from the session, where something is open in it.
fn left_in_the_directory(context: &Context, yard: &Yard) -> Result<Option<String>, Problem> {
    let list = context.outside_sessions().choice()?.list;
    if list == *yard.list_id() {
        return Ok(None);
    }
    let brief = yard.on(list.clone()).brief()?;
    if is_loss(&brief) {
        return Ok(brief.gone.and_then(|gone| loss_in_words(&gone, &list, |moment| moment.to_string())));
    }
    let open = brief.open();
    let (tasks, them) = if open == 1 { ("1 task is".to_owned(), "it") } else { (format!("{open} tasks are"), "them") };
    let adopt = format!("`taskyard adopt {list}` brings {them} here");
    Ok((open > 0).then(|| format!("{tasks} open in {list}, the list of this directory; {adopt}")))
}

/// Tells of what earlier sessions in the directory left open in lists of their own.
fn left_by_sessions(context: &Context, yard: &Yard) -> Result<Option<String>, Problem> {
    let config = places::client_config(context.environment())?;
    let left = yard.left_by_sessions(&config, context.directory()?)?;
    let open: usize = left.iter().map(|session| session.open.len()).sum();
    let tasks = if open == 1 { "1 open task".to_owned() } else { format!("{open} open tasks") };
    Ok((open > 0).then(|| format!("Earlier sessions in this directory left {tasks}; `taskyard adopt` shows them")))
}
