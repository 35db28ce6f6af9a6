//! What a process keeps open of one list between two operations.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::{ListId, Rules};

use super::dialect_files::DialectFiles;
use super::dialect_turn::DialectTurn;
use super::seen_list::RestingList;
use crate::store::StoreError;
use crate::store::foreign_link::must_not_be_foreign;
use crate::store::journal::{Journal, Journals, MovePeer, canonical, sidecar_of};

/// One list, as this process knows it.
#[derive(Debug)]
pub(super) struct OpenList<F: DialectFiles> {
    pub(super) dialect: Arc<F>,
    pub(super) list: ListId,
    /// Where it is, links resolved.
    pub(super) path: PathBuf,
    /// The path that leads to it by a link, where one does.
    link: Option<PathBuf>,
    pub(super) sidecar: PathBuf,
    pub(super) rules: Rules,
    /// What the last look saw, where it can be believed for as long as the files are the same.
    remembered: Mutex<Option<RestingList<F>>>,
    pub(super) journals: Journals,
}

impl<F: DialectFiles> OpenList<F> {
    /// Finds the list; nothing is opened yet.
    pub(super) fn new(dialect: Arc<F>, list: ListId, data: &Path, rules: Rules) -> Self {
        let given = dialect.path(&list);
        let path = real_path(&*dialect, &given);
        let is_linked = std::path::absolute(&given).is_ok_and(|given| given != path);
        let (sidecar, link) = (sidecar_of(data, &path), is_linked.then_some(given));
        let journals = Journals::with_forms(sidecar.clone(), path.clone());
        Self { dialect, list, path, link, sidecar, rules, remembered: Mutex::new(None), journals }
    }

    /// Finds another list of the same store; `None` if it has no place any more.
    pub(super) fn beside(&self, peer: MovePeer) -> Result<Option<Self>, StoreError> {
        let MovePeer { list, place: path, sidecar } = peer;
        let is_there = path.try_exists().map_err(StoreError::io("cannot look at", &path))?;
        let Some(list) = ListId::new(&list).ok().filter(|_| is_there) else { return Ok(None) };
        let journals = Journals::with_forms(sidecar.clone(), path.clone());
        let (dialect, rules) = (Arc::clone(&self.dialect), self.rules);
        let remembered = Mutex::new(None);
        Ok(Some(Self { dialect, list, path, link: None, sidecar, rules, remembered, journals }))
    }

    /// Returns the list as the other one of a move remembers it.
    pub(super) fn as_peer(&self) -> MovePeer {
        MovePeer { list: self.list.as_str().to_owned(), place: self.path.clone(), sidecar: self.sidecar.clone() }
    }

    /// Takes a connection to the journal out of the pool, or opens one.
    pub(super) fn journal(&self) -> Result<Journal, StoreError> {
        self.journals.take()
    }

    /// Returns a connection for reading, where there is a journal that can be read.
    pub(super) fn journal_to_read(&self) -> Option<Journal> {
        self.journals.take_to_read()
    }

    /// Puts a connection back for the next one.
    pub(super) fn give_back(&self, journal: Journal) {
        self.journals.give_back(journal);
    }

    /// Waits for a turn, and leaves what a dead writer began as it is: for files that cannot be read.
    pub(super) fn take_bare_turn(&self) -> Result<DialectTurn<F>, StoreError> {
        self.give_back(self.journal()?);
        DialectTurn::take(&*self.dialect, &self.path, &self.queue())
    }

    /// Fails where the list is behind a link to a directory of another user.
    pub(super) fn must_not_be_foreign(&self) -> Result<(), StoreError> {
        let Some(directory) = self.link.as_ref().map(|link| self.dialect.directory(link)) else { return Ok(()) };
        must_not_be_foreign(directory.ancestors().take(3)).map_err(StoreError::io("cannot use", directory))
    }

    /// Returns what the last look at the list at rest saw.
    pub(super) fn remembered(&self) -> MutexGuard<'_, Option<RestingList<F>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file our writers queue on.
    pub(super) fn queue(&self) -> PathBuf {
        self.sidecar.join("queue")
    }
}

/// Returns where a list is with the links of its directories resolved. A link in the place of its only file is not.
fn real_path(dialect: &impl DialectFiles, path: &Path) -> PathBuf {
    let directory = dialect.directory(path);
    match path.file_name().filter(|_| directory != path) {
        Some(name) => canonical(directory).join(name),
        None => canonical(path),
    }
}
