//! What lives at an address, and opening it.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Address, AddressError, OpenError, Openers, Places};
use crate::notices::{ForwardedNotices, MachineNotices, MemoryNotices, Notices};
use crate::store::{
    DocumentOptions, DocumentPlace, FileStore, FileStoreOptions, MemoryStore, Store, TeachingOptions, TeachingPlace,
    open_documents, open_teaching,
};
use crate::teams::{FileTeamsOptions, MemoryTeams, TeamCaller, Teams};
use crate::todos::{FileTodos, MemoryTodos, Todos};

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
        }
    }
}

/// Opens everything that lives at an address. Nothing is read, made or connected to before it is asked for.
pub fn open(address: &Address, places: &Places, openers: &Openers) -> Result<Opened, OpenError> {
    let rules = places.rules;
    let client = || places.client.clone().ok_or(OpenError::NoClientDirectory);
    let data = || places.data.clone().ok_or(OpenError::NoDataDirectory);
    let files = |root: PathBuf| -> Result<Arc<dyn Store>, OpenError> {
        let options = FileStoreOptions { tasks: root.join("tasks"), data: Some(data()?), rules };
        Ok(Arc::new(FileStore::open(options)))
    };
    let documents = |place: DocumentPlace| Ok(open_documents(DocumentOptions { place, data: data()?, rules }));
    let store: Result<Arc<dyn Store>, OpenError> = match address {
        Address::Claude => files(client()?),
        Address::File(root) => files(root.clone()),
        Address::Documents => documents(DocumentPlace::Lists(client()?.join("tasks"))),
        Address::Document(path) => documents(DocumentPlace::File(path.clone())),
        Address::Teaching(path) => {
            let place = TeachingPlace::Folder(path.clone());
            Ok(open_teaching(TeachingOptions { place, data: data()?, rules }))
        }
        Address::Memory => {
            let notices: Arc<dyn Notices> = Arc::new(MemoryNotices::default());
            return Ok(Opened {
                store: Arc::new(MemoryStore::new(rules)),
                teams: teams(address, places),
                notices: Some(match left_by_jobs(address, places) {
                    Some(here) => Arc::new(ForwardedNotices::keeping(here, notices)),
                    None => notices,
                }),
                todos: Some(Arc::new(MemoryTodos::default())),
            });
        }
        Address::Remote(remote) => {
            let opener = openers.find(remote.scheme());
            let opener = opener.ok_or_else(|| AddressError::unknown(remote.to_string(), openers))?;
            return opener.open(remote, places);
        }
    };
    Ok(Opened::with_this_machines(store?, address, places))
}

/// Returns what jobs of this machine leave for the agents of a store.
fn left_by_jobs(address: &Address, places: &Places) -> Option<MachineNotices> {
    Some(MachineNotices::in_data(places.data.as_ref()?).of_store(address))
}

/// Returns the teams of this machine: those under the root of the store, else the client's own; in memory where the store is.
fn teams(address: &Address, places: &Places) -> Option<Arc<Teams>> {
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
