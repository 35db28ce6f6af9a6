//! Looking after lists: what is wrong, backups, tidying, and databases.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::values::Loss;
use super::words::{ListRight, LitterKind, Severity};

/// What is wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Findings {
    pub findings: Vec<Finding>,
}

/// What was mended, and what is still wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mended {
    /// What is still wrong
    pub findings: Vec<Finding>,
    /// What was mended
    pub fixed: Vec<Finding>,
    /// The commit; null if no task changed
    pub revision: Option<u64>,
}

/// Something that is wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// A word that never changes
    pub code: &'static str,
    /// The id of the task it is about, or null
    pub task: Option<String>,
    /// The file it is about, or null
    pub file: Option<String>,
    /// What is wrong
    pub message: String,
    /// What that means
    pub means: &'static str,
    /// How it would be mended; null if only a person can
    pub fix: Option<String>,
    /// `warning` if nothing is wrong yet
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The values that were lost, if the code is `taken_back`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Vec<Loss>>,
}

/// A backup that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackedUp<'a> {
    /// Where it is
    pub path: &'a str,
    /// Whether it is one file
    pub archive: bool,
    /// Its size
    pub bytes: u64,
    /// When it was made
    pub at: &'a str,
    /// Whether everything could be copied
    pub complete: bool,
    /// The lists in it
    pub lists: Vec<BackedUpList<'a>>,
    /// The teams in it
    pub teams: Vec<BackedUpTeam<'a>>,
}

/// A list in a backup.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackedUpList<'a> {
    /// Its name
    pub list: &'a str,
    /// The newest commit that the copy holds
    pub revision: u64,
    /// How many files it has
    pub files: usize,
    /// Whether its journal is in the backup
    pub history: bool,
    /// Why not, or null
    pub problem: Option<&'a str>,
    /// By name, why files were left out
    pub left_out: &'a BTreeMap<String, String>,
}

/// A team in a backup.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackedUpTeam<'a> {
    /// Its name
    pub team: &'a str,
    /// How many files it has
    pub files: usize,
    /// By name, why files were left out
    pub left_out: &'a BTreeMap<String, String>,
}

/// What came back from a backup.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFrom<'a> {
    /// The backup
    pub backup: BackupOrigin<'a>,
    /// Whether nothing was changed
    pub dry_run: bool,
    /// The lists
    pub lists: Vec<RestoredList<'a>>,
    /// Teams that came back
    pub teams: &'a [String],
    /// Teams that were there already
    pub teams_kept: &'a [String],
    /// Directories that use their list again
    pub bindings: Vec<String>,
}

/// Where a backup comes from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackupOrigin<'a> {
    /// When it was made
    pub at: &'a str,
    /// The store
    pub store: &'a str,
    /// The version that made it
    pub taskyard: &'a str,
}

/// A list that came back from a backup.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredList<'a> {
    /// Its name
    pub list: &'a str,
    /// Whether it was not there and came back whole
    pub whole: bool,
    /// Whether its history came back
    pub history: bool,
    /// The ids of tasks that came back
    pub restored: Vec<&'a str>,
    /// How many tasks are as in the backup
    pub same: usize,
    /// Tasks that are different, and stay as they are
    pub different: Vec<&'a str>,
    /// Tasks that were deleted on purpose since, and stay away without `--deleted`
    pub deleted: Vec<&'a str>,
    /// Files that are no tasks and came back
    pub files: &'a [String],
    /// Dependencies that could not come back: the task that waited, and the one it waited for
    pub dropped_edges: Vec<[&'a str; 2]>,
    /// The commit; null if there is none
    pub revision: Option<u64>,
}

/// What was tidied.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tidied<'a> {
    /// Files that were removed from lists
    pub removed: Vec<TidiedFile<'a>>,
    /// Journals that were changed
    pub journals: Vec<TidiedJournal<'a>>,
    /// The ids of jobs that were forgotten
    pub jobs: Vec<&'a str>,
    /// How many notices were removed
    pub notices: usize,
    /// How many messages were removed
    pub messages: usize,
    /// The paths of todo lists that were removed
    pub todos: Vec<String>,
    /// The paths of texts of `edit` that were removed
    pub edits: Vec<String>,
    /// How many bytes were freed in all
    pub bytes: u64,
    /// Why nothing went because it is old; null if the clock is believed
    pub clock_doubt: Option<ClockDoubt>,
    /// Whether everything is still there
    pub dry_run: bool,
}

/// A file that was removed from a list.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct TidiedFile<'a> {
    pub list: &'a str,
    pub kind: LitterKind,
    pub path: String,
}

/// A journal that was thinned out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TidiedJournal<'a> {
    /// The path of the list, or its name in a database; null if it is not known
    pub list: Option<String>,
    /// Our directory for the list, or the store
    pub path: String,
    /// How many entries were thinned out
    pub entries: u64,
    /// How many bytes were freed
    pub bytes: u64,
    /// Whether the journal was archived
    pub archived: bool,
    /// The ids of tasks that were forgotten
    pub forgotten: Vec<&'a str>,
}

/// Two times by which the clock cannot be believed.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ClockDoubt {
    pub last: String,
    pub now: String,
}

/// What a role of a database may do with a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Granted<'a> {
    /// The list
    pub list: &'a str,
    /// The role
    pub role: &'a str,
    /// What it may do; null after `--remove`
    pub right: Option<ListRight>,
}

/// A database that was prepared.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DatabaseReady<'a> {
    /// The address of the store
    pub store: &'a str,
    /// The version that the tables had, or null
    pub before: Option<i64>,
    /// The version that they have now
    pub version: i64,
    /// The role that was let in, or null
    pub role: Option<&'a str>,
}

/// A database that was upgraded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DatabaseUpgraded<'a> {
    /// The address of the store
    pub store: &'a str,
    /// The version that the tables had, or null
    pub before: Option<i64>,
    /// The version that they have now
    pub version: i64,
}

/// The state of a database.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStatus<'a> {
    /// The address of the store
    pub store: &'a str,
    /// The version of the server
    pub server: &'a str,
    /// The role of the connection
    pub role: &'a str,
    /// The database
    pub database: &'a str,
    /// The schema that the tables are in
    pub database_schema: &'a str,
    /// Whether the server is a standby
    pub standby: bool,
    /// How far a standby is behind; null for a primary
    pub lag: Option<ReplicationLag>,
    /// The standbys of the server; null if the role may not see them
    pub replicas: Option<Vec<Replica<'a>>>,
    /// The tables; null if there are none, or they are locked
    pub tables: Option<DatabaseTables<'a>>,
    /// Sessions that wait for a lock
    pub blocked: Vec<BlockedSession<'a>>,
    /// Whether notifications arrive
    pub notifications_arrive: bool,
    /// Connections to the server
    pub connections: ConnectionCounts,
    /// What is wrong
    pub problems: Vec<DatabaseProblem>,
}

/// How far a standby is behind.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ReplicationLag {
    pub bytes: Option<i64>,
    pub ms: Option<u64>,
}

/// A standby.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replica<'a> {
    /// Its name
    pub name: &'a str,
    /// The state of its connection, in PostgreSQL's words
    pub state: &'a str,
    /// Whether it is synchronous, in PostgreSQL's words
    pub sync: &'a str,
    /// How far it is behind
    pub lag: ReplicationLag,
}

/// The tables of a database.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseTables<'a> {
    /// Their version
    pub version: i64,
    /// The epoch that counts, or null
    pub epoch: Option<&'a str>,
    /// When it began, or null
    pub epoch_began: Option<String>,
    /// How many epochs there were
    pub epochs: usize,
    /// How many lists there are
    pub lists: usize,
    /// The size of each table
    pub sizes: Vec<TableSize<'a>>,
}

/// The size of a table.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct TableSize<'a> {
    pub table: &'a str,
    pub bytes: u64,
}

/// A session that waits for a lock.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockedSession<'a> {
    /// Its process on the server
    pub pid: i32,
    /// What it calls itself
    pub application: &'a str,
    /// For how many milliseconds it has waited
    pub waited_ms: u64,
    /// The sessions that it waits for
    pub by: Vec<DatabaseSession<'a>>,
}

/// A session of a database.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct DatabaseSession<'a> {
    pub pid: i32,
    pub application: &'a str,
}

/// Connections to a server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionCounts {
    /// Those of Taskyard
    pub taskyard: usize,
    /// All
    pub all: usize,
    /// How many it accepts
    pub limit: usize,
}

/// Something that is wrong with a database.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DatabaseProblem {
    /// A word that never changes
    pub code: &'static str,
    /// What is wrong
    pub message: String,
}
