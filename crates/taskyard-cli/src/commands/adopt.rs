//! `taskyard adopt`

use clap::Args;
use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::ListId;
use taskyard::core::render::{Line, Tone, task_line};
use taskyard::operations::{MergeWhich, SessionList};

use super::merge::{as_json, tell};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, Shapes};
use crate::places;
use crate::problem::Problem;

/// Bring the open tasks of an earlier session's list here
///
/// The client starts every session with a list of its own, and what was still open stays behind in the old one. Without
/// arguments this finds the lists that earlier sessions in this directory left, and offers to bring their open tasks here.
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// The list to take the open tasks of
    #[arg(value_name = "LIST")]
    source: Option<String>,

    /// Take everything that was found, without asking
    #[arg(long, conflicts_with = "source")]
    yes: bool,
}

impl Adopt {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        if let Some(source) = self.source {
            let answers = take(&yard, &[ListId::new(source)?], output)?;
            if let (true, [answer]) = (output.is_json(), &answers[..]) {
                output.document(answer)?;
            }
            return Ok(Exit::Done);
        }
        let config = places::client_config(context.environment())?;
        let mut found = yard.left_by_sessions(&config, context.directory()?)?;
        found.retain(|session| &session.list != yard.list_id());
        if self.yes {
            let lists: Vec<ListId> = found.into_iter().map(|session| session.list).collect();
            let adopted = take(&yard, &lists, output)?;
            if output.is_json() {
                output.document(json!({ "adopted": adopted }))?;
            } else if lists.is_empty() {
                output.say(&Line::plain("No earlier session left open tasks here"))?;
            }
            return Ok(Exit::Done);
        }
        if output.is_json() {
            output.document(json!({"sessions": found.iter().map(shape).collect::<Vec<_>>()}))?;
            return Ok(Exit::Done);
        }
        if found.is_empty() {
            output.say(&Line::plain("No earlier session left open tasks here"))?;
            return Ok(Exit::Done);
        }
        for session in &found {
            show(session, output)?;
        }
        let question =
            format!("Bring {} here, into {}?", if found.len() == 1 { "them" } else { "all of them" }, yard.list_id());
        if output.ask(&question)? {
            let lists: Vec<ListId> = found.into_iter().map(|session| session.list).collect();
            take(&yard, &lists, output)?;
        } else {
            let mut line = Line::new().with(Tone::Dim, "bring one here with ").with(Tone::Hint, "taskyard adopt LIST");
            line.push(Tone::Dim, ", all of them with ");
            line.push(Tone::Hint, "taskyard adopt --yes");
            output.say(&line)?;
        }
        Ok(Exit::Done)
    }
}

/// Moves the open tasks of each list here, and returns what moved for programs.
fn take(yard: &Yard, lists: &[ListId], output: &mut Output) -> Result<Vec<Value>, Problem> {
    let mut answers = Vec::new();
    for from in lists {
        let merged = yard.merge(from, yard.list_id(), MergeWhich::Open)?.done()?;
        if output.is_json() {
            answers.push(as_json(&merged, from, yard.list_id()));
        } else {
            tell(&merged, from, yard.list_id(), output)?;
        }
    }
    Ok(answers)
}

fn show(session: &SessionList, output: &mut Output) -> Result<(), Problem> {
    let look = output.look();
    let mut line = Line::new().with(Tone::Strong, session.list.as_str());
    if let Some(moment) = session.last_used {
        line.push(Tone::Dim, &format!("  last used {}", look.time(moment)));
    }
    output.line(&line)?;
    let width = session.open.iter().map(|task| task.id.as_str().len() + 1).max().unwrap_or(0);
    for task in &session.open {
        output.line(&task_line("  ", width, task, &[], &look))?;
    }
    Ok(())
}

fn shape(session: &SessionList) -> Value {
    json!({
        "session": session.session,
        "list": session.list.as_str(),
        "lastUsed": session.last_used.map(|moment| moment.to_string()),
        "tasks": Shapes(&session.open),
    })
}
