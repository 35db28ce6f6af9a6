//! Lists in memory: the reference implementation of the contract, for tests and demonstrations. Nothing outlives the
//! process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard_core::{Entry, Event, Lease, ListId, Moment, Op, Revision, Rules};

use crate::store::kit::{Commit, Home, ListState, StagedPair, StagedTxn, Staging, StateSnapshot, Writer, select};
use crate::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, Moved, Signature, Snapshot, Store, StoreClock, StoreError, Txn,
    TxnPair, Watch,
};
use crate::watching::{Watchers, Watching};

/// Number of lists above which the store drops those that were read but never written.
const MOST: usize = 256;

/// A store in memory that keeps each task as the contents of its file.
#[derive(Debug)]
pub struct MemoryStore {
    rules: Rules,
    clock: StoreClock,
    lists: Mutex<BTreeMap<ListId, Arc<ListCell>>>,
    /// Called when a list is created or removed.
    watchers: Watchers,
}

impl MemoryStore {
    /// Creates a store without lists, under these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, clock: StoreClock::default(), lists: Mutex::default(), watchers: Watchers::default() }
    }

    /// Replaces this machine's clock for lease times.
    #[must_use]
    pub fn with_clock(self, clock: StoreClock) -> Self {
        Self { clock, ..self }
    }

    fn cell(&self, list: &ListId) -> Arc<ListCell> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MOST && !lists.contains_key(list) {
            lists.retain(|_, cell| Arc::strong_count(cell) > 1 || cell.state().revision > Revision(0));
        }
        let new = || ListCell::new(list.clone(), self.clock.clone(), self.watchers.clone());
        Arc::clone(lists.entry(list.clone()).or_insert_with(new))
    }

    fn begin(&self, turn: MemoryTurn) -> StagedTxn<MemoryTurn> {
        let state = turn.cell().state();
        StagedTxn::new(turn, state, self.rules)
    }
}

impl Store for MemoryStore {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(self.clock.now())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let cells: Vec<_> = self.lists.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let info = |cell: &Arc<ListCell>| {
            let state = cell.state();
            state.exists.then(|| state.info(&cell.list))
        };
        Ok(cells.iter().filter_map(info).collect())
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: self.cell(list).state() }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(self.begin(self.cell(list).take_turn())))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        Ok(self.cell(list).try_turn().map(|turn| Box::new(self.begin(turn)) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        Ok(Box::new(StagedPair::open((from, into), |list| Ok(self.begin(self.cell(list).take_turn())))?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        Ok(self.cell(list).history(query))
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        Ok(Box::new(CellWatch::of(self.cell(list), moved)))
    }

    fn watch_names(&self, moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(NamesWatch::of(&self.watchers, moved)))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.cell(list).renew(leases);
        Ok(())
    }
}

/// A list, shared by all callers that read, write or watch it.
#[derive(Debug)]
pub(super) struct ListCell {
    pub(super) list: ListId,
    book: Mutex<Book>,
    /// Called when the journal has grown.
    pub(super) watchers: Watchers,
    /// Called when a list is created or removed.
    watchers_of_names: Watchers,
    clock: StoreClock,
    writing: Mutex<bool>,
    free: Condvar,
}

/// The state and history of a list. It is locked only briefly, never for a whole transaction.
#[derive(Debug)]
pub(super) struct Book {
    state: Arc<ListState>,
    journal: Vec<Event>,
}

impl ListCell {
    pub(super) fn new(list: ListId, clock: StoreClock, watchers_of_names: Watchers) -> Arc<Self> {
        let home = Home::Images(PathBuf::from("memory:").join(list.directory()));
        let book = Book { state: Arc::new(ListState { home, ..ListState::default() }), journal: Vec::new() };
        Arc::new(Self {
            list,
            clock,
            book: Mutex::new(book),
            watchers: Watchers::default(),
            watchers_of_names,
            writing: Mutex::default(),
            free: Condvar::new(),
        })
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> Arc<ListState> {
        Arc::clone(&self.book().state)
    }

    /// Waits until no other transaction is open on this list.
    pub(super) fn take_turn(self: &Arc<Self>) -> MemoryTurn {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        while *writing {
            writing = self.free.wait(writing).unwrap_or_else(PoisonError::into_inner);
        }
        *writing = true;
        MemoryTurn(Arc::clone(self))
    }

    /// Returns the turn if it is free, without waiting.
    pub(super) fn try_turn(self: &Arc<Self>) -> Option<MemoryTurn> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (!std::mem::replace(&mut *writing, true)).then(|| MemoryTurn(Arc::clone(self)))
    }

    pub(super) fn history(&self, query: &HistoryQuery) -> Vec<Entry> {
        select(&self.book().journal, query)
    }

    /// Extends the leases that are unchanged.
    pub(super) fn renew(&self, leases: &[Lease]) {
        let mut book = self.book();
        let renewal = book.state.renewal(leases);
        Arc::make_mut(&mut book.state).apply(&renewal);
    }

    /// Applies what was staged, after the history of the list that is renamed to this one, if there is one. Returns the
    /// commit as subscribers receive it.
    fn commit(&self, staging: Staging, signature: &Signature, former: Option<&Book>) -> Option<Event> {
        let mut commit = staging.into_commit(self.clock.now().wall, signature);
        let mut book = self.book();
        let was_there = book.state.exists;
        if let Some(former) = former {
            commit.go_on_from(former.state.revision, former.state.last_token);
            for repeated in Commit::repeated(&former.journal, book.state.revision) {
                book.append(&repeated, &self.list);
            }
        }
        let event = book.append(&commit, &self.list);
        let has_come_or_gone = book.state.exists != was_there;
        drop(book);
        self.watchers.tell();
        if has_come_or_gone {
            self.watchers_of_names.tell();
        }
        event
    }
}

impl Book {
    fn append(&mut self, commit: &Commit, list: &ListId) -> Option<Event> {
        Arc::make_mut(&mut self.state).apply(commit);
        let event = commit.event(list);
        self.journal.extend(event.clone());
        event
    }
}

/// The exclusive right to write, released on drop.
#[derive(Debug)]
pub(super) struct MemoryTurn(Arc<ListCell>);

impl MemoryTurn {
    pub(super) fn cell(&self) -> &ListCell {
        &self.0
    }
}

impl Drop for MemoryTurn {
    fn drop(&mut self) {
        *self.0.writing.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

impl Writer for MemoryTurn {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(self.0.clock.now())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        Ok(self.0.commit(staging, signature, None))
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        // Nothing can fail between the two commits.
        let former = (signature.op == Op::Rename).then(|| from.0.0.book());
        let came = into.0.0.commit(into.1, signature, former.as_deref());
        drop(former);
        Ok([from.0.0.commit(from.1, signature, None), came])
    }
}

/// A watch on one list.
pub(super) struct CellWatch {
    cell: Arc<ListCell>,
    _watching: Watching,
}

/// A watch on the creation and removal of lists.
pub(super) struct NamesWatch {
    _watching: Watching,
}

impl CellWatch {
    pub(super) fn of(cell: Arc<ListCell>, moved: Moved) -> Self {
        Self { _watching: cell.watchers.add(moved), cell }
    }
}

impl NamesWatch {
    pub(super) fn of(watchers: &Watchers, moved: Moved) -> Self {
        Self { _watching: watchers.add(moved) }
    }
}

impl Watch for CellWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}

impl ListWatch for CellWatch {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        Ok(self.cell.history(query))
    }
}

impl Watch for NamesWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}
