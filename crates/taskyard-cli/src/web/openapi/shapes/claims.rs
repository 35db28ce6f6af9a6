//! Claims.

use schemars::JsonSchema;
use serde_json::Value;

use super::access::Schema;
use super::tasks::{RefusedTask, Task};

/// A claim that was won.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ClaimWon {
    schema: Schema,
    claimed: bool,
    task: Task,
    token: u64,
    expires_at: Option<String>,
    agent: String,
    resumed: bool,
    why: Option<String>,
    also_held: Option<Vec<String>>,
    revision: Option<u64>,
}

/// A claim that was not. `reason` is `task_not_found`, `already_claimed`, `already_resolved`, `blocked`, `agent_busy`, `not_allowed`, `plan_not_approved` or `nothing_ready`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ClaimLost {
    schema: Schema,
    claimed: bool,
    reason: String,
    owner: Option<String>,
    since: Option<String>,
    free_at: Option<String>,
    blocked_by: Option<Vec<String>>,
    through: Option<String>,
    busy_with: Option<Vec<String>>,
    assignable_to: Option<Vec<String>>,
    for_others: Option<u64>,
    next_at: Option<String>,
    task: Option<Task>,
    also_held: Option<Vec<String>>,
    gone: Option<Value>,
}

/// Claims on several tasks.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ClaimedTogether {
    schema: Schema,
    claimed: Option<bool>,
    tasks: Vec<Task>,
    claims: Option<Vec<OneClaim>>,
    refused: Option<Vec<Value>>,
    revision: Option<u64>,
}

/// One of several claims.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct OneClaim {
    task: String,
    token: u64,
    expires_at: Option<String>,
    agent: String,
    resumed: bool,
}

/// A lease that goes on.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Renewed {
    schema: Schema,
    renewed: bool,
    task: Task,
    token: u64,
    expires_at: Option<String>,
}

/// A task that was given back.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Released {
    schema: Schema,
    task: Task,
    revision: Option<u64>,
}

/// Tasks that were given back.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ReleasedTogether {
    schema: Schema,
    tasks: Vec<Task>,
    refused: Option<Vec<RefusedTask>>,
    revision: Option<u64>,
}

/// What an agent left.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Departed {
    schema: Schema,
    unassigned_tasks: Vec<Unassigned>,
    notification_message: String,
}

/// A task that nobody has any longer.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Unassigned {
    id: String,
    subject: String,
}
