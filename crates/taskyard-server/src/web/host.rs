//! The interface between the server and the program that runs it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use taskyard::StoreError;
use taskyard::config::{Config, ConfigWarning};
use taskyard::core::answers::answer_words::NameSource;
use taskyard::core::problem::Problem;
use taskyard::core::{AgentName, ListId};
use taskyard::hooks::Hooks;
use taskyard::opening::{Address, Opened, Places};
use taskyard_jobs::{JobOptions, Jobs};

/// The program that runs a server. It reads flags, the environment and the directory, which the server itself never
/// does.
pub trait Host: fmt::Debug + Send + Sync {
    /// Returns what to serve. Called when the server starts and when the configuration is reloaded. If `before` was
    /// served at the same address, its open resources are kept.
    fn served(&self, before: Option<&Served>) -> Result<Served, Problem>;

    /// Returns the list that an agent works on in the served directory after creating or joining a team.
    fn list_of_member(&self, agent: &AgentName) -> Result<ListId, Problem>;

    /// Fails if commands started by a request could not open the store, since they get its address without the
    /// password.
    fn let_children_in(&self) -> Result<(), Problem>;

    /// Reopens the tasks whose jobs failed or were lost, on every store that jobs were started for.
    fn reopen_tasks_everywhere(&self, jobs: &Jobs) -> Result<(), Problem>;
}

/// Runs before the first write to a list, and may refuse it.
pub type BeforeWriting = Arc<dyn Fn(&ListId) -> Result<(), StoreError> + Send + Sync>;

/// What all requests have in common: a store, and defaults for what they do not specify.
#[derive(Clone)]
pub struct Served {
    /// Everything at the address of the store.
    pub opened: Opened,
    /// The address of the store.
    pub address: Address,
    /// Directories on this machine. The server needs the data directory for its tokens.
    pub places: Places,
    /// The configuration.
    pub config: Config,
    /// Settings of the configuration and of the client that were ignored.
    pub ignored: Vec<ConfigWarning>,
    /// The hooks and checks that operations run, if any.
    pub hooks: Option<Arc<Hooks>>,
    /// The default list, for requests that do not name one.
    pub list: ListId,
    /// The list of the directory itself; `None` without a directory.
    pub directory_list: Option<ListId>,
    /// The default agent, and where its name comes from.
    pub agent: (AgentName, NameSource),
    /// Whether that name was given explicitly, so that no other agent has it by chance.
    pub is_named: bool,
    /// Whether teams are enabled.
    pub has_teams: bool,
    /// Maximum number of tasks an agent may have in progress.
    pub claim_limit: Option<usize>,
    /// Whether members who join need an approved plan before they start anything.
    pub plan_mode_required: bool,
    /// The client session in which the server was started.
    pub session: Option<String>,
    /// Where jobs are recorded, and how they are started.
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
    /// Serves a list of a store without configuration and hooks. `agent` is the default agent.
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

    /// Returns the data directory. Without one, there are no tokens and no memory of lists.
    pub(crate) fn data(&self) -> Option<&PathBuf> {
        self.places.data.as_ref()
    }
}
