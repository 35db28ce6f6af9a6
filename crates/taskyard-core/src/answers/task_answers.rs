//! Tasks: listing, creating, showing, changing and deleting them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answers::answer_values::{Counts, Entry, Gone, Ids, Job, Keyed, Lease, Shape};
use crate::problem::Report;
use crate::rules::changes::patching::Field;
use crate::{Status, Task};

/// The tasks of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listing<'a> {
    /// The tasks in display order, as a query and the flags choose, sort and limit them
    pub tasks: Vec<Shape<'a>>,
    /// The tasks of the whole list
    pub counts: Counts,
    /// The list
    pub list: &'a str,
    /// Its newest commit
    pub revision: u64,
    /// By id, the parts of the tasks shown that have any
    #[serde(skip_serializing_if = "Keyed::is_empty")]
    pub progress: Keyed<&'a str, PartsDone>,
    /// The leases of agents
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<Lease<'a>>,
    /// Files among the tasks that cannot be read
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<UnreadableFile<'a>>,
    /// What the list has lost; also there if only completed tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// How many parts of a task are done.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct PartsDone {
    pub done: usize,
    pub total: usize,
}

/// A file among the tasks that cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableFile<'a> {
    /// The id of the task it would be
    pub task: &'a str,
    /// Its name
    pub file: String,
    /// Its path
    pub path: String,
    /// Why it cannot be read
    pub message: String,
}

/// A new task.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Created<'a> {
    /// The task
    pub task: Shape<'a>,
    /// The commit
    pub revision: u64,
    /// Why the block in the description was left as it is, if it could not be read
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_left: Option<String>,
}

/// No new task, because the text of `edit` was left as it was.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct NotCreated {
    pub task: (),
}

/// New tasks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTogether<'a> {
    /// The tasks in the order in which they were given
    pub tasks: Vec<Shape<'a>>,
    /// The id of each name
    #[schemars(with = "BTreeMap<String, String>")]
    pub names: Map<String, Value>,
    /// The commit; absent after a dry run
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Whether nothing was created
    pub dry_run: bool,
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// Its name
    pub name: String,
    /// Its file
    pub path: String,
    /// Its variables, by name
    pub variables: Vec<String>,
    /// What is in the file
    pub text: String,
    /// The dependencies that were not saved, because only one of the two tasks was: the task and its blocker
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Vec<[String; 2]>>,
    /// Whether nothing was saved
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// The templates of the user.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Templates {
    pub templates: Vec<Template>,
}

/// A task in full.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown<'a> {
    /// The task
    pub task: Shape<'a>,
    /// The open tasks it waits for
    pub open_blockers: Vec<Shape<'a>>,
    /// The tasks that wait for it
    pub dependents: Vec<Shape<'a>>,
    /// Its parts
    pub subtasks: Vec<Shape<'a>>,
    /// Its jobs
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job<'a>>,
    /// Its lease, if an agent has one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease<'a>>,
    /// The session of Claude Code in which its owner works, if files of Claude Code tell
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<OwnerSession<'a>>,
    /// The entry that created it, if the journal has it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<Entry<'a>>,
    /// Its newest entry, if the journal has one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Entry<'a>>,
    /// Why its file cannot be read, if this is its last known state
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<UnreadableFile<'a>>,
}

/// Several tasks, without what surrounds them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownTogether<'a> {
    /// The tasks
    pub tasks: Vec<Shape<'a>>,
}

/// A session of Claude Code.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerSession<'a> {
    /// Its id
    pub id: &'a str,
    /// The path of its transcript
    pub transcript: String,
    /// The directory it was started in; null if that is not known
    pub directory: Option<String>,
    /// The command that resumes it
    pub resume: String,
    /// The tokens used while its owner had the task in progress, by the client's figures; null if they are not known
    pub client_tokens: Option<ClientTokens>,
    /// What the whole session cost, by the client's figure; null if that is not known
    pub client_session_cost_usd: Option<f64>,
}

/// Tokens of a model.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ClientTokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_creation: u64,
}

/// A task that was changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Updated<'a> {
    /// The task
    pub task: Shape<'a>,
    /// The fields that changed
    pub updated: &'a [Field],
    /// What changed, from what to what
    pub changes: Vec<FieldChange>,
    /// The change of its status, if there was one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_change: Option<StatusChange>,
    /// Tasks that can start because of it
    pub now_ready: Ids<'a>,
    /// Open tasks it was waiting for when it was completed
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub open_blockers: Ids<'a>,
    /// Tasks that wait for it and had been started before it was reopened
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub dependents_started: Ids<'a>,
    /// The token of the lease that came with it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// When that lease ends, if time ends it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Why the block in the description was left as it is, if it could not be read
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_left: Option<String>,
    /// The commit, if anything changed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// What changed about a task.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FieldChange {
    /// The field; `metadata.KEY` for a key of the metadata
    pub(crate) field: String,
    /// The value before; null if there was none
    pub(crate) from: Option<Value>,
    /// The value now; null if there is none
    pub(crate) to: Option<Value>,
}

impl FieldChange {
    /// Returns what is different between two states of a task.
    pub fn between(before: &Task, after: &Task) -> Vec<Self> {
        let object = |task: &Task| serde_json::to_value(Shape(task)).ok().and_then(|shape| shape.as_object().cloned());
        let (before, after) = (object(before).unwrap_or_default(), object(after).unwrap_or_default());
        let mut changes = Vec::new();
        let mut compare = |field: String, from: Option<&Value>, to: Option<&Value>| {
            if from != to {
                changes.push(Self { field, from: from.cloned(), to: to.cloned() });
            }
        };
        let keys = |one: &Map<String, Value>, two: &Map<String, Value>| -> Vec<String> {
            one.keys().chain(two.keys().filter(|key| !one.contains_key(*key))).cloned().collect()
        };
        for key in keys(&before, &after).into_iter().filter(|key| key != "metadata") {
            compare(key.clone(), before.get(&key), after.get(&key));
        }
        let metadata = |task: &Map<String, Value>| task.get("metadata").and_then(Value::as_object).cloned();
        let (before, after) = (metadata(&before).unwrap_or_default(), metadata(&after).unwrap_or_default());
        for key in keys(&before, &after) {
            compare(format!("metadata.{key}"), before.get(&key), after.get(&key));
        }
        changes
    }
}

/// A change of status.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct StatusChange {
    pub from: Status,
    pub to: Status,
}

/// Tasks that were changed together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdatedTogether<'a> {
    /// The tasks
    pub tasks: Vec<Shape<'a>>,
    /// By id, what changed about the tasks that changed
    #[serde(skip_serializing_if = "Keyed::is_empty")]
    pub changes: Keyed<&'a str, Vec<FieldChange>>,
    /// Tasks that can start because of it
    pub now_ready: Vec<&'a str>,
    /// With `--keep-going`, the tasks that could not be changed
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTask<'a>>,
    /// The commit, if anything changed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// Tasks that stay as they are: after a dry run, and if a query matches none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unchanged<'a> {
    /// True after a dry run
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// The tasks as they would be; as they are if they would be deleted
    pub tasks: Vec<Shape<'a>>,
    /// With `--keep-going`, the tasks that could not be changed
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTask<'a>>,
}

/// A task that could not be changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedTask<'a> {
    /// Its id
    pub task: &'a str,
    /// Why not
    pub error: Report,
}

/// Tasks that were deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Deleted<'a> {
    /// The tasks as they were
    pub tasks: Vec<Shape<'a>>,
    /// Those of them that were missing already
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub missing: Ids<'a>,
    /// Parts that now belong to the parent of the deleted task
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub lifted: Ids<'a>,
    /// With `--keep-going`, the tasks that could not be deleted
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTask<'a>>,
    /// The commit; absent if nothing could be deleted
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// A list that was cleared.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cleared<'a> {
    /// The tasks as they were
    pub tasks: Vec<Shape<'a>>,
    /// Those of them that were missing already
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Shape<'a>>,
    /// The commit; null if the list was empty
    pub revision: Option<u64>,
}

/// A note that was added to a task.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Noted<'a> {
    /// The task
    pub task: Shape<'a>,
    /// The note
    pub note: Note<'a>,
    /// The agents that got it as a message
    pub told: Vec<&'a str>,
    /// The commit
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// A dated, signed note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Note<'a> {
    /// When it was written
    pub at: String,
    /// Its author
    pub author: &'a str,
    /// What it says
    pub text: &'a str,
}

/// What can start now.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ready<'a> {
    /// The tasks, best first
    pub tasks: Vec<Shape<'a>>,
    /// Why each comes where it does, in the same order
    pub ranking: Vec<Rank<'a>>,
    /// Tasks in progress for a session that has ended
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale_owner: Vec<&'a str>,
    /// What the list has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// Why a task comes where it does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rank<'a> {
    /// The id of the task
    pub task: &'a str,
    /// The reasons in words
    pub why: &'a str,
    /// How many open tasks are in the longest chain behind it
    pub chain: usize,
    /// The open tasks that wait for it or for a task that it is a part of, the parts of those, and the tasks that it is a part of
    pub unblocks: Ids<'a>,
}

/// What a search found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found<'a> {
    /// The tasks, best first
    pub tasks: Vec<Shape<'a>>,
    /// Where each was found, in the same order
    pub hits: Vec<Hit<'a>>,
    /// What the list has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// Where a task was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hit<'a> {
    /// Its list, with `--everywhere`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<&'a str>,
    /// The id of the task
    pub task: &'a str,
    /// The field that matches best
    pub field: Field,
    /// The part of that field around the first match
    pub excerpt: &'a str,
}

/// The dependencies of tasks: `blocks` and `blockedBy` are the edges.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Graph<'a> {
    /// The tasks
    pub tasks: Vec<Shape<'a>>,
    /// With `--format`, the picture as text
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
}

/// What came of a run of `work`: every task it took, by how the last attempt ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkReport<'a> {
    /// Tasks that were completed
    pub completed: Ids<'a>,
    /// Tasks that failed and can be tried again
    pub returned: Ids<'a>,
    /// Tasks that failed too often
    pub gave_up: Ids<'a>,
    /// Tasks that were interrupted
    pub interrupted: Ids<'a>,
    /// Tasks whose branches wait for a person
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub in_review: Ids<'a>,
    /// Tasks that another agent took meanwhile
    pub lost: Ids<'a>,
    /// Tasks that were not taken, because they had failed too often before
    pub passed_over: Ids<'a>,
    /// Other tasks that commands claimed and left in progress, and that were released
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub left_behind: Ids<'a>,
    /// Whether the run was stopped
    pub stopped: bool,
    /// What the list has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}
