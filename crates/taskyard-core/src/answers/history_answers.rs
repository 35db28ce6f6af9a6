//! The journal: what happened, taking it back, bringing tasks back, and following it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::{Entry, Job, Message, Shape};

/// Entries of the journal. `E` is the array, which may be read while it is written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "History")]
pub struct History<E> {
    /// The entries, oldest first
    pub entries: E,
}

/// Revisions that were taken back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Undone<'a> {
    /// The revisions
    pub undone: Vec<u64>,
    /// The agents that made each of them
    pub actors: Vec<&'a str>,
    /// The commit
    pub revision: u64,
    /// The tasks as they are now
    pub tasks: Vec<Shape<'a>>,
    /// The tasks that are gone again
    pub removed: Vec<&'a str>,
}

/// The tasks that can be restored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Restorable<'a> {
    /// The tasks
    pub restorable: Vec<RestorableTask<'a>>,
}

/// A task that is gone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RestorableTask<'a> {
    /// The task as it was
    pub task: Shape<'a>,
    /// Whether it was deleted on purpose; only with `--deleted`
    pub deleted: bool,
    /// Whether another program put a different task under its number, so that it comes back under a new one
    pub replaced: bool,
    /// The entry that removed it; before Taskyard has recorded the removal, the last entry that has the task
    pub removed: Entry<'a>,
}

/// Tasks that came back.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restored<'a> {
    /// The tasks
    pub tasks: Vec<Shape<'a>>,
    /// Dependencies that could not come back: the task that waited, and the one it waited for
    pub dropped_edges: Vec<[&'a str; 2]>,
    /// Whether every task of the list is completed now: a running Claude Code clears such a list
    pub nothing_is_open: bool,
    /// The commit; null if nothing was missing
    pub revision: Option<u64>,
}

/// A line of `watch`: an entry.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchedEntry<'a> {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub entry: Entry<'a>,
    /// Whether it is the last line of its revision
    pub last: bool,
}

/// A line of `watch`: a job of the list has ended. It belongs to no revision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchedJob<'a> {
    /// When it ended
    pub at: String,
    /// The agent that started it
    pub actor: &'a str,
    /// `job_ended`
    pub op: WatchedOp,
    /// The id of the task it was run for
    pub task: Option<&'a str>,
    /// The job
    pub job: Job<'a>,
}

/// A line of `watch`: the database went back to an earlier state. Lines before it may tell of what is lost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatchedReturn {
    /// `went_back`
    pub op: WatchedOp,
    /// The revision that counts from now on
    pub revision: u64,
}

/// What a line of `watch` tells that is no entry.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchedOp {
    JobEnded,
    WentBack,
}

/// The data of an event: a commit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommitEvent<'a> {
    /// The list
    pub list: &'a str,
    /// The commit
    pub revision: u64,
    /// How many tasks it changed
    pub count: usize,
    /// Whether the entries are there
    pub complete: bool,
    /// What it did to each task; empty if that would be too long
    pub entries: Vec<Entry<'a>>,
}

/// The data of an event: a job ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobEvent<'a> {
    /// The list of the job
    pub list: &'a str,
    /// The agent that started it
    pub agent: &'a str,
    /// When it ended
    pub at: String,
    /// The job
    pub job: Job<'a>,
}

/// The data of an event: a message came.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageEvent<'a> {
    /// Its recipient
    pub agent: &'a str,
    /// The team
    pub team: &'a str,
    /// The message
    pub message: Message<'a>,
}

/// The data of an event: an agent joined a team, or left it.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct AgentEvent<'a> {
    pub team: &'a str,
    pub agent: &'a str,
}

/// The data of an event: a list came into being, went away, or is at a revision.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListEvent<'a> {
    /// The list; null if all lists are followed
    pub list: Option<&'a str>,
    /// The revision that the stream has reached
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}
