//! What a server needs from the program that embeds it, and its options.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use taskyard::Yard;
use taskyard::config::Config;
use taskyard::core::rules::hooks::System;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::ToolSet;
use taskyard::core::{AgentName, ListId, ProcessMark};
use taskyard::hooks::Hooks;
use taskyard::notices::{MemoryNotices, Notices};
use taskyard::opening::Address;
use taskyard::todos::TodoLists;
use taskyard_jobs::Jobs;

use crate::calls::SharedConnection;

/// The program that embeds a server.
pub trait Host: fmt::Debug + Send + Sync {
    /// Returns what to serve to a client that works in a directory. Called when a client reports another directory than
    /// the one the server was started in.
    fn surroundings(&self, directory: &Path) -> Result<Surroundings, Unserved>;

    /// Returns the name of the client that started the server, for agents that were given no other name, and assigns
    /// one if the client has none. Called once, before the first tool call: by then the client's hooks have reported
    /// whether it resumes a session. `None` if the client is not known.
    fn name_client(&self) -> Option<AgentName> {
        None
    }
}

/// A list and the services that belong to it.
#[derive(Debug)]
pub struct Surroundings {
    /// The list. The acting agent is determined for every call.
    pub yard: Yard,
    /// The directory that the list was resolved from.
    pub directory: Option<PathBuf>,
    /// Whether calls work on the list of the caller's team, because the user did not name a list explicitly.
    pub follows_team: bool,
    /// The list of the directory itself; `None` if answers need not say that they are about another list.
    pub own_list: Option<ListId>,
    /// The configuration.
    pub config: Config,
    /// The hooks that run during calls.
    pub hooks: Option<Arc<Hooks>>,
    /// The jobs that agents may inspect and, if the options allow it, start.
    pub jobs: Option<ServedJobs>,
    /// The notices about jobs.
    pub notices: Arc<dyn Notices>,
    /// How many tasks of its own an agent may have in progress when it claims another.
    pub claim_limit: Option<usize>,
    /// The todo lists, the client's other system.
    pub todos: TodoLists,
    /// The time zone in which agents express dates and times.
    pub zone: TimeZone,
    /// What the client's agents share that call over one pipe; `None` over HTTP.
    pub shared: Option<Arc<SharedConnection>>,
    /// The process of the client that started the server; `None` if it is not known, and over HTTP.
    pub client: Option<ProcessMark>,
}

/// The jobs, and parameters for starting new ones.
#[derive(Clone, Debug)]
pub struct ServedJobs {
    /// The jobs of this machine.
    pub jobs: Jobs,
    /// The maximum number of characters of output shown at once, in UTF-16 code units as JavaScript counts.
    pub longest_output: usize,
    /// The address of the list's store.
    pub store: Address,
    /// The client's session, if known.
    pub session: Option<String>,
}

impl Surroundings {
    /// Serves only a yard: no jobs, no hooks besides its own checks, default configuration.
    pub fn of(yard: Yard) -> Self {
        Self {
            yard,
            directory: None,
            follows_team: false,
            own_list: None,
            config: Config::default(),
            hooks: None,
            jobs: None,
            notices: Arc::new(MemoryNotices::default()),
            claim_limit: None,
            todos: TodoLists::in_memory(),
            zone: TimeZone::UTC,
            shared: None,
            client: None,
        }
    }
}

/// The names for callers that give none.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The configured name of the acting agent.
    pub agent: Option<AgentName>,
    /// The name of the client's agents that were given no other name, until [`Host::name_client`] is called.
    pub session_agent: Option<AgentName>,
    /// The client's session, if known.
    pub session: Option<String>,
}

/// Why nothing can be served, and what the user can do.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Unserved {
    /// What is wrong.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

impl fmt::Display for Unserved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hint {
            Some(hint) => write!(formatter, "{}; {hint}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

/// A host that serves one list to all clients, whatever their directory.
#[derive(Debug)]
pub(crate) struct OneYard(pub(crate) Yard);

impl Host for OneYard {
    fn surroundings(&self, directory: &Path) -> Result<Surroundings, Unserved> {
        Ok(Surroundings { directory: Some(directory.to_owned()), ..Surroundings::of(self.0.clone()) })
    }
}

/// What a server offers, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The tools to list.
    pub tools: ToolSet,
    /// Which of the client's two systems is active.
    pub system: System,
    /// Whether answers include structured content besides text.
    pub structured: bool,
    /// What keeps the leases of claims alive.
    pub leases: Leases,
    /// Whether tools may run commands.
    pub runs_commands: bool,
}

impl Default for Options {
    /// Offers the core task tools to one client over a pipe, and runs no commands.
    fn default() -> Self {
        Self {
            tools: ToolSet::Core,
            system: System::Tasks,
            structured: false,
            leases: Leases::Connection,
            runs_commands: false,
        }
    }
}

/// What keeps the leases of claims alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leases {
    /// This process, plus a grace period: the connection is its standard input and output.
    Connection,
    /// Time: a lease expires unless a call of the agent renews it.
    Time,
}

/// Why a server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The system refused a resource that the server needs.
    #[error("cannot start the server: {0}")]
    Start(#[source] io::Error),
    /// There was no connection, or it failed.
    #[error("no connection: {0}")]
    Connection(String),
}
