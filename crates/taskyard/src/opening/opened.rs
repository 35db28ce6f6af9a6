//! What lives at an address.

use std::sync::Arc;

use super::{Address, Places};
use crate::jobs::SharedJobs;
use crate::liveness::{ThisMachine, World};
use crate::notices::{MachineNotices, Notices};
use crate::store::Store;
use crate::teams::{FileTeamsOptions, MemoryTeams, TeamCaller, Teams};
use crate::todos::{FileTodos, Todos};

/// Everything that lives at an address.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The lists.
    pub store: Arc<dyn Store>,
    /// The teams that work on them; none without a place for their files.
    pub teams: Option<Arc<Teams>>,
    /// What agents are told of their jobs; none without a place to remember it.
    pub notices: Option<Arc<dyn Notices>>,
    /// The todo lists of agents; none without a place for their files.
    pub todos: Option<Arc<dyn Todos>>,
    /// The jobs of all machines that share the store; `None` if it is this machine's.
    pub jobs: Option<Arc<dyn SharedJobs>>,
    /// Where those live who hold leases on the lists.
    pub world: Arc<dyn World>,
}

impl Opened {
    /// Returns a store whose teams, notices and todo lists are this machine's.
    pub fn with_this_machines(store: Arc<dyn Store>, address: &Address, places: &Places) -> Self {
        Self {
            store,
            teams: teams(address, places),
            notices: left_by_jobs(address, places).map(|notices| -> Arc<dyn Notices> { Arc::new(notices) }),
            todos: places
                .client
                .as_ref()
                .map(|client| -> Arc<dyn Todos> { Arc::new(FileTodos::in_folder(client.join("todos"))) }),
            jobs: None,
            world: this_machine(places),
        }
    }
}

/// Returns the processes of this machine. Without a data directory nothing is told from process to process, signs of life included.
pub(super) fn this_machine(places: &Places) -> Arc<dyn World> {
    Arc::new(places.data.as_ref().map_or_else(ThisMachine::default, |data| ThisMachine::with_signs_in(data)))
}

/// Returns what jobs of this machine leave for the agents of a store.
pub(super) fn left_by_jobs(address: &Address, places: &Places) -> Option<MachineNotices> {
    Some(MachineNotices::in_data(places.data.as_ref()?).of_store(address))
}

/// Returns the teams of this machine: those under the root of the store, else the client's own; in memory where the store is.
pub(super) fn teams(address: &Address, places: &Places) -> Option<Arc<Teams>> {
    let Places { client, data, directory, session, client_teammate, rules } = places;
    let caller = TeamCaller {
        session: session.clone(),
        directory: directory.clone(),
        client_teammate: client_teammate.clone(),
        model: None,
    };
    let data = data.clone()?;
    let root = match address {
        Address::Memory => {
            let teams = Teams::over(Arc::new(MemoryTeams::new()), *rules, caller);
            return Some(Arc::new(teams.with_signs_in(&data)));
        }
        Address::File(root) => root.clone(),
        _ => client.clone()?,
    };
    let (tasks, root) = (root.join("tasks"), root.join("teams"));
    Some(Arc::new(Teams::new(FileTeamsOptions { root, tasks, data, rules: *rules }, caller)))
}
