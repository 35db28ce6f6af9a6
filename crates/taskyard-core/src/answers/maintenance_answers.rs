//! Answers about maintenance, setup and access to a server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::Loss;
use crate::answers::answer_words::{
    AccessScope, FileOutcome, ListRight, LitterKind, RegistrationWord, SetupScope, Severity, SkipReason,
};
use crate::problem::Report;

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
    /// Worktrees whose branches are merged
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<String>,
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

/// An agent that was set up.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSetUp {
    /// The word for it
    pub agent: &'static str,
    /// Its name
    pub name: &'static str,
    /// For whom
    pub scope: SetupScope,
    /// Whether files were written
    pub applied: bool,
    /// What becomes of its files
    pub files: Vec<ChangedFile>,
    /// What else the agent needs, or null
    pub still_needed: Option<&'static str>,
}

/// A file of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedFile {
    /// Its path
    pub path: String,
    /// What becomes of it
    pub outcome: FileOutcome,
    /// Names of entries that are there in another form, and stay
    pub otherwise: Vec<String>,
    /// Its lines, each with `+`, `-` or a space before it; `...` for lines left out
    pub lines: Vec<String>,
}

/// Every agent that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentsSetUp {
    /// The agents that were set up, and those with which that failed
    pub agents: Vec<AgentSetUpOrFailed>,
    /// The agents that were left out
    pub skipped: Vec<SkippedAgent>,
}

/// What came of one of several agents.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum AgentSetUpOrFailed {
    SetUp(AgentSetUp),
    Failed(AgentFailed),
}

/// An agent that could not be set up.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentFailed {
    /// The word for it
    pub agent: &'static str,
    /// Its name
    pub name: &'static str,
    /// Why not
    pub error: Report,
}

/// An agent that was left out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedAgent {
    /// The word for it
    pub agent: &'static str,
    /// Its name
    pub name: &'static str,
    /// Why
    pub reason: SkipReason,
}

/// Which agents are installed, and which of them know Taskyard.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct AgentsKnown {
    pub agents: Vec<AgentKnown>,
}

/// Whether an agent is installed, and knows Taskyard.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentKnown {
    /// The word for it
    pub agent: &'static str,
    /// Its name
    pub name: &'static str,
    /// Whether it is installed
    pub installed: bool,
    /// The program or directory that shows it, or null
    pub found: Option<String>,
    /// Whether it knows Taskyard for this user
    pub user: RegistrationWord,
    /// Whether it knows Taskyard for this project
    pub project: RegistrationWord,
}

/// A directory that is trusted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Trusted<'a> {
    /// The directory
    pub directory: String,
    /// True
    pub trusted: bool,
    /// Its hooks, which run from now on
    pub hooks: Vec<TrustedHook>,
    /// By name, the commands of its checks, which run from now on
    pub checks: BTreeMap<&'a String, &'a String>,
    /// The keys of its `taskyard.toml` that count from now on
    pub settings: Vec<&'static str>,
}

/// A hook of a trusted directory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrustedHook {
    /// The event it is for
    pub event: &'static str,
    /// Its command
    pub command: String,
    /// The file it is in
    pub path: String,
}

/// A directory that is no longer trusted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Distrusted {
    /// The directory
    pub directory: String,
    /// False
    pub trusted: bool,
}

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ErrorAnswer<'a> {
    pub error: &'a Report,
}

/// The tokens and browsers that may use a server.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Tokens<'a> {
    pub tokens: Vec<TokenShown<'a>>,
    pub browsers: Vec<BrowserShown<'a>>,
}

/// A token, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenShown<'a> {
    /// Its name
    pub name: &'a str,
    /// What it allows
    pub scope: AccessScope,
    /// When it was created
    pub made: String,
    /// When it expires; null if it does not
    pub expires_at: Option<String>,
    /// Whether the server still accepts it
    pub counts: bool,
}

/// A browser that a link signed in, without its secrets.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BrowserShown<'a> {
    /// Its name
    pub name: &'a str,
    /// When it was signed in
    pub made: String,
    /// When it was last used, to the hour
    pub used: String,
    /// Its `User-Agent`
    pub agent: &'a str,
    /// The agent it acts as; null if that is the user who runs the server
    pub actor: Option<&'a str>,
    /// What it allows
    pub scope: AccessScope,
}

/// A token that was created.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenCreated<'a> {
    /// Its name
    pub name: &'a str,
    /// What it allows
    pub scope: AccessScope,
    /// When it expires; null if it does not
    pub expires_at: Option<String>,
    /// The secret, which is shown once
    pub token: &'a str,
}

/// A token or browser that is no longer accepted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenRevoked<'a> {
    /// Its name
    pub name: &'a str,
    /// True
    pub revoked: bool,
}

/// A link that signs in one browser, once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkCreated<'a> {
    /// The link
    pub link: &'a str,
    /// The agent that the browser acts as
    pub agent: &'a str,
    /// What it allows
    pub scope: AccessScope,
}

/// Where a server is found; told once, when it listens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Served<'a> {
    /// The link that signs in one browser, once
    pub link: &'a str,
    /// The file of its token
    pub token_file: String,
    /// Its address
    pub url: &'a str,
    /// The address that others use, if `--public-url` is given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// The address of the API
    pub api: String,
    /// The address of the MCP server
    pub mcp: String,
    /// The list that is served
    pub list: &'a str,
    /// The fingerprint of its certificate, if it encrypts
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<&'a str>,
}

/// The help of a command.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Help {
    pub help: String,
}

/// The version of the program.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Version {
    pub version: &'static str,
}

/// A script that completes commands in a shell.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Completions {
    pub script: String,
}

/// A page of the manual.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ManualPage {
    pub page: String,
}

/// The manual, which was written to a directory.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct ManualWritten {
    pub directory: String,
}

/// The demonstration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Demonstration {
    /// How many steps were shown
    pub steps: usize,
}
