//! What is asked for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use taskyard::core::{AgentName, JobKind, ListId, TaskId};

/// A job to start.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Whether it is a command or an agent, as the client tells them apart.
    pub kind: JobKind,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What it is for, in words; its command where nothing is said.
    pub description: Option<String>,
    /// A name to call it by.
    pub name: Option<String>,
    /// The agent that starts it.
    pub agent: AgentName,
    /// The list it is started for.
    pub list: ListId,
    /// The address of that list's store.
    pub store: String,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// Whether that task is opened again when it fails.
    pub reopens_task: bool,
    /// The client's session, in whose folder its output is put.
    pub session: Option<String>,
    /// The call of a tool that starts it.
    pub tool_use: Option<String>,
    /// How long it may take.
    pub time_limit: Option<Duration>,
    /// How large its output may become, where that is not what is configured.
    pub max_output: Option<u64>,
    /// Variables to set beside those we have.
    pub environment: Vec<(OsString, OsString)>,
}

impl NewJob {
    /// Returns a command to run somewhere for an agent and a list, and nothing more.
    pub fn command(command: Vec<String>, directory: PathBuf, agent: AgentName, list: ListId) -> Self {
        Self {
            kind: JobKind::LocalBash,
            command,
            directory,
            description: None,
            name: None,
            agent,
            list,
            store: String::new(),
            task: None,
            reopens_task: false,
            session: None,
            tool_use: None,
            time_limit: None,
            max_output: None,
            environment: Vec::new(),
        }
    }
}
