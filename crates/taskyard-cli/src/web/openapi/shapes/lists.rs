//! Lists, and what can be said of one as a whole.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::access::Schema;
use super::tasks::{Counts, Entry, Task};

/// The lists of a store.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Lists {
    schema: Schema,
    lists: Vec<ListShown>,
    more: Option<bool>,
}

/// A list.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ListShown {
    list: String,
    path: Option<String>,
    counts: Counts,
    changed: Option<String>,
    current: bool,
    gone: Option<Value>,
}

/// One list.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ListAlone {
    schema: Schema,
    list: String,
    path: Option<String>,
    counts: Counts,
    revision: u64,
    changed: Option<String>,
    gone: Option<Value>,
}

/// The agents of a list: members of its team, and owners of open tasks.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Agents {
    schema: Schema,
    agents: Vec<Agent>,
}

/// One agent of a list.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct AgentAlone {
    schema: Schema,
    agent: Agent,
}

/// An agent, and the open tasks it holds.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Agent {
    name: String,
    color: Option<String>,
    state: String,
    tasks: Vec<HeldTask>,
    unread: Option<u64>,
    tool_uses: Option<u64>,
    tokens: Option<u64>,
    activity: Option<String>,
    seen: Option<String>,
    joined_at: Option<String>,
}

/// A task that an agent holds; `lease` is `live`, `ended` or `none`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct HeldTask {
    task: String,
    subject: String,
    taken_at: Option<String>,
    lease: String,
    expires_at: Option<String>,
}

/// What is served.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Where {
    schema: Schema,
    list: String,
    store: String,
    reason: String,
    directory_list: Option<String>,
    directories: Vec<String>,
    path: Option<String>,
    data: Option<String>,
    agent: String,
    other_teams: Vec<Value>,
    ignored: Vec<Value>,
}

/// As whom the caller acts; `source` is `request`, `flag`, `variable`, `session`, `login` or `nobody`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Whoami {
    schema: Schema,
    agent: String,
    source: String,
    person: bool,
}

/// A list in numbers.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Stats {
    schema: Schema,
    counts: Counts,
    ready: u64,
    blocked: u64,
    cancelled: u64,
    overdue: u64,
    deferred: u64,
    estimates: Vec<Value>,
    unreadable: u64,
    edges: u64,
    longest_chain: Vec<String>,
    owners: BTreeMap<String, Counts>,
    priorities: BTreeMap<String, u64>,
    tags: BTreeMap<String, u64>,
    revision: Option<u64>,
    gone: Option<Value>,
}

/// What can start now.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Ready {
    schema: Schema,
    tasks: Vec<Task>,
    ranking: Vec<Rank>,
    stale_owner: Option<Vec<String>>,
    gone: Option<Value>,
}

/// Why a task comes where it comes.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Rank {
    task: String,
    why: String,
    chain: u64,
    unblocks: Vec<String>,
}

/// What a search found.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Found {
    schema: Schema,
    tasks: Vec<Task>,
    hits: Vec<Hit>,
    gone: Option<Value>,
}

/// Where a search found it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Hit {
    list: Option<String>,
    task: String,
    field: String,
    excerpt: String,
}

/// What waits for what: `blocks` and `blockedBy` of the tasks are the edges.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Graph {
    schema: Schema,
    tasks: Vec<Task>,
    graph: Option<String>,
}

/// Tasks that were removed, as they were.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Cleared {
    schema: Schema,
    tasks: Vec<Task>,
    missing: Option<Vec<Task>>,
    revision: Option<u64>,
}

/// Tasks that moved here.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Merged {
    schema: Schema,
    from: String,
    into: String,
    mapping: BTreeMap<String, String>,
    tasks: Vec<Task>,
    dropped_edges: Vec<[String; 2]>,
}

/// What is wrong.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Findings {
    schema: Schema,
    findings: Vec<Finding>,
    fixed: Option<Vec<Finding>>,
    revision: Option<u64>,
}

/// Something that is wrong.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Finding {
    code: String,
    task: Option<String>,
    file: Option<String>,
    message: String,
    means: String,
    fix: Option<String>,
    severity: Option<String>,
}

/// Entries of the journal, oldest first.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct History {
    schema: Schema,
    entries: Vec<Entry>,
}

/// Revisions that were taken back.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Undone {
    schema: Schema,
    undone: Vec<u64>,
    actors: Vec<String>,
    revision: u64,
    tasks: Vec<Task>,
    removed: Vec<String>,
}

/// What could be brought back.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Restorable {
    schema: Schema,
    restorable: Vec<Absent>,
}

/// A task that is gone.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Absent {
    task: Task,
    deleted: bool,
    replaced: bool,
    removed: Entry,
}

/// What came back.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Restored {
    schema: Schema,
    tasks: Vec<Task>,
    dropped_edges: Vec<[String; 2]>,
    nothing_is_open: bool,
    revision: Option<u64>,
}

/// Tasks in another format.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Exported {
    schema: Schema,
    to: String,
    path: Option<String>,
    count: u64,
    lost: Vec<Value>,
    text: Option<String>,
}

/// What came of an import.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Imported {
    schema: Schema,
    from: String,
    source: String,
    dry_run: bool,
    counts: BTreeMap<String, u64>,
    mapping: BTreeMap<String, String>,
    mapped: Vec<Value>,
    lost: Vec<Value>,
    revision: Option<u64>,
}
