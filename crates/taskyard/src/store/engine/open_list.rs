//! What a process keeps open for each list between operations, and [`ListFiles`], the interface to the list's files.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard_core::{Entry, Lease, ListId, Rules, TaskId};

use crate::store::journal::{Journal, Journals, Move, MovePeer};
use crate::store::locks::queue::Queue;
use crate::store::waiting::Followed;
use crate::store::{HistoryQuery, LastEntry, ListWatch, Moved, StoreError, waiting};

/// How the files of a list are locked, read and replaced, and what a process caches of them.
pub(in crate::store) trait ListFiles: Debug + Send + Sync + Sized + 'static {
    /// The right to write to the list: our turn plus the locks that other programs respect. Dropping it releases both.
    type Turn: Debug + Send;

    /// Whether the journal keeps, besides the image of each task, the form it has in the files.
    const HAS_FORMS: bool;

    /// Returns the path of the list: its directory, or its single file.
    fn place(&self) -> &Path;

    /// Returns the directory to watch for changes to the list.
    fn directory(&self) -> &Path;

    /// Returns the files of another list of the same store.
    fn beside(&self, peer: &MovePeer, rules: Rules) -> Self;

    /// Fails if the list has been moved to another store, or is being moved.
    fn must_be_here(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn take_turn(&self, queue: &Path) -> Result<Self::Turn, StoreError>;

    /// Takes a turn, or returns `None` if another writer has one.
    fn try_take_turn(&self, queue: &Path) -> Result<Option<Self::Turn>, StoreError>;

    /// Waits for a turn without recovery, for when the journal or the files cannot be read.
    fn take_bare_turn(&self, queue: &Path) -> Result<BareTurn<Self::Turn>, StoreError> {
        Ok(BareTurn::at_files(self.take_turn(queue)?))
    }

    /// Returns every task that has an entry in the files, readable or not.
    fn present(&self) -> Result<BTreeSet<TaskId>, StoreError>;

    /// Returns the last revision known to be in the files without consulting the journal, or 0 if only the journal
    /// knows.
    fn followed_up_to(&self) -> u64 {
        0
    }

    /// Drops the cached state of the files.
    fn let_go(&self);

    /// Does the work that can wait until this process closes the list. The journal is closed afterwards.
    fn close(_list: &OpenList<Self>) {}

    /// Records what other programs did, unless a writer has the turn. Returns whether nothing is left to record.
    fn observe(list: &OpenList<Self>) -> Result<bool, StoreError>;

    /// Restores the files from the journal if a power loss may have changed them, and takes over from a writer that
    /// died or is suspended.
    fn recover(_list: &OpenList<Self>, _turn: &mut Self::Turn, _journal: &mut Journal) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns whether [`Self::recover`], the moves of the journal and [`Self::finish`] have nothing to do, if that can be
    /// told at little cost.
    fn is_settled(_list: &OpenList<Self>, _turn: &Self::Turn, _journal: &Journal) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Journals, on the source list, the changes of a move that happened. The files follow with [`ListFiles::finish`].
    fn follow_move(
        list: &OpenList<Self>,
        turn: &mut Self::Turn,
        journal: &Journal,
        noted: &Move,
    ) -> Result<(), StoreError>;

    /// Writes out every commit that is in the journal but not in the files. `has_followed` is true if a move was just
    /// journaled.
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
    /// Excludes only our own writers, if there are no files.
    _in_queue: Option<Queue>,
}

impl<T> BareTurn<T> {
    /// Excludes all other writers.
    pub(in crate::store) fn at_files(turn: T) -> Self {
        Self { at_files: Some(turn), _in_queue: None }
    }

    /// Excludes our own writers from a list that has no files.
    pub(in crate::store) fn in_queue(queue: Queue) -> Self {
        Self { at_files: None, _in_queue: Some(queue) }
    }
}

/// An open list in this process.
#[derive(Debug)]
pub(in crate::store) struct OpenList<F: ListFiles> {
    pub(in crate::store) list: ListId,
    pub(in crate::store) rules: Rules,
    pub(in crate::store) journals: Journals,
    pub(in crate::store) files: F,
}

impl<F: ListFiles> OpenList<F> {
    /// Describes a list without opening anything. Without a sidecar directory the list is read-only.
    pub(in crate::store) fn new(list: ListId, rules: Rules, sidecar: Option<PathBuf>, files: F) -> Self {
        let place = files.place().to_owned();
        let journals = if F::HAS_FORMS { Journals::with_forms(sidecar, place) } else { Journals::of(sidecar, place) };
        Self { list, rules, journals, files }
    }

    /// Returns the other list of a move, or `None` if it no longer exists.
    pub(super) fn beside(&self, peer: &MovePeer) -> Result<Option<Self>, StoreError> {
        let is_there = peer.place.try_exists().map_err(StoreError::io("cannot look at", &peer.place))?;
        let Some(list) = ListId::new(&peer.list).ok().filter(|_| is_there) else { return Ok(None) };
        let files = self.files.beside(peer, self.rules);
        Ok(Some(Self::new(list, self.rules, Some(peer.sidecar.clone()), files)))
    }

    /// Returns this list as the other list of a move records it.
    pub(in crate::store) fn as_peer(&self) -> Result<MovePeer, StoreError> {
        let (list, place) = (self.list.as_str().to_owned(), self.files.place().to_owned());
        Ok(MovePeer { list, place, sidecar: self.sidecar()?.clone() })
    }

    /// Returns our own directory for this list.
    pub(in crate::store) fn sidecar(&self) -> Result<&PathBuf, StoreError> {
        self.journals.sidecar()
    }

    /// Returns the file our writers queue on.
    pub(in crate::store) fn queue_file(&self) -> Result<PathBuf, StoreError> {
        Ok(self.sidecar()?.join("queue"))
    }

    /// Takes a journal connection from the pool, or opens one.
    pub(in crate::store) fn journal(&self) -> Result<Journal, StoreError> {
        self.journals.take()
    }

    /// Returns a connection for reading, or `None` if there is no readable journal.
    pub(in crate::store) fn journal_to_read(&self) -> Option<Journal> {
        self.journals.take_to_read()
    }

    /// Returns a connection to the pool.
    pub(in crate::store) fn give_back(&self, journal: Journal) {
        self.journals.give_back(journal);
    }

    /// Returns the entries that match a query, up to date with what other programs did.
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

    /// Renews leases: each gets the expiry time it carries here.
    pub(in crate::store) fn renew(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let journal = self.journal()?;
        let renewed = journal.renew(leases);
        self.give_back(journal);
        renewed
    }

    pub(in crate::store) fn watch(self: Arc<Self>, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        // Fail now if the journal is damaged; a watcher would wait in vain.
        self.entries(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Ok(waiting::watch(self, moved))
    }
}

impl<F: ListFiles> Drop for OpenList<F> {
    fn drop(&mut self) {
        F::close(self);
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

/// How long a list stays in memory after it was last requested.
const KEEPS: Duration = Duration::from_secs(300);
/// How many lists without watchers stay in memory. Callers request arbitrary names, including those of lists that do
/// not exist.
const MOST: usize = 256;

/// The lists that callers have requested.
#[derive(Debug)]
pub(in crate::store) struct OpenLists<F: ListFiles> {
    lists: Mutex<AskedLists<F>>,
    keeps: Duration,
}

#[derive(Debug)]
struct AskedLists<F: ListFiles> {
    by_name: HashMap<ListId, AskedList<F>>,
    /// When we last checked for lists that are no longer requested.
    looked_through: Instant,
}

#[derive(Debug)]
struct AskedList<F: ListFiles> {
    list: Arc<OpenList<F>>,
    /// When the list was last requested.
    asked: Instant,
}

impl<F: ListFiles> OpenLists<F> {
    pub(in crate::store) fn new() -> Self {
        let lists = AskedLists { by_name: HashMap::new(), looked_through: Instant::now() };
        Self { lists: Mutex::new(lists), keeps: KEEPS }
    }

    /// Sets how long a list stays in memory after it was last requested.
    pub(in crate::store) fn letting_go_after(self, keeps: Duration) -> Self {
        Self { keeps, ..self }
    }

    /// Returns a list, opening it if necessary.
    pub(in crate::store) fn get(&self, name: &ListId, open: impl FnOnce() -> OpenList<F>) -> Arc<OpenList<F>> {
        let mut lists = self.lists();
        let now = Instant::now();
        let asked =
            lists.by_name.entry(name.clone()).or_insert_with(|| AskedList { list: Arc::new(open()), asked: now });
        asked.asked = now;
        let list = Arc::clone(&asked.list);
        lists.let_go_of_those_unasked(self.keeps);
        list
    }

    /// Returns every open list.
    pub(in crate::store) fn all(&self) -> Vec<Arc<OpenList<F>>> {
        self.lists().by_name.values().map(|asked| Arc::clone(&asked.list)).collect()
    }

    fn lists(&self) -> MutexGuard<'_, AskedLists<F>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: ListFiles> AskedLists<F> {
    /// Drops lists that were not requested for `keeps`. Checks at most every quarter of that time.
    fn let_go_of_those_unasked(&mut self, keeps: Duration) {
        if self.by_name.len() > MOST {
            self.make_room();
        }
        if self.looked_through.elapsed() < keeps / 4 {
            return;
        }
        self.looked_through = Instant::now();
        self.by_name.retain(|_, AskedList { list, asked }| {
            let is_asked_for = asked.elapsed() < keeps;
            if !is_asked_for {
                list.files.let_go();
            }
            // A watcher keeps its list open anyway.
            is_asked_for || Arc::strong_count(list) > 1
        });
    }

    /// Drops unused lists, least recently requested first, until half of [`MOST`] remain.
    fn make_room(&mut self) {
        let unused = self.by_name.iter().filter(|(_, asked)| Arc::strong_count(&asked.list) == 1);
        let mut unused: Vec<_> = unused.map(|(name, asked)| (asked.asked, name.clone())).collect();
        unused.sort_by_key(|(asked, _)| *asked);
        let too_many = self.by_name.len() - MOST / 2;
        for (_, name) in unused.into_iter().take(too_many) {
            if let Some(asked) = self.by_name.remove(&name) {
                asked.list.files.let_go();
            }
        }
    }
}
