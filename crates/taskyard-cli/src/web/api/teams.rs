//! Teams, messages and todo lists.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use taskyard::core::answers;

use super::inputs::{Departure, DepartureReason};
use super::operation::{Asked, Operation, Parts, id};
use crate::commands::{
    Command, Inbox, Send, SendRequest, Team, TeamAction, TeamJoin, TeamLeave, TeamReason, Todo, TodoAction,
};
use crate::problem::Problem;
use crate::tokens::Scope;

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::teams::Teams<'_>>("listTeams", "/teams", "The teams").runs(list),
        Operation::post::<answers::teams::TeamCreated<'_>>("createTeam", "/teams", "Make a team and lead it")
            .makes("/teams/{team}")
            .with(create),
        Operation::get::<answers::teams::TeamShown<'_>>(
            "showTeam",
            "/teams/{team}",
            "Who is in a team, and what they do",
        )
        .runs(show),
        Operation::delete::<answers::teams::TeamDeleted<'_>>("deleteTeam", "/teams/{team}", "End a team")
            .only_for(Scope::All)
            .with(delete),
        Operation::post::<answers::teams::TeamJoined<'_>>("joinTeam", "/teams/{team}/members", "Join a team")
            .makes("/teams/{team}")
            .with(join),
        Operation::delete::<answers::teams::TeamLeft<'_>>(
            "leaveTeam",
            "/teams/{team}/members/{agent}",
            "Leave a team, or take a member out",
        )
        .with(leave),
        Operation::post::<answers::teams::Sent<'_>>("sendMessage", "/messages", "Write to a member of one's team")
            .makes("/messages")
            .or::<answers::teams::SentToAll<'_>>()
            .with(send),
        Operation::post::<answers::teams::Inbox<'_>>("readInbox", "/inbox", "What waits for the caller").with(inbox),
        Operation::get::<answers::teams::Outbox<'_>>(
            "listSent",
            "/messages",
            "What the caller has written, and how far it came",
        )
        .with(sent),
        Operation::get::<answers::teams::Todos<'_>>("readTodos", "/todos", "The todo list of the caller")
            .runs(read_todos),
        Operation::put::<answers::teams::Todos<'_>>("writeTodos", "/todos", "Replace the todo list of the caller")
            .with(write_todos),
    ]
}

fn list(_: &Parts) -> Result<Command, Problem> {
    Ok(team(TeamAction::List))
}

/// A new team.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewTeam {
    name: String,
    #[serde(default)]
    description: Option<String>,
    /// Empty the list of that name first; needs the scope `all`
    #[serde(default)]
    reset: bool,
}

fn create(_: &Parts, new: NewTeam) -> Result<Asked, Problem> {
    let name = new.name.parse().map_err(|error: taskyard::core::BadListName| {
        Problem::usage("bad_team_name", error.to_string().replace("list", "team"))
    })?;
    let scope = if new.reset { Scope::All } else { Scope::Work };
    Ok(Asked::only_for(scope, team(TeamAction::Create { name, description: new.description, reset: new.reset })))
}

fn show(parts: &Parts) -> Result<Command, Problem> {
    Ok(team(TeamAction::Show { name: Some(parts.text("team").to_owned()) }))
}

/// How a team ends.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Ending {
    /// Though members are left
    force: bool,
}

fn delete(parts: &Parts, ending: Ending) -> Result<Command, Problem> {
    Ok(team(TeamAction::Delete { name: parts.text("team").to_owned(), force: ending.force }))
}

/// The agent that asks joins.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Joining {
    /// It may start nothing before the lead has approved its plan
    plan_mode: bool,
    agent_type: Option<String>,
    model: Option<String>,
}

fn join(parts: &Parts, joining: Joining) -> Result<Command, Problem> {
    Ok(team(TeamAction::Join(TeamJoin {
        name: parts.text("team").to_owned(),
        plan_mode: joining.plan_mode,
        pid: None,
        backend: None,
        pane: None,
        agent_type: joining.agent_type,
        model: joining.model,
    })))
}

fn leave(parts: &Parts, leaving: Departure) -> Result<Command, Problem> {
    let reason = match leaving.reason {
        DepartureReason::Shutdown => TeamReason::Shutdown,
        DepartureReason::Terminated => TeamReason::Terminated,
    };
    let (name, departed) = (Some(parts.text("team").to_owned()), Some(parts.agent()?));
    Ok(team(TeamAction::Leave(TeamLeave { name, departed, reason })))
}

fn team(action: TeamAction) -> Command {
    Command::Team(Box::new(Team { action }))
}

/// What somebody is asked for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum AskedFor {
    Shutdown,
    Plan,
}

/// A message.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct NewMessage {
    /// A member of the team, or `*` for all
    to: Option<String>,
    text: String,
    summary: Option<String>,
    /// The team, where the sender is in several
    team: Option<String>,
    /// It tells what came of this task
    task: Option<String>,
    /// It asks for this
    request: Option<AskedFor>,
    /// It approves this request
    approve: Option<String>,
    /// It rejects this request
    reject: Option<String>,
}

fn send(_: &Parts, message: NewMessage) -> Result<Command, Problem> {
    let kinds =
        [message.task.is_some(), message.request.is_some(), message.approve.is_some(), message.reject.is_some()];
    if kinds.into_iter().filter(|is_given| *is_given).count() > 1 {
        return Err(Problem::usage("bad_input", "of `task`, `request`, `approve` and `reject` only one can be given"));
    }
    let answers = message.approve.is_some() || message.reject.is_some();
    if message.to.as_deref().is_none_or(str::is_empty) && !answers {
        return Err(Problem::usage("bad_input", "`to` names nobody"));
    }
    let request = message.request.map(|request| match request {
        AskedFor::Shutdown => SendRequest::Shutdown,
        AskedFor::Plan => SendRequest::Plan,
    });
    Ok(Command::Send(Send {
        to: message.to,
        text: Some(message.text).filter(|text| !text.is_empty()).into_iter().collect(),
        summary: message.summary,
        team: message.team,
        task: message.task.as_deref().map(id).transpose()?,
        request,
        approve: message.approve,
        reject: message.reject,
    }))
}

/// How an inbox is read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reading {
    /// Acknowledge them: they do not come again
    acknowledge: bool,
    /// Only messages from this member, and no jobs
    from: Option<String>,
    team: Option<String>,
}

fn inbox(_: &Parts, reading: Reading) -> Result<Command, Problem> {
    let Reading { acknowledge: ack, from, team } = reading;
    Ok(Command::Inbox(Inbox { ack, follow: false, sent: false, from, team }))
}

/// Which team.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct InTeam {
    /// The team, where the caller is in several
    team: Option<String>,
}

fn sent(_: &Parts, within: InTeam) -> Result<Command, Problem> {
    Ok(Command::Inbox(Inbox { ack: false, follow: false, sent: true, from: None, team: within.team }))
}

fn read_todos(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Todo(Todo { action: TodoAction::Read }))
}

/// A todo list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewTodos {
    /// Each with `content`, `status` and `activeForm`
    todos: Vec<Map<String, Value>>,
}

fn write_todos(_: &Parts, new: NewTodos) -> Result<Asked, Problem> {
    let list: Value = new.todos.into_iter().map(Value::Object).collect();
    Ok(Asked::reading(Command::Todo(Todo { action: TodoAction::Write }), list.to_string().into_bytes()))
}
