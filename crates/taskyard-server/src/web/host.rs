//! What a server serves, and what it asks the program that runs it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use taskyard::StoreError;
use taskyard::config::{Config, ConfigWarning};
use taskyard::core::answers::words::NameSource;
use taskyard::core::problem::Problem;
use taskyard::core::{AgentName, ListId};
use taskyard::hooks::Hooks;
use taskyard::opening::{Address, Opened, Places};
use taskyard_jobs::{JobOptions, Jobs};

/// The program that runs a server. It reads flags, the environment and the directory, which the server itself never does.
pub trait Host: fmt::Debug + Send + Sync {
    /// Looks up what is served: when the server starts, and again when the configuration is to be read anew. If `before` was served at the
    /// same address, what is open there stays open.
    fn served(&self, before: Option<&Served>) -> Result<Served, Problem>;

    /// Returns the list that an agent works on in the served directory after it has made or joined a team.
    fn list_of_member(&self, agent: &AgentName) -> Result<ListId, Problem>;

    /// Fails if commands that a request starts could not open the store: they get its address without the password.
    fn let_children_in(&self) -> Result<(), Problem>;

    /// Reopens the tasks whose jobs failed or were lost, on every store that jobs were started for.
    fn reopen_tasks_everywhere(&self, jobs: &Jobs) -> Result<(), Problem>;
}

/// Runs before the first write to a list, and may refuse it.
pub type BeforeWriting = Arc<dyn Fn(&ListId) -> Result<(), StoreError> + Send + Sync>;

/// What all requests to a server have in common: a store, and what its requests act with unless they say otherwise.
#[derive(Clone)]
pub struct Served {
    /// Everything that lives at the address of the store.
    pub opened: Opened,
    /// The address of the store.
    pub address: Address,
    /// Where things are on this machine. The server needs the data directory: its tokens are there.
    pub places: Places,
    /// The configuration.
    pub config: Config,
    /// What of the configuration and of the client's settings does not count.
    pub ignored: Vec<ConfigWarning>,
    /// The hooks and checks that operations ask; `None` for none.
    pub hooks: Option<Arc<Hooks>>,
    /// The list of requests that name none.
    pub list: ListId,
    /// The list of the directory itself; `None` without a directory.
    pub directory_list: Option<ListId>,
    /// The agent that acts if a request names none, and where that name comes from.
    pub agent: (AgentName, NameSource),
    /// Whether somebody gave that name, so that no other agent has it by chance.
    pub is_named: bool,
    /// Whether teams count.
    pub has_teams: bool,
    /// How many tasks an agent may have in progress.
    pub claim_limit: Option<usize>,
    /// Whether members that join may start nothing before their plan is approved.
    pub plan_mode_required: bool,
    /// The session of the client that the server was started in.
    pub session: Option<String>,
    /// Where jobs leave their traces, and what they are started with.
    pub jobs: JobOptions,
    /// Records that the directory uses its list.
    pub before_writing: Option<BeforeWriting>,
}

impl fmt::Debug for Served {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.to_string();
        formatter.debug_struct("Served").field("address", &address).field("list", &self.list).finish_non_exhaustive()
    }
}

impl Served {
    /// Serves a list of a store to callers that act as an agent unless they name another, without configuration and hooks.
    pub fn new(opened: Opened, address: Address, places: Places, list: ListId, agent: AgentName) -> Self {
        let data = places.data.clone().unwrap_or_default();
        Self {
            opened,
            address,
            places,
            config: Config::default(),
            ignored: Vec::new(),
            hooks: None,
            list,
            directory_list: None,
            agent: (agent, NameSource::Request),
            is_named: true,
            has_teams: true,
            claim_limit: None,
            plan_mode_required: false,
            session: None,
            jobs: JobOptions::of_this_program(data, std::env::temp_dir()),
            before_writing: None,
        }
    }

    /// Returns the data directory; `None` without one there is no memory of lists and no token.
    pub(crate) fn data(&self) -> Option<&PathBuf> {
        self.places.data.as_ref()
    }
}
