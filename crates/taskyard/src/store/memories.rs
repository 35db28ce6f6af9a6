//! Our memory of lists, of whichever store they are: how large it is, whether its list is gone, and tidying it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use taskyard_core::{TaskId, Timestamp};

use super::journal::{LEAVING, TidiedJournal, TidyTerms, list_of, remove_what_is_leaving, tidy, try_tidy};
use super::{StoreError, journal};

/// Our memory of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListMemory {
    /// Our directory for the list.
    pub sidecar: PathBuf,
    /// Where the list is or was kept; none where the memory does not say, or cannot be read.
    pub list: Option<PathBuf>,
    /// How many bytes the memory has.
    pub(crate) bytes: u64,
}

impl ListMemory {
    /// Tidies the journal in it; none where there is none. Tasks that are named may go although no agent deleted them on purpose.
    pub(crate) fn tidy(&self, terms: &TidyTerms, named: &HashSet<TaskId>) -> Result<Option<TidiedJournal>, StoreError> {
        tidy(&self.sidecar, terms, named)
    }

    /// Returns what tidying would do, and does it to a copy.
    pub(crate) fn try_tidy(
        &self,
        terms: &TidyTerms,
        named: &HashSet<TaskId>,
    ) -> Result<Option<TidiedJournal>, StoreError> {
        try_tidy(&self.sidecar, terms, named)
    }
}

/// Returns our memory of every list in a data directory, by name. What cannot be read says nothing of its list.
pub(crate) fn list_memories(data: &Path) -> Vec<ListMemory> {
    list_sidecars(data).iter().map(|sidecar| memory_in(sidecar)).collect()
}

/// Returns our memory of the list of one sidecar.
fn memory_in(sidecar: &Path) -> ListMemory {
    let list = list_of(sidecar).ok().flatten();
    let files = fs::read_dir(sidecar).into_iter().flatten().flatten().filter_map(|file| file.metadata().ok());
    let bytes = files.filter(fs::Metadata::is_file).map(|file| file.len()).sum();
    ListMemory { sidecar: sidecar.to_owned(), list, bytes }
}

/// Tidies the journal in a sidecar; none where there is none.
pub(crate) fn tidy_journal(sidecar: &Path, terms: &TidyTerms) -> Result<Option<TidiedJournal>, StoreError> {
    tidy(sidecar, terms, &HashSet::new())
}

/// Returns when the newest entry in a sidecar says that it was written; none where there is none.
pub(crate) fn newest_time(sidecar: &Path) -> Result<Option<Timestamp>, StoreError> {
    journal::newest_time(sidecar)
}

/// Returns our directories for lists, by name. What is left of lists that have moved to another store stays as it is.
pub(crate) fn list_sidecars(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join("lists")).into_iter().flatten().flatten();
    let mut sidecars: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_sidecar(path)).collect();
    sidecars.sort();
    sidecars
}

fn is_sidecar(path: &Path) -> bool {
    let is_leaving = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(LEAVING);
    path.is_dir() && !journal::is_leaving(path) && !path.file_name().is_some_and(is_leaving)
}

/// Removes what is left of memories that a process had put away already when it died.
pub(crate) fn finish_putting_away(data: &Path) {
    remove_what_is_leaving(data);
}
