//! What a process keeps open of one list between two operations.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::{Entry, ListId, Rules};

use super::form::Form;
use super::looking::Remembered;
use super::observe;
use super::repair;
use super::turn::Turn;
use crate::store::following::Followed;
use crate::store::sidecar::{Journal, canonical, sidecar_of};
use crate::store::{HistoryQuery, StoreError};

/// One list, as this process knows it.
#[derive(Debug)]
pub(super) struct Handle<F: Form> {
    pub(super) form: Arc<F>,
    pub(super) list: ListId,
    /// Where it is, links resolved.
    pub(super) path: PathBuf,
    pub(super) sidecar: PathBuf,
    pub(super) rules: Rules,
    /// What the last look saw, where it can be believed for as long as the files are the same.
    remembered: Mutex<Option<Remembered<F>>>,
    journals: Mutex<Vec<Journal>>,
}

impl<F: Form> Handle<F> {
    /// Finds the list; nothing is opened yet.
    pub(super) fn new(form: Arc<F>, list: ListId, data: &Path, rules: Rules) -> Self {
        let path = canonical(&form.path(&list));
        let sidecar = sidecar_of(data, &path);
        Self { form, list, path, sidecar, rules, remembered: Mutex::new(None), journals: Mutex::default() }
    }

    /// Takes a connection to the journal out of the pool, or opens one.
    pub(super) fn journal(&self) -> Result<Journal, StoreError> {
        if let Some(journal) = self.pool().pop() {
            return Ok(journal);
        }
        let journal = Journal::open(&self.sidecar, &self.path)?;
        journal.have_forms()?;
        Ok(journal)
    }

    /// Returns a connection for reading, where there is a journal that can be read.
    pub(super) fn journal_to_read(&self) -> Option<Journal> {
        if let Some(journal) = self.pool().pop() {
            return Some(journal);
        }
        if !self.has_journal() {
            return None;
        }
        let opened = self.journal().or_else(|error| Journal::open_to_read(&self.sidecar)?.ok_or(error));
        opened.inspect_err(|error| tracing::warn!(%error, "reading without the journal")).ok()
    }

    /// Puts a connection back for the next one.
    pub(super) fn give_back(&self, journal: Journal) {
        self.pool().push(journal);
    }

    /// Tells whether there is a journal.
    pub(super) fn has_journal(&self) -> bool {
        self.sidecar.join("journal.sqlite").exists()
    }

    /// Waits for a turn, and finishes what a dead writer began.
    pub(super) fn take_turn(&self) -> Result<(Turn<F>, Journal), StoreError> {
        // Opening it makes the place that the queue is in.
        let mut journal = self.journal()?;
        let mut turn = Turn::take(&*self.form, &self.path, &self.queue())?;
        repair::repair(self, &mut turn, &mut journal)?;
        Ok((turn, journal))
    }

    /// Waits for a turn, and leaves what a dead writer began as it is: for files that cannot be read.
    pub(super) fn take_bare_turn(&self) -> Result<Turn<F>, StoreError> {
        self.give_back(self.journal()?);
        Turn::take(&*self.form, &self.path, &self.queue())
    }

    /// Takes a turn where nobody else has one, and finishes what a dead writer began.
    pub(super) fn try_take_turn(&self) -> Result<Option<(Turn<F>, Journal)>, StoreError> {
        let mut journal = self.journal()?;
        match Turn::try_take(&*self.form, &self.path, &self.queue())? {
            Some(mut turn) => {
                repair::repair(self, &mut turn, &mut journal)?;
                Ok(Some((turn, journal)))
            }
            None => {
                self.give_back(journal);
                Ok(None)
            }
        }
    }

    /// Returns what the last look at the list at rest saw.
    pub(super) fn remembered(&self) -> MutexGuard<'_, Option<Remembered<F>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> PathBuf {
        self.sidecar.join("queue")
    }

    fn pool(&self) -> MutexGuard<'_, Vec<Journal>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Form> Followed for Handle<F> {
    fn list(&self) -> &ListId {
        &self.list
    }

    fn places(&self) -> Vec<&Path> {
        vec![self.form.directory(&self.path), &self.sidecar]
    }

    fn observe(&self) -> Result<bool, StoreError> {
        observe::observe(self)
    }

    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        let Some(journal) = self.journal_to_read() else { return Ok(Vec::new()) };
        let entries = journal.select(query);
        self.give_back(journal);
        entries
    }
}
