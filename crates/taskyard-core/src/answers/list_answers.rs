//! Lists as a whole: which there are, what is on one, its numbers, and moving tasks between lists and formats.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::{Counts, Gone, Ids, Keyed, Shape};
use crate::answers::answer_words::{HeldLease, NameSource};
use crate::rules::teams::membership::MemberState;
use crate::view;
use crate::view::LeaseShown;

/// The lists of a store.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Lists<'a> {
    /// The lists; one that lost open tasks is there even if its directory is gone
    pub lists: Vec<ListSummary<'a>>,
    /// Over HTTP, if `limit` or `after` is given, whether more lists follow
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<bool>,
}

/// A list among others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListSummary<'a> {
    /// Its name
    pub list: &'a str,
    /// Its directory or file, if it has one
    pub path: Option<String>,
    /// Its tasks
    pub counts: Counts,
    /// When it was last changed; null if that is not known
    pub changed: Option<String>,
    /// Whether commands use it here
    pub current: bool,
    /// What it was called, if that had to be changed to become the name of its directory
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// What it has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// One list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListShown<'a> {
    /// Its name
    pub list: &'a str,
    /// Its directory or file, if it has one
    pub path: Option<String>,
    /// Its tasks
    pub counts: Counts,
    /// Its newest commit
    pub revision: u64,
    /// When that was made; null if there is none
    pub changed: Option<String>,
    /// What it has lost; also there if only completed tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// The agents of a list: members of its team, and owners of open tasks.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Agents<'a> {
    pub agents: Vec<Agent<'a>>,
}

/// One agent of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct AgentShown<'a> {
    pub agent: Agent<'a>,
}

/// An agent, and the open tasks it holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent<'a> {
    /// Its name
    pub(crate) name: &'a str,
    /// Its colour in its team
    pub(crate) color: Option<&'a str>,
    /// What it does
    pub(crate) state: MemberState,
    /// The open tasks it holds
    pub(crate) tasks: Vec<HeldTask<'a>>,
    /// How many messages it has not read
    pub(crate) unread: Option<usize>,
    /// How many tools it has used
    pub(crate) tool_uses: Option<u64>,
    /// How many tokens it has used
    pub(crate) tokens: Option<u64>,
    /// What it did last
    pub(crate) activity: Option<&'a str>,
    /// When it was last seen
    pub(crate) seen: Option<String>,
    /// When it joined its team
    pub(crate) joined_at: Option<String>,
}

impl<'a> From<&'a view::AgentRow> for Agent<'a> {
    fn from(row: &'a view::AgentRow) -> Self {
        Self {
            name: &row.name,
            color: row.colour.as_deref(),
            state: row.state,
            tasks: row.holds.iter().map(HeldTask::from).collect(),
            unread: row.unread,
            tool_uses: row.tool_uses,
            tokens: row.tokens,
            activity: row.activity.as_deref(),
            seen: row.seen.map(|seen| seen.to_string()),
            joined_at: row.joined.map(|joined| joined.to_string()),
        }
    }
}

/// A task that an agent holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldTask<'a> {
    /// Its id
    pub(crate) task: &'a str,
    /// Its title
    pub(crate) subject: &'a str,
    /// When the agent got it; null if that is not known
    pub(crate) taken_at: Option<String>,
    /// Whether a lease holds it
    pub(crate) lease: HeldLease,
    /// When the lease ends; null if time does not end it
    pub(crate) expires_at: Option<String>,
}

impl<'a> From<&'a view::HeldTask> for HeldTask<'a> {
    fn from(held: &'a view::HeldTask) -> Self {
        let ends = match held.lease {
            LeaseShown::Lives(ends) => ends,
            LeaseShown::None | LeaseShown::Ended => None,
        };
        Self {
            task: held.task.as_str(),
            subject: &held.subject,
            taken_at: held.since.map(|since| since.to_string()),
            lease: held.lease.into(),
            expires_at: ends.map(|ends| ends.to_string()),
        }
    }
}

/// Which list and store commands use here, and why.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Where<'a> {
    /// The list
    pub list: &'a str,
    /// The address of the store
    pub store: String,
    /// Why this list
    pub reason: &'static str,
    /// The list of the directory itself; null if there is no directory
    pub directory_list: Option<&'a str>,
    /// The directories of this machine that use the list, by path
    pub directories: Vec<String>,
    /// The directory or file of the list, if it has one
    pub path: Option<String>,
    /// Taskyard's data directory
    pub data: Option<String>,
    /// The acting agent
    pub agent: &'a str,
    /// Teams that the named agent is in and whose lists are not used here
    pub other_teams: Vec<OtherTeam<'a>>,
    /// Settings that do not count, and why
    pub ignored: Vec<IgnoredSetting<'a>>,
    /// What the list was called, if that had to be changed to become the name of its directory
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A team whose list is not used here.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherTeam<'a> {
    /// Its name
    pub team: &'a str,
    /// Its list
    pub list: &'a str,
    /// The directory in which the agent joined it; null if that is not known
    pub joined_in: Option<&'a str>,
}

/// Settings that do not count.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IgnoredSetting<'a> {
    /// Their file
    pub path: String,
    /// Their keys; null if it is the whole file
    pub keys: Option<&'a [&'static str]>,
    /// Why not
    pub reason: String,
}

/// The acting agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Whoami<'a> {
    /// Its name
    pub agent: &'a str,
    /// What named it
    pub source: NameSource,
    /// Whether a person acts; every other actor is an agent
    pub person: bool,
}

/// A list in numbers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats<'a> {
    /// Its tasks
    pub counts: Counts,
    /// How many can start now
    pub ready: usize,
    /// How many open tasks wait for others
    pub blocked: usize,
    /// How many of the completed were cancelled
    pub cancelled: usize,
    /// How many open tasks are overdue
    pub overdue: usize,
    /// How many open tasks are deferred
    pub deferred: usize,
    /// What tasks were expected to take, and how long they have been in progress
    pub estimates: Vec<Estimate<'a>>,
    /// How many files among the tasks cannot be read
    pub unreadable: usize,
    /// How many dependencies there are
    pub edges: usize,
    /// The longest chain of open tasks, each of which comes after the one before it
    pub longest_chain: Ids<'a>,
    /// By owner, their tasks
    pub owners: Keyed<&'a str, Counts>,
    /// By priority, how many open tasks have it
    pub priorities: Keyed<&'a str, usize>,
    /// By tag, how many tasks have it
    pub tags: Keyed<&'a str, usize>,
    /// The newest commit counted; null if the journal is a newer Taskyard's
    pub revision: Option<u64>,
    /// How long agents and tasks took
    pub time_spent: TimeSpent<'a>,
    /// What the list has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// How long a task was expected to take.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate<'a> {
    /// Its id
    pub task: &'a str,
    /// Whether it is completed
    pub completed: bool,
    /// The estimate, in seconds
    pub estimate: u64,
    /// How long it has been in progress, in seconds
    pub in_progress: u64,
}

/// How long agents and tasks took.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct TimeSpent<'a> {
    pub agents: Vec<AgentTime<'a>>,
    pub tasks: Vec<TaskTime<'a>>,
}

/// How long an agent was at work.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentTime<'a> {
    /// Its name
    pub agent: &'a str,
    /// How long it had tasks in progress
    pub seconds: u64,
    /// How many tasks it had in progress
    pub tasks: usize,
}

/// How long a task was in progress.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskTime<'a> {
    /// Its id
    pub task: &'a str,
    /// How long it was in progress
    pub seconds: u64,
    /// By agent, for how many seconds
    pub agents: Keyed<&'a str, u64>,
}

/// Tasks that moved from one list to another.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Merged<'a> {
    /// The list they were on
    pub from: &'a str,
    /// The list they are on now
    pub into: &'a str,
    /// By old id, the new one
    pub mapping: Keyed<&'a str, &'a str>,
    /// The tasks as they are now
    pub tasks: Vec<Shape<'a>>,
    /// Dependencies that are gone: the task that waited, and the one that stayed behind
    pub dropped_edges: Vec<[&'a str; 2]>,
}

/// Lists that earlier sessions left.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct LeftSessions<'a> {
    pub sessions: Vec<LeftSession<'a>>,
}

/// A list that an earlier session left.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftSession<'a> {
    /// The session
    pub session: &'a str,
    /// Its list
    pub list: &'a str,
    /// When it was last used; null if that is not known
    pub last_used: Option<String>,
    /// Its open tasks
    pub tasks: Vec<Shape<'a>>,
    /// Who else uses the list, in words
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<&'a str>,
}

/// Tasks that were adopted from earlier sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Adopted<'a> {
    /// What moved here
    pub adopted: Vec<Merged<'a>>,
    /// The lists whose tasks stay there
    pub left: Vec<LeftList<'a>>,
}

/// A list whose tasks stay there.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct LeftList<'a> {
    pub list: &'a str,
    pub reason: &'a str,
}

/// A list that was renamed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListRenamed<'a> {
    /// The old name
    pub from: &'a str,
    /// The new name
    pub list: &'a str,
    /// How many tasks moved
    pub tasks: usize,
    /// How many directories use the list
    pub directories: usize,
    /// The lists of its branches, which were renamed with it
    pub branches: Vec<BranchRenamed<'a>>,
    /// Files that stay in the old directories
    pub left: Vec<&'a str>,
}

/// The list of a branch that was renamed with the plain list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BranchRenamed<'a> {
    /// The old name
    pub from: &'a str,
    /// The new name
    pub list: &'a str,
    /// How many tasks moved
    pub tasks: usize,
}

/// A list that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListRemoved<'a> {
    /// The list
    pub list: &'a str,
    /// How many tasks were removed
    pub tasks: usize,
    /// The commit; null if there were no tasks
    pub revision: Option<u64>,
    /// Files that stay in its directory
    pub left: &'a [String],
}

/// A directory that was bound to a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListUsed<'a> {
    /// The list; null after `--remove`
    pub list: Option<&'a str>,
    /// The directory
    pub directory: String,
}

/// A list that moved to another store.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListMoved<'a> {
    /// The list
    pub list: &'a str,
    /// The address of the store it was in, without a password
    pub from: String,
    /// The address of the store it is in now
    pub to: String,
    /// Whether it stays where it is
    pub dry_run: bool,
    /// How many tasks it has
    pub tasks: usize,
    /// Its newest commit
    pub revision: u64,
    /// Files that stayed: no tasks, or changed meanwhile
    pub left_behind: &'a [String],
    /// Whether an earlier move had brought it there already
    pub was_unfinished: bool,
}

/// Export tasks in another format.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported<'a> {
    /// The format
    pub to: &'a str,
    /// The file or folder that was written; null if there is none
    pub path: Option<String>,
    /// How many tasks
    pub count: usize,
    /// What the format cannot hold
    pub lost: Vec<NotCarried<'a>>,
    /// The text, if no path was given
    pub text: Option<&'a str>,
}

/// What came of an import.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported<'a> {
    /// The format
    pub from: &'a str,
    /// The file or folder
    pub source: &'a str,
    /// Whether nothing was imported
    pub dry_run: bool,
    /// How many tasks
    pub counts: ImportCounts,
    /// By id there, the id here
    pub mapping: Keyed<&'a str, &'a str>,
    /// Words that were taken for others
    pub mapped: Vec<MappedWord<'a>>,
    /// What could not be carried over
    pub lost: Vec<NotCarried<'a>>,
    /// The commit; null if nothing changed
    pub revision: Option<u64>,
}

/// How many tasks an import created, updated and left unchanged.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ImportCounts {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
}

/// A word that was taken for another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MappedWord<'a> {
    /// The field
    pub field: &'a str,
    /// The word there
    pub from: &'a str,
    /// The word here
    pub to: &'a str,
    /// How often
    pub count: usize,
}

/// Something that could not be carried over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NotCarried<'a> {
    /// Where: a task's id, a file or a line
    pub of: &'a str,
    /// What, and why
    pub what: &'a str,
}

/// What an agent needs to know of a list when it begins.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Prime<'a> {
    /// The list
    pub list: &'a str,
    /// What is printed without `--json`
    pub text: String,
    /// Its tasks
    pub counts: Counts,
    /// How many can start now
    pub ready: usize,
    /// How many wait for others
    pub blocked: usize,
    /// The tasks in progress
    pub in_progress: Vec<Shape<'a>>,
    /// The tasks that can start, best first
    pub best: Vec<Shape<'a>>,
    /// The id of the task for which `work` started the agent, as long as the agent holds it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<&'a str>,
    /// What the list has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// What a status line shows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusLine<'a> {
    /// What is being done
    pub in_progress: Option<&'a str>,
    /// How many tasks are completed
    pub done: usize,
    /// How many tasks there are
    pub all: usize,
    /// How many wait for others
    pub blocked: usize,
    /// How many jobs run
    pub jobs: usize,
    /// How many messages are unread
    pub unread: usize,
}
