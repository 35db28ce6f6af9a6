//! Opens the store at an address, together with its teams, notices and todo lists.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard_core::{AgentName, ListId, Rules};

use crate::StoreError;
use crate::jobs::SharedJobs;
use crate::liveness::{ThisMachine, World};
use crate::notices::{ForwardedNotices, MachineNotices, MemoryNotices, Notices};
use crate::opening::address_secrets::{LOCAL, WrittenAddress, scheme_of, without_password};
use crate::store::{
    DocumentOptions, DocumentPaths, FileStore, FileStoreOptions, MemoryStore, Store, TeachingOptions, TeachingPaths,
    open_documents, open_teaching,
};
use crate::teams::{FileTeamsOptions, MemoryTeams, TeamCaller, Teams};
use crate::todos::{FileTodos, MemoryTodos, Todos};

/// Opens everything at an address. Nothing is read, created or connected to before it is first used.
pub fn open(address: &Address, places: &Places, openers: &Openers) -> Result<Opened, OpenError> {
    let rules = places.rules;
    let client = || places.client.clone().ok_or(OpenError::NoClientDirectory);
    let data = || places.data.clone().ok_or(OpenError::NoDataDirectory);
    let files = |root: PathBuf| -> Result<Arc<dyn Store>, OpenError> {
        let options = FileStoreOptions { tasks: root.join("tasks"), data: Some(data()?), rules };
        Ok(Arc::new(FileStore::open(options)))
    };
    let documents = |paths: DocumentPaths| Ok(open_documents(DocumentOptions { paths, data: data()?, rules }));
    let store: Result<Arc<dyn Store>, OpenError> = match address {
        Address::Claude => files(client()?),
        Address::File(root) => files(root.clone()),
        Address::Documents => documents(DocumentPaths::Lists(client()?.join("tasks"))),
        Address::Document(path) => documents(DocumentPaths::File(path.clone())),
        Address::Teaching(path) => {
            let paths = TeachingPaths::Folder(path.clone());
            Ok(open_teaching(TeachingOptions { paths, data: data()?, rules }))
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
                jobs: None,
                world: this_machine(places),
            });
        }
        Address::Remote(remote) => {
            let opener = openers.find(remote.scheme());
            let opener = opener.ok_or_else(|| AddressError::Unknown {
                address: remote.to_string(),
                schemes: openers.schemes().collect(),
            })?;
            return opener.open(remote, places);
        }
    };
    Ok(Opened::with_this_machines(store?, address, places))
}

/// Everything at an address.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The lists.
    pub store: Arc<dyn Store>,
    /// The teams that work on them; `None` without a directory for their files.
    pub teams: Option<Arc<Teams>>,
    /// Notices to agents about their jobs; `None` without a directory to keep them in.
    pub notices: Option<Arc<dyn Notices>>,
    /// The todo lists of agents; `None` without a directory for their files.
    pub todos: Option<Arc<dyn Todos>>,
    /// The jobs of all machines that share the store; `None` if the jobs are only this machine's.
    pub jobs: Option<Arc<dyn SharedJobs>>,
    /// Determines whether the holders of leases on the lists are still alive.
    pub world: Arc<dyn World>,
}

impl Opened {
    /// Returns a store with the teams, notices and todo lists of this machine.
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

/// Returns the processes of this machine. Without a data directory, processes exchange no information, including signs
/// of life.
pub(super) fn this_machine(places: &Places) -> Arc<dyn World> {
    Arc::new(places.data.as_ref().map_or_else(ThisMachine::default, |data| ThisMachine::with_signs_in(data)))
}

/// Returns the notices that jobs on this machine leave for the agents of a store.
pub(super) fn left_by_jobs(address: &Address, places: &Places) -> Option<MachineNotices> {
    Some(MachineNotices::in_data(places.data.as_ref()?).of_store(address))
}

/// Returns the teams of this machine: in memory if the store is in memory, under the store's root if it has one, and
/// otherwise in the client's directory.
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

/// Opens the stores implemented by one crate.
///
/// It does not connect before what it opened is first used. Only the opener sees the password of an address, and
/// neither its errors nor its logs contain it. Child processes open the same address without the password; the opener
/// decides how they obtain it, for example from a file.
pub trait Opener: fmt::Debug + Send + Sync {
    /// Opens everything at an address.
    fn open(&self, address: &RemoteAddress, places: &Places) -> Result<Opened, OpenError>;

    /// Returns whether child processes, which get the address without its password, can open it: because it has none,
    /// or because they find the same password in a file.
    fn lets_children_in(&self, address: &RemoteAddress) -> Result<bool, OpenError> {
        Ok(address.to_string() == address.with_password())
    }
}

/// The openers for stores of other crates, by address scheme.
#[derive(Clone, Debug, Default)]
pub struct Openers(Vec<(&'static str, Arc<dyn Opener>)>);

impl Openers {
    /// Adds the opener for a scheme.
    #[must_use]
    pub fn with(mut self, scheme: &'static str, opener: Arc<dyn Opener>) -> Self {
        self.0.push((scheme, opener));
        self
    }

    pub(crate) fn schemes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(scheme, _)| *scheme)
    }

    pub(super) fn find(&self, scheme: &str) -> Option<&dyn Opener> {
        self.0.iter().find(|(known, _)| *known == scheme).map(|(_, opener)| &**opener)
    }
}

impl Address {
    /// Parses an address; a relative path is resolved against `base`.
    pub fn parse(written: &WrittenAddress, base: &Path, openers: &Openers) -> Result<Self, AddressError> {
        let text = written.as_written();
        match text.split_once(':') {
            Some(("claude", "")) => Ok(Self::Claude),
            Some(("memory", "")) => Ok(Self::Memory),
            Some((scheme @ ("file" | "teaching"), "")) => Err(AddressError::NoDirectory { scheme: scheme.to_owned() }),
            Some(("file", path)) => Ok(Self::File(base.join(path))),
            Some(("document", "")) => Ok(Self::Documents),
            Some(("document", path)) => Ok(Self::Document(base.join(path))),
            Some(("teaching", path)) => Ok(Self::Teaching(base.join(path))),
            _ => match scheme_of(text).filter(|scheme| !LOCAL.contains(scheme) && openers.find(scheme).is_some()) {
                Some(scheme) => RemoteAddress::parse(scheme, text).map(Self::Remote),
                None => {
                    Err(AddressError::Unknown { address: written.to_string(), schemes: openers.schemes().collect() })
                }
            },
        }
    }

    /// Returns whether child processes, which get the address without its password, can open it.
    pub fn lets_children_in(&self, openers: &Openers) -> Result<bool, OpenError> {
        match self {
            Self::Remote(remote) => {
                openers.find(remote.scheme()).map_or(Ok(false), |opener| opener.lets_children_in(remote))
            }
            _ => Ok(true),
        }
    }
}

/// The address of a store. Its `Display` and `Debug` output never contains a password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// The client's own lists, in its directory.
    Claude,
    /// Lists in the client's layout under another root.
    File(PathBuf),
    /// Documents in the client's directory for lists.
    Documents,
    /// A single document.
    Document(PathBuf),
    /// A teaching folder.
    Teaching(PathBuf),
    /// A store that exists only while it is open.
    Memory,
    /// A store implemented by another crate.
    Remote(RemoteAddress),
}

/// The address of a store implemented by another crate.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteAddress {
    scheme: String,
    with_password: String,
    shown: String,
}

impl Address {
    /// Returns the directory that contains all lists, if there is one.
    pub(crate) fn tasks_directory(&self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Claude => Some(places.client.as_ref()?.join("tasks")),
            Self::File(root) => Some(root.join("tasks")),
            Self::Documents | Self::Document(_) | Self::Teaching(_) | Self::Memory | Self::Remote(_) => None,
        }
    }

    /// Returns the directory of the teams that work on the lists: next to the lists if the store has a root, otherwise
    /// in the client's directory. `None` if teams are kept elsewhere.
    pub(crate) fn teams_directory(&self, places: &Places) -> Option<PathBuf> {
        match self {
            Self::File(root) => Some(root.join("teams")),
            Self::Memory | Self::Remote(_) => None,
            _ => Some(places.client.as_ref()?.join("teams")),
        }
    }

    /// Returns whether the address contains a password.
    pub fn has_password(&self) -> bool {
        matches!(self, Self::Remote(address) if address.shown != address.with_password)
    }

    /// Returns the path of a list, a directory or a file; `None` if it has no path on this machine.
    pub fn path_of_list(&self, list: &ListId, places: &Places) -> Option<PathBuf> {
        match self {
            Self::Claude | Self::File(_) => Some(self.tasks_directory(places)?.join(list.directory())),
            Self::Documents => {
                let lists = places.client.as_ref()?.join("tasks");
                Some(DocumentPaths::Lists(lists).path(list))
            }
            Self::Document(path) | Self::Teaching(path) => Some(path.clone()),
            Self::Memory | Self::Remote(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claude => formatter.write_str("claude:"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Documents => formatter.write_str("document:"),
            Self::Document(path) => write!(formatter, "document:{}", path.display()),
            Self::Teaching(path) => write!(formatter, "teaching:{}", path.display()),
            Self::Memory => formatter.write_str("memory:"),
            Self::Remote(address) => address.fmt(formatter),
        }
    }
}

impl RemoteAddress {
    pub(super) fn parse(scheme: &str, text: &str) -> Result<Self, AddressError> {
        let scheme = scheme.to_owned();
        match without_password(text) {
            Some(shown) => Ok(Self { scheme, with_password: text.to_owned(), shown }),
            None => Err(AddressError::UnclearPassword { scheme }),
        }
    }

    /// Returns the part before the colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the address with its password. Only for the opener, to connect.
    pub fn with_password(&self) -> &str {
        &self.with_password
    }
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RemoteAddress({:?})", self.shown)
    }
}

/// Paths on this machine and the rules in force, filled in by the program that reads flags and the environment.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The client's directory, for example `~/.claude`.
    pub client: Option<PathBuf>,
    /// Our own data directory.
    pub data: Option<PathBuf>,
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// The client's session id, if this process runs in one.
    pub session: Option<String>,
    /// The acting agent according to the client's team environment variables.
    pub client_teammate: Option<AgentName>,
    /// The rules in force.
    pub rules: Rules,
}

/// Why an address is invalid. The values never contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// No opener handles its scheme.
    #[error("unknown store `{address}`")]
    Unknown {
        /// The address, without a password.
        address: String,
        /// The schemes of the available openers.
        schemes: Vec<&'static str>,
    },
    /// The address lacks a directory.
    #[error("the store `{scheme}:` needs a directory")]
    NoDirectory {
        /// The part before the colon.
        scheme: String,
    },
    /// The address contains a password, but its end is ambiguous.
    #[error("the store address `{scheme}:…` is ambiguous: it is unclear where the password ends")]
    UnclearPassword {
        /// The part before the colon.
        scheme: String,
    },
    /// The opener for this scheme rejects the address.
    #[error("invalid store address `{address}`: {why}")]
    Unusable {
        /// The address, without a password.
        address: String,
        /// The reason.
        why: String,
    },
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The address is in the client's directory, which is unknown.
    #[error("Claude Code's directory is unknown")]
    NoClientDirectory,
    /// The store needs our data directory, which is unknown.
    #[error("the data directory is unknown")]
    NoDataDirectory,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::Address;
    use crate::opening::{Openers, WrittenAddress};

    #[test]
    fn an_address_says_what_it_is_before_the_colon() {
        let openers = Openers::default();
        let parse =
            |address: &str| Address::parse(&WrittenAddress::new(address), Path::new("/projects"), &openers).ok();
        assert_eq!(parse("claude:"), Some(Address::Claude));
        assert_eq!(parse("memory:"), Some(Address::Memory));
        assert_eq!(parse("file:a"), Some(Address::File(PathBuf::from("/projects/a"))));
        assert_eq!(parse("file:/a"), Some(Address::File(PathBuf::from("/a"))));
        assert_eq!(parse("document:"), Some(Address::Documents));
        assert_eq!(parse("document:t.json"), Some(Address::Document(PathBuf::from("/projects/t.json"))));
        assert_eq!(parse("teaching:.tasks"), Some(Address::Teaching(PathBuf::from("/projects/.tasks"))));
        for address in ["", "teaching:", "file", "file:", "claude", "claude:x", "sqlite:x"] {
            assert_eq!(parse(address), None, "{address}");
        }
    }
}
