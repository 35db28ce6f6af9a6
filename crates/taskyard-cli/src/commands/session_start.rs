//! The answer to the client's `SessionStart`: which list is in use, what is open in it, and what was left in others.

use std::path::Path;

use serde_json::{Map, Value, json};
use taskyard::Yard;
use taskyard::core::render::{brief_lines, brief_names, loss_in_words, run_line};
use taskyard::operations::Brief;

use super::hook_event::{OwnTools, read_event};
use crate::context::Context;
use crate::environment::TASKYARD_SESSION_AGENT;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;
use crate::{client_environment_file, places};

/// The event.
pub(super) const EVENT: &str = "SessionStart";

/// Tells a new session of the client which list is in use and what is open, in few words. Whatever is wrong on our side must not
/// trouble the session, so that only an event that cannot be read is an error.
pub(super) fn answer(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let event = read_event()?;
    match facts(context, &event, output) {
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
    // The client gets its name with the first yard.
    let yard = context.yard();
    tell_session_agent(&context, output)?;
    let (yard, choice) = (yard?, context.choice()?);
    let brief = yard.brief()?;
    let mut facts: Vec<String> = yard.task_of_run()?.iter().map(|(task, is_held)| run_line(task, *is_held)).collect();
    let here = format!("Taskyard keeps the tasks here in list {} ({})", choice.list, choice.reason);
    if brief.open() > 0 || is_loss(&brief) {
        facts.push(format!("{here}; `taskyard prime` says how one works with them."));
        facts.extend(brief_lines(yard.list_id(), &brief));
    } else {
        facts.push(format!("{here}; nothing is open in it."));
    }
    facts.extend(kept_by_own_tools(&context, &yard, brief.open())?);
    facts.extend(left_in_the_directory(&context, &yard)?);
    facts.extend(left_by_sessions(&context, &yard)?);
    context.tell_warnings(output)?;
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

/// Tells where the client's own task tools keep theirs, where that is another list than the one in use and there is anything open in
/// either.
fn kept_by_own_tools(context: &Context, yard: &Yard, open_here: usize) -> Result<Option<String>, Problem> {
    let own_tools = OwnTools::beside(yard, context)?;
    if own_tools.yards.is_empty() {
        return Ok(None);
    }
    let mut theirs = String::new();
    for other in &own_tools.yards {
        let (list, open) = (other.list_id(), other.open_tasks_of(other.list_id())?);
        if !open.is_empty() {
            let (tasks, them) = counted(open.len());
            let bring = match own_tools.is_same_store {
                true => format!("; `taskyard adopt {list}` brings {them} here"),
                false => format!(", Claude Code's own files; `--store claude: --list {list}` works on {them} there"),
            };
            theirs.push_str(&format!(" ({tasks} open in {list}: {}{bring})", brief_names(&open)));
        }
    }
    // They know no store but their own files.
    let unite = own_tools.is_same_store.then_some("; `taskyard setup claude --scope project` has them use this one");
    let is_told = (open_here > 0 && own_tools.is_same_store) || !theirs.is_empty();
    let unite = unite.unwrap_or_default();
    Ok(is_told.then(|| format!("Claude Code's own task tools keep another list{theirs}{unite}")))
}

fn counted(open: usize) -> (String, &'static str) {
    if open == 1 { ("1 task is".to_owned(), "it") } else { (format!("{open} tasks are"), "them") }
}

/// Tells of the list of the directory itself, where another is in use and something is open in it. Its tasks stay there: people
/// share it.
fn left_in_the_directory(context: &Context, yard: &Yard) -> Result<Option<String>, Problem> {
    let list = context.list_of_directory()?.list;
    if list == *yard.list_id() {
        return Ok(None);
    }
    let brief = yard.on(list.clone()).brief()?;
    if is_loss(&brief) {
        return Ok(brief.gone.and_then(|gone| loss_in_words(&gone, &list, |moment| moment.to_string())));
    }
    let (tasks, them) = counted(brief.open());
    let how = format!("`--list {list}` works on {them} there");
    Ok((brief.open() > 0)
        .then(|| format!("{tasks} open in {list}, the list of this directory, which its people share; {how}")))
}

/// Tells of what earlier sessions in the directory left open in lists of their own.
fn left_by_sessions(context: &Context, yard: &Yard) -> Result<Option<String>, Problem> {
    let config = places::client_config(context.environment())?;
    let mut left = yard.left_by_sessions(&config, context.directory()?)?;
    left.retain(|earlier| Some(&earlier.session) != context.environment().client_session.as_ref());
    let open: usize = left.iter().map(|session| session.open.len()).sum();
    let tasks = if open == 1 { "1 open task".to_owned() } else { format!("{open} open tasks") };
    Ok((open > 0).then(|| format!("Earlier sessions in this directory left {tasks}; `taskyard adopt` shows them")))
}
