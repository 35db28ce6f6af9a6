//! What of a store gives and takes whole lists: files have one way, a database that many machines share another.

use std::path::PathBuf;

use taskyard_core::ListId;

use super::{BackupError, Dialect};
use crate::opening::Address;
use crate::store::{ArrivingList, FileCare, ListCopy, ListCopyTarget, SharedCare, Store, StoreError};

/// The keeper of the lists of a store.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keeper<'a> {
    /// Lists in files, and our memory of them.
    Files(&'a dyn FileCare),
    /// Lists in a database.
    Shared(&'a dyn SharedCare),
}

impl<'a> Keeper<'a> {
    /// Returns the keeper of a store, and how its lists are written down.
    pub(super) fn of(store: &'a dyn Store, address: &Address) -> Result<(Dialect, Self), BackupError> {
        let files = store.care().map(Keeper::Files);
        let keeper = files.or_else(|| store.shared_care().map(Keeper::Shared));
        Dialect::of(address).zip(keeper).ok_or(BackupError::NoFiles)
    }

    /// Returns the names of all lists, and of those that only our memory still has. Lists that have moved to another store are there.
    pub(super) fn lists(self, store: &dyn Store) -> Result<Vec<ListId>, StoreError> {
        let mut lists = match self {
            Self::Files(care) => {
                let mut lists = care.lists_with_a_place()?;
                lists.extend(care.lists_without_a_place()?.into_iter().map(|(list, _)| list));
                lists
            }
            Self::Shared(_) => store.list_names()?.into_iter().collect(),
        };
        let mut gone = Vec::new();
        if let Some(moving) = store.moving() {
            for list in &lists {
                gone.push(moving.departure(list)?.is_some_and(|departure| departure.has_left));
            }
        }
        let mut gone = gone.into_iter();
        lists.retain(|_| !gone.next().unwrap_or(false));
        lists.sort();
        lists.dedup();
        Ok(lists)
    }

    /// Copies a list as it is at one moment.
    pub(super) fn copy_out(self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
        match self {
            Self::Files(care) => care.copy_out(list, to),
            Self::Shared(shared) => shared.copy_out(list, to),
        }
    }

    /// Takes in the history of a list, in a database its tasks as well, and returns false if there is one of that name.
    pub(super) fn take_in(self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
        match self {
            Self::Files(care) => care.take_memory(list, arriving),
            Self::Shared(shared) => shared.take_in(list, arriving),
        }
    }

    /// Returns where a list is, in words.
    pub(super) fn place_of(self, list: &ListId, address: &Address) -> String {
        match self {
            Self::Files(care) => care.place_of(list).display().to_string(),
            Self::Shared(_) => PathBuf::from(address.to_string()).join(list.directory()).display().to_string(),
        }
    }
}
