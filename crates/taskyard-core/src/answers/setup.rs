//! Setting up agents, and trusting the settings of a directory.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::words::{FileOutcome, RegistrationWord, SetupScope, SkipReason};
use crate::problem::Report;

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
