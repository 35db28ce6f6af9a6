//! Teams, messages and todo lists.

use schemars::JsonSchema;
use serde_json::Value;

use super::access::Schema;
use super::claims::Unassigned;
use super::jobs::Job;

/// The teams.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Teams {
    schema: Schema,
    teams: Vec<TeamSummary>,
}

/// A team.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TeamSummary {
    team: String,
    description: Option<String>,
    members: Vec<String>,
}

/// A team that was made.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TeamMade {
    schema: Schema,
    team: String,
    list: String,
    path: Option<String>,
    agent: String,
}

/// A team and its members.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TeamShown {
    schema: Schema,
    team: String,
    description: Option<String>,
    members: Vec<Member>,
}

/// A member of a team.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Member {
    name: String,
    lead: bool,
    color: Option<String>,
    state: String,
    alive: Option<bool>,
    tasks: Vec<String>,
    unread: Option<u64>,
}

/// A team that was ended.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TeamEnded {
    schema: Schema,
    team: String,
    deleted: bool,
}

/// A team that was joined.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TeamJoined {
    schema: Schema,
    team: String,
    agent: String,
    color: Option<String>,
    list: String,
    plan_mode_required: bool,
}

/// A team that was left.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct TeamLeft {
    schema: Schema,
    team: String,
    agent: String,
    unassigned_tasks: Vec<Unassigned>,
    notification_message: Option<String>,
}

/// A message that was sent.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct OneSent {
    schema: Schema,
    to: String,
    id: Option<String>,
    timestamp: String,
    state: String,
    request: Option<String>,
}

/// A message that was sent to all.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct AllSent {
    schema: Schema,
    reached: u64,
    sent: Vec<Value>,
    missed: Vec<String>,
}

/// What waits for an agent.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Inbox {
    schema: Schema,
    team: Option<String>,
    agent: Option<String>,
    notifications: Vec<Value>,
    jobs: Vec<Job>,
    messages: Vec<Message>,
    malformed: u64,
}

/// A message.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Message {
    id: String,
    from: String,
    text: String,
    summary: Option<String>,
    timestamp: String,
    color: Option<String>,
    repeats: u64,
}

/// What an agent has written.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Outbox {
    schema: Schema,
    team: String,
    agent: String,
    messages: Vec<Value>,
}

/// A todo list.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Todos {
    schema: Schema,
    todos: Vec<Value>,
    old_todos: Option<Vec<Value>>,
    cleared: Option<bool>,
}

/// A message that was sent, to one or to all.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Sent {
    /// To one
    One(OneSent),
    /// To all
    All(AllSent),
}
