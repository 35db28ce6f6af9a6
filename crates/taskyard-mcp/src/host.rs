//! What a server needs of the program it is in.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calls::SharedConnection;
use taskyard::Yard;
use taskyard::config::Config;
use taskyard::core::timing::TimeZone;
use taskyard::core::{AgentName, ListId, ProcessMark};
use taskyard::hooks::Hooks;
use taskyard::notices::{MemoryNotices, Notices};
use taskyard::opening::Address;
use taskyard::todos::TodoLists;
use taskyard_jobs::Jobs;

/// The program a server is in.
pub trait Host: fmt::Debug + Send + Sync {
    /// Returns what is served to a client that works in a directory. It is asked when a client says that its work is elsewhere than the
    /// server was started.
    fn surroundings(&self, directory: &Path) -> Result<Surroundings, Unserved>;

    /// Returns the name of the client that started the server, for agents that were given no other, and gives it one if it has none. It is asked
    /// once, before the first call of a tool: by then the client's hooks have said whether it resumes a session. `None` if it is not known.
    fn name_client(&self) -> Option<AgentName> {
        None
    }
}

/// A list, and what belongs to it where it is served.
#[derive(Debug)]
pub struct Surroundings {
    /// The list. Who acts is found out for every call.
    pub yard: Yard,
    /// The directory all this was found from.
    pub directory: Option<PathBuf>,
    /// Whether calls are made on the list of the team their agent works for: the user did not say in so many words which list it is.
    pub follows_team: bool,
    /// The list of the directory itself; none where answers need not say that they are about another.
    pub own_list: Option<ListId>,
    /// What is configured.
    pub config: Config,
    /// The hooks that are asked during calls.
    pub hooks: Option<Arc<Hooks>>,
    /// The jobs that agents may look at, and start where the options allow that.
    pub jobs: Option<ServedJobs>,
    /// What agents are told of jobs.
    pub notices: Arc<dyn Notices>,
    /// How many tasks of its own an agent may have in progress when it claims another.
    pub claim_limit: Option<usize>,
    /// The lists of the client's other system.
    pub todos: TodoLists,
    /// The zone in which agents mean days and times of day.
    pub zone: TimeZone,
    /// What the client's agents share that call over one pipe; none over HTTP.
    pub shared: Option<Arc<SharedConnection>>,
    /// The process of the client that started the server; `None` if it is not known, and over HTTP.
    pub client: Option<ProcessMark>,
}

/// Jobs, and what new ones are begun with.
#[derive(Clone, Debug)]
pub struct ServedJobs {
    /// The jobs of this machine.
    pub jobs: Jobs,
    /// So many characters of output are shown at once, counted as JavaScript counts them.
    pub longest_output: usize,
    /// The address of the list's store.
    pub store: Address,
    /// The client's session.
    pub session: Option<String>,
}

impl Surroundings {
    /// Serves a yard as it is: no jobs, no hooks but its own checks, nothing configured.
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

/// The agent that calls, where a call names none.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The name that was given for the acting agent.
    pub agent: Option<AgentName>,
    /// The name that agents of the client have where they were given no other, as long as [`Host::name_client`] was not asked.
    pub session_agent: Option<AgentName>,
    /// The client's session, where it said so.
    pub session: Option<String>,
}

/// Why nothing can be served, and what can be done about it.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Unserved {
    /// What is wrong.
    pub message: String,
    /// What can be done.
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

/// A host whose clients all work on one list, wherever they are.
#[derive(Debug)]
pub(crate) struct OneYard(pub(crate) Yard);

impl Host for OneYard {
    fn surroundings(&self, directory: &Path) -> Result<Surroundings, Unserved> {
        Ok(Surroundings { directory: Some(directory.to_owned()), ..Surroundings::of(self.0.clone()) })
    }
}
