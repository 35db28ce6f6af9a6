//! Teams, messages and todo lists.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::{Job, Message};
use crate::answers::claim_answers::UnassignedTask;
use crate::rules::teams::mailing::DeliveryState;
use crate::rules::teams::membership::{MemberState, PlanState};
use crate::{Status, Team};

/// The teams.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Teams<'a> {
    pub teams: Vec<TeamSummary<'a>>,
}

/// A team among others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamSummary<'a> {
    /// Its name
    pub(crate) team: &'a str,
    /// What it is for
    pub(crate) description: Option<&'a str>,
    /// The names of its members
    pub(crate) members: Vec<&'a str>,
}

impl<'a> From<&'a Team> for TeamSummary<'a> {
    fn from(team: &'a Team) -> Self {
        let members = team.members.iter().map(|member| member.name.as_str()).collect();
        Self { team: team.name.as_str(), description: team.description.as_deref(), members }
    }
}

/// A team that was created.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamCreated<'a> {
    /// Its name
    pub team: &'a str,
    /// The list that its lead uses here
    pub list: &'a str,
    /// The list of the team
    pub team_list: &'a str,
    /// Its file, if it has one
    pub path: Option<String>,
    /// The name of its lead
    pub agent: &'a str,
}

/// A team that was joined.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamJoined<'a> {
    /// Its name
    pub team: &'a str,
    /// The new member
    pub agent: &'a str,
    /// Its colour
    pub color: Option<&'a str>,
    /// The list that it uses here
    pub list: &'a str,
    /// The list of the team
    pub team_list: &'a str,
    /// Whether it cannot start a task until the lead approves its plan
    pub plan_mode_required: bool,
}

/// A team that was left.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamLeft<'a> {
    /// Its name
    pub team: &'a str,
    /// The member that left
    pub agent: &'a str,
    /// The tasks that anybody can take now
    pub unassigned_tasks: Vec<UnassignedTask<'a>>,
    /// What the others are told
    pub notification_message: &'a str,
}

/// A team that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamDeleted<'a> {
    /// Its name
    pub team: &'a str,
    /// True
    pub deleted: bool,
}

/// A team and its members.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamShown<'a> {
    /// Its name
    pub team: &'a str,
    /// What it is for
    pub description: Option<&'a str>,
    /// Its members
    pub members: Vec<Member<'a>>,
}

/// A member of a team.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member<'a> {
    /// Its name
    pub name: &'a str,
    /// Whether it leads the team
    pub lead: bool,
    /// Its colour
    pub color: Option<&'a str>,
    /// What it does
    pub state: MemberState,
    /// Whether its process lives; null if that is not known
    pub alive: Option<bool>,
    /// When it becomes a ghost unless its process shows life; null unless that has ended or cannot be seen
    pub leaves_at: Option<String>,
    /// Its process; null if none is known
    pub process: Option<u32>,
    /// The ids of its open tasks
    pub tasks: Vec<&'a str>,
    /// How many messages it has not read; null if its inbox cannot be read
    pub unread: Option<usize>,
    /// Why its inbox cannot be read
    pub inbox_problem: Option<&'a str>,
    /// Whether it cannot start a task until the lead approves its plan
    pub plan_mode_required: bool,
    /// How far its plan is
    pub plan: PlanState,
    /// When it joined
    pub joined_at: String,
    /// When it was last seen
    pub seen: Option<String>,
    /// What it did last
    pub activity: Option<&'a str>,
    /// How many tools it has used
    pub tool_uses: Option<u64>,
    /// How many tokens it has used
    pub tokens: Option<u64>,
}

/// Files of teams that were mended.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct TeamsMended {
    pub mended: Vec<MendedFile>,
}

/// A file of a team.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MendedFile {
    /// Its path
    pub path: String,
    /// Whether it could be mended
    pub mended: bool,
    /// How many messages or members are in it
    pub saved: usize,
    /// The copy of the torn file; null if it could not be mended or there was nothing to copy
    pub kept: Option<String>,
}

/// A message that was sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sent<'a> {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub message: SentToOne<'a>,
    /// If the sender asked for something, what the answer names
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
}

/// A message as one recipient gets it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentToOne<'a> {
    /// Its recipient
    pub to: &'a str,
    /// Its id
    pub id: Option<&'a str>,
    /// When it was sent
    pub timestamp: &'a str,
    /// How far it came
    pub state: DeliveryState,
}

/// A message that was sent to all.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentToAll<'a> {
    /// How many got it
    pub reached: usize,
    /// The message to each of them
    pub sent: Vec<SentToOne<'a>>,
    /// Members that did not get it
    pub missed: &'a [String],
}

/// What waits for an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inbox<'a> {
    /// Its team; null if it is in none
    pub team: Option<&'a str>,
    /// Its name in the team; null if it is in none
    pub agent: Option<&'a str>,
    /// Notifications for jobs of the agent that have ended
    pub notifications: Vec<Notification<'a>>,
    /// Its jobs that still run
    pub jobs: Vec<Job<'a>>,
    /// The messages
    pub messages: Vec<Message<'a>>,
    /// How many entries of the inbox are no messages
    pub malformed: usize,
}

/// A notification for a job that has ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Notification<'a> {
    /// The id of the job
    pub job: &'a str,
    /// What the agent is told, in the client's words
    pub text: String,
    /// When the job ended
    pub timestamp: String,
}

/// What an agent has sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outbox<'a> {
    /// Its team
    pub team: &'a str,
    /// Its name
    pub agent: &'a str,
    /// The messages, newest first
    pub messages: Vec<SentMessage<'a>>,
}

/// A message that was sent, and how far it came.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentMessage<'a> {
    /// Its id
    pub id: &'a str,
    /// Its recipient
    pub to: &'a str,
    /// When it was sent
    pub timestamp: String,
    /// What it says in a few words
    pub summary: &'a str,
    /// How far it came
    pub state: DeliveryState,
}

/// A todo list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todos<'a> {
    /// The items; after `todo write` as they were given
    pub todos: Vec<Todo<'a>>,
    /// After `todo write`, the items before
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_todos: Option<Vec<Todo<'a>>>,
    /// True if all were completed, so that the list is empty now
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<bool>,
}

/// An item of a todo list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo<'a> {
    /// What there is to do
    pub(crate) content: &'a str,
    /// Its state
    pub(crate) status: Status,
    /// What is being done, while it is in progress
    pub(crate) active_form: &'a str,
}

impl<'a> From<&'a crate::Todo> for Todo<'a> {
    fn from(todo: &'a crate::Todo) -> Self {
        Self { content: &todo.content, status: todo.status, active_form: &todo.active_form }
    }
}
