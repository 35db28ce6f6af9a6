//! Tasks, and what became of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::access::{Report, Schema};
use super::jobs::Job;
use super::leases::Lease;

/// A task in the native shape. It may have other keys, which are kept as they are.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Task {
    id: String,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    owner: Option<String>,
    status: Option<String>,
    blocks: Option<Vec<String>>,
    blocked_by: Option<Vec<String>>,
    metadata: Option<Map<String, Value>>,
}

/// What one commit did to one task. Before and after are tasks, or the bare text where no task can be read from it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Entry {
    revision: u64,
    at: String,
    actor: String,
    op: String,
    task: String,
    before: Value,
    after: Value,
    undoes: Option<Vec<u64>>,
    now_ready: Option<Vec<String>>,
    notice: Option<String>,
}

/// What changed about a task, from what to what.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Field {
    field: String,
    from: Value,
    to: Value,
}

/// The tasks of a list.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Listing {
    schema: Schema,
    tasks: Vec<Task>,
    counts: Counts,
    list: String,
    revision: u64,
    leases: Option<Vec<Lease>>,
    progress: Option<BTreeMap<String, PartsDone>>,
    problems: Option<Vec<Value>>,
    gone: Option<Value>,
}

/// How many parts of a task are done.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct PartsDone {
    done: u64,
    total: u64,
}

/// A new task.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Made {
    schema: Schema,
    task: Task,
    revision: u64,
    block_left: Option<String>,
}

/// New tasks.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct MadeTogether {
    schema: Schema,
    tasks: Vec<Task>,
    names: BTreeMap<String, String>,
    revision: Option<u64>,
    dry_run: bool,
}

/// A task in full.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Shown {
    schema: Schema,
    task: Task,
    open_blockers: Vec<Task>,
    dependents: Vec<Task>,
    subtasks: Vec<Task>,
    jobs: Option<Vec<Job>>,
    lease: Option<Lease>,
    made: Option<Entry>,
    changed: Option<Entry>,
}

/// What became of a task.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Changed {
    schema: Schema,
    task: Task,
    updated: Vec<String>,
    changes: Vec<Field>,
    now_ready: Vec<String>,
    status_change: Option<Value>,
    open_blockers: Option<Vec<String>>,
    dependents_started: Option<Vec<String>>,
    revision: Option<u64>,
    token: Option<u64>,
    expires_at: Option<String>,
}

/// What became of tasks.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ChangedTogether {
    schema: Schema,
    tasks: Vec<Task>,
    changes: Option<BTreeMap<String, Vec<Field>>>,
    now_ready: Option<Vec<String>>,
    refused: Option<Vec<RefusedTask>>,
    revision: Option<u64>,
}

/// A task with which nothing was done.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct RefusedTask {
    task: String,
    error: Report,
}

/// Tasks that were deleted, as they were.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Deleted {
    schema: Schema,
    tasks: Vec<Task>,
    missing: Option<Vec<String>>,
    lifted: Option<Vec<String>>,
    refused: Option<Vec<RefusedTask>>,
    revision: Option<u64>,
}

/// A remark that was added.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Noted {
    schema: Schema,
    task: Task,
    note: Note,
    told: Vec<String>,
    revision: Option<u64>,
}

/// A dated, signed remark.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Note {
    at: String,
    author: String,
    text: String,
}

/// How many tasks there are of each state.
#[derive(JsonSchema)]
pub(crate) struct Counts {
    pending: u64,
    in_progress: u64,
    completed: u64,
}

/// What became of a task that was cancelled; with its parts it is several.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Cancelled {
    /// It alone
    Alone(Box<Changed>),
    /// With its parts
    WithParts(ChangedTogether),
}
