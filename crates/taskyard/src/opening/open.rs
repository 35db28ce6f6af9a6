//! Opening what lives at an address.

use std::path::PathBuf;
use std::sync::Arc;

use super::opened::{Opened, left_by_jobs, teams, this_machine};
use super::{Address, AddressError, OpenError, Openers, Places};
use crate::notices::{ForwardedNotices, MemoryNotices, Notices};
use crate::store::{
    DocumentOptions, DocumentPaths, FileStore, FileStoreOptions, MemoryStore, Store, TeachingOptions, TeachingPaths,
    open_documents, open_teaching,
};
use crate::todos::MemoryTodos;

/// Opens everything that lives at an address. Nothing is read, made or connected to before it is asked for.
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
