//! What a process keeps open of one list between two operations, and what the engine asks of the list's files.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard_core::{Entry, Lease, ListId, Rules, TaskId};

use crate::store::following::{self, Followed};
use crate::store::journal::{Journal, Journals, Move, MovePeer};
use crate::store::locks::queue::Queue;
use crate::store::{HistoryQuery, LastEntry, ListWatch, Moved, StoreError};

/// How the files of one list are locked, read and replaced, and what a process keeps of them in memory.
pub(in crate::store) trait ListFiles: Debug + Send + Sync + Sized + 'static {
    /// The right to write to the list: our turn, and the locks that other programs keep to. Dropping it gives everything back.
    type Turn: Debug + Send;

    /// Whether the journal keeps, beside the image of each task, the form that it has in the files.
    const HAS_FORMS: bool;

    /// Returns where the list is: its directory, or its one file.
    fn place(&self) -> &Path;

    /// Returns the directory in which something moves when the list changes.
    fn directory(&self) -> &Path;

    /// Returns the files of another list of the same store.
    fn beside(&self, peer: &MovePeer, rules: Rules) -> Self;

    /// Fails if the list has moved to another store, or is on its way.
    fn must_be_here(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Waits for a turn.
    fn take_turn(&self, queue: &Path) -> Result<Self::Turn, StoreError>;

    /// Takes a turn, or returns `None` if another writer has one.
    fn try_take_turn(&self, queue: &Path) -> Result<Option<Self::Turn>, StoreError>;

    /// Waits for a turn in which nothing is recovered: the journal or the files cannot be read.
    fn take_bare_turn(&self, queue: &Path) -> Result<BareTurn<Self::Turn>, StoreError> {
        Ok(BareTurn::at_files(self.take_turn(queue)?))
    }

    /// Returns the tasks that have anything in the files, readable or not.
    fn present(&self) -> Result<BTreeSet<TaskId>, StoreError>;

    /// Returns the last revision that is known to be in the files without asking the journal; 0 if only the journal knows.
    fn followed_up_to(&self) -> u64 {
        0
    }

    /// Lets go of what is kept of the files in memory.
    fn let_go(&self);

    /// Records what other programs did, if no writer has the turn. Returns whether nothing is left to record.
    fn observe(list: &OpenList<Self>) -> Result<bool, StoreError>;

    /// Makes the files as the journal has them if a power loss may have changed them, and takes over from a writer that died or is
    /// suspended.
    fn recover(_list: &OpenList<Self>, _turn: &mut Self::Turn, _journal: &mut Journal) -> Result<(), StoreError> {
        Ok(())
    }

    /// Journals, on the list that tasks leave, what a move that happened should have changed there. The files follow with
    /// [`ListFiles::finish`].
    fn follow_move(
        list: &OpenList<Self>,
        turn: &mut Self::Turn,
        journal: &Journal,
        noted: &Move,
    ) -> Result<(), StoreError>;

    /// Carries out every commit that is in the journal and not in the files. `has_followed` says that a move was just journaled.
    fn finish(
        list: &OpenList<Self>,
        turn: &mut Self::Turn,
        journal: &mut Journal,
        has_followed: bool,
    ) -> Result<(), StoreError>;
}

/// A turn in which nothing was recovered.
#[derive(Debug)]
pub(in crate::store) struct BareTurn<T> {
    /// `None` if there are no files.
    pub(in crate::store) at_files: Option<T>,
    /// Without files only our own writers are kept out.
    _in_queue: Option<Queue>,
}

impl<T> BareTurn<T> {
    /// Keeps everybody out.
    pub(in crate::store) fn at_files(turn: T) -> Self {
        Self { at_files: Some(turn), _in_queue: None }
    }

    /// Keeps our own writers out of a list that has no files.
    pub(in crate::store) fn in_queue(queue: Queue) -> Self {
        Self { at_files: None, _in_queue: Some(queue) }
    }
}

/// One list, as this process knows it.
#[derive(Debug)]
pub(in crate::store) struct OpenList<F> {
    pub(in crate::store) list: ListId,
    pub(in crate::store) rules: Rules,
    pub(in crate::store) journals: Journals,
    pub(in crate::store) files: F,
}

impl<F: ListFiles> OpenList<F> {
    /// Names a list; nothing is opened yet. Without a directory of ours it can only be read.
    pub(in crate::store) fn new(list: ListId, rules: Rules, sidecar: Option<PathBuf>, files: F) -> Self {
        let place = files.place().to_owned();
        let journals = if F::HAS_FORMS { Journals::with_forms(sidecar, place) } else { Journals::of(sidecar, place) };
        Self { list, rules, journals, files }
    }

    /// Names the other list of a move; `None` if it has no place any more.
    pub(super) fn beside(&self, peer: &MovePeer) -> Result<Option<Self>, StoreError> {
        let is_there = peer.place.try_exists().map_err(StoreError::io("cannot look at", &peer.place))?;
        let Some(list) = ListId::new(&peer.list).ok().filter(|_| is_there) else { return Ok(None) };
        let files = self.files.beside(peer, self.rules);
        Ok(Some(Self::new(list, self.rules, Some(peer.sidecar.clone()), files)))
    }

    /// Returns the list as the other one of a move remembers it.
    pub(in crate::store) fn as_peer(&self) -> Result<MovePeer, StoreError> {
        let (list, place) = (self.list.as_str().to_owned(), self.files.place().to_owned());
        Ok(MovePeer { list, place, sidecar: self.sidecar()?.clone() })
    }

    /// Returns our directory for this list.
    pub(in crate::store) fn sidecar(&self) -> Result<&PathBuf, StoreError> {
        self.journals.sidecar()
    }

    /// Returns the file our writers queue on.
    pub(in crate::store) fn queue_file(&self) -> Result<PathBuf, StoreError> {
        Ok(self.sidecar()?.join("queue"))
    }

    /// Takes a connection to the journal out of the pool, or opens one.
    pub(in crate::store) fn journal(&self) -> Result<Journal, StoreError> {
        self.journals.take()
    }

    /// Returns a connection for reading, if there is a journal that can be read.
    pub(in crate::store) fn journal_to_read(&self) -> Option<Journal> {
        self.journals.take_to_read()
    }

    /// Puts a connection back for the next one.
    pub(in crate::store) fn give_back(&self, journal: Journal) {
        self.journals.give_back(journal);
    }

    /// Returns a part of the history, which has what other programs did until now.
    pub(in crate::store) fn history(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        if !self.journals.ask(|journal| journal.covers(query))? {
            F::observe(self)?;
        }
        self.entries(query)
    }

    /// Returns the newest entry of each task.
    pub(in crate::store) fn last_entries(&self) -> Result<Vec<LastEntry>, StoreError> {
        F::observe(self)?;
        self.journals.ask(Journal::last_entries)
    }

    /// Gives leases another time to live.
    pub(in crate::store) fn renew(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let journal = self.journal()?;
        let renewed = journal.renew(leases);
        self.give_back(journal);
        renewed
    }

    /// Watches the list.
    pub(in crate::store) fn watch(self: Arc<Self>, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        // A follower of a damaged journal would wait in vain.
        self.entries(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Ok(following::watch(self, moved))
    }
}

impl<F: ListFiles> Followed for OpenList<F> {
    fn list(&self) -> &ListId {
        &self.list
    }

    fn directories(&self) -> Vec<&Path> {
        let sidecar = self.journals.sidecar().ok().map(PathBuf::as_path);
        std::iter::once(self.files.directory()).chain(sidecar).collect()
    }

    fn observe(&self) -> Result<bool, StoreError> {
        F::observe(self)
    }

    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.journals.ask(|journal| journal.select(query))
    }
}
