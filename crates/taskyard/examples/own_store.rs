//! A store of one's own, on the kit: lists in the memory of this program, with every commit in a journal that it keeps as it likes.
//!
//! Four steps make a store: lock, catch up, stage, commit. What a transaction can do and what a rule refuses is the kit's and the
//! operations' business. `taskyard_testkit::store_suite!` holds a store to its promises.
//!
//! `cargo run -p taskyard --example own_store`
#![allow(clippy::print_stdout, reason = "a program that shows what it does")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard::Yard;
use taskyard::core::{AgentName, Entry, Event, Lease, ListId, Moment, Op, Rules};
use taskyard::operations::NewTask;
use taskyard::store::kit::{Commit, Home, ListState, StagedPair, StagedTxn, Staging, StateSnapshot, Writer, select};
use taskyard::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, Moved, Signature, Snapshot, Store, StoreClock, StoreError, Txn,
    TxnPair, Watch,
};

/// Keeps lists in a shelf that clones share.
#[derive(Clone, Debug)]
pub struct ShelfStore {
    shelf: Arc<Shelf>,
    rules: Rules,
}

#[derive(Debug, Default)]
struct Shelf {
    lists: Mutex<BTreeMap<ListId, Kept>>,
    freed: Condvar,
}

/// A list: how it stands, its journal, and whether a writer writes to it.
#[derive(Clone, Debug, Default)]
struct Kept {
    state: Arc<ListState>,
    journal: Vec<Event>,
    is_taken: bool,
}

impl Kept {
    fn append(&mut self, commit: &Commit, list: &ListId) -> Option<Event> {
        Arc::make_mut(&mut self.state).apply(commit);
        let event = commit.event(list);
        self.journal.extend(event.clone());
        event
    }
}

impl ShelfStore {
    /// Returns an empty one.
    pub fn new(rules: Rules) -> Self {
        Self { shelf: Arc::default(), rules }
    }

    fn kept(&self, list: &ListId) -> Kept {
        self.shelf.lists().get(list).cloned().unwrap_or_else(|| new_list(list))
    }

    fn staged(&self, writer: ShelfWriter) -> StagedTxn<ShelfWriter> {
        let state = self.kept(&writer.list).state;
        StagedTxn::new(writer, state, self.rules)
    }
}

fn new_list(list: &ListId) -> Kept {
    let home = Home::Images(list.directory().into());
    Kept { state: Arc::new(ListState { home, ..ListState::default() }), ..Kept::default() }
}

impl Shelf {
    fn lists(&self) -> MutexGuard<'_, BTreeMap<ListId, Kept>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one writer of a list, until it is dropped.
#[derive(Debug)]
struct ShelfWriter {
    shelf: Arc<Shelf>,
    list: ListId,
}

impl ShelfWriter {
    fn try_take(shelf: &Arc<Shelf>, list: &ListId) -> Option<Self> {
        let mut lists = shelf.lists();
        let kept = lists.entry(list.clone()).or_insert_with(|| new_list(list));
        let is_free = !std::mem::replace(&mut kept.is_taken, true);
        is_free.then(|| Self { shelf: Arc::clone(shelf), list: list.clone() })
    }

    fn take(shelf: &Arc<Shelf>, list: &ListId) -> Self {
        loop {
            if let Some(writer) = Self::try_take(shelf, list) {
                return writer;
            }
            let lists = shelf.lists();
            let is_taken = |lists: &mut BTreeMap<ListId, Kept>| lists.get(list).is_some_and(|kept| kept.is_taken);
            drop(shelf.freed.wait_while(lists, is_taken).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Writes down what was staged on one list or on several, all of it at once.
    fn write<const N: usize>(staged: [(Self, Staging); N], signature: &Signature) -> [Option<Event>; N] {
        let now = StoreClock::default().now().wall;
        let shelf = Arc::clone(&staged[0].0.shelf);
        let mut lists = shelf.lists();
        // A list that is renamed brings its history to the other one.
        let renamed = staged[0].0.list.clone();
        let former = lists.get(&renamed).filter(|_| signature.op == Op::Rename).cloned();
        staged.map(|(writer, staging)| {
            let mut commit = staging.into_commit(now, signature);
            let mut event = None;
            if let Some(kept) = lists.get_mut(&writer.list) {
                if let Some(former) = former.as_ref().filter(|_| writer.list != renamed) {
                    commit.go_on_from(former.state.revision, former.state.last_token);
                    for repeated in Commit::repeated(&former.journal, kept.state.revision) {
                        kept.append(&repeated, &writer.list);
                    }
                }
                event = kept.append(&commit, &writer.list);
                // Given back here: dropping the writer would wait for what we hold.
                kept.is_taken = false;
            }
            std::mem::forget(writer);
            shelf.freed.notify_all();
            event
        })
    }
}

impl Drop for ShelfWriter {
    fn drop(&mut self) {
        if let Some(kept) = self.shelf.lists().get_mut(&self.list) {
            kept.is_taken = false;
        }
        self.shelf.freed.notify_all();
    }
}

impl Writer for ShelfWriter {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(StoreClock::default().now())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        let [event] = Self::write([(self, staging)], signature);
        Ok(event)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        Ok(Self::write([from, into], signature))
    }
}

impl Store for ShelfStore {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(StoreClock::default().now())
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        let lists = self.shelf.lists();
        let there = lists.iter().filter(|(_, kept)| kept.state.exists);
        Ok(there.map(|(list, kept)| kept.state.info(list)).collect())
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(StateSnapshot { state: self.kept(list).state }))
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        Ok(Box::new(self.staged(ShelfWriter::take(&self.shelf, list))))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        Ok(ShelfWriter::try_take(&self.shelf, list).map(|writer| Box::new(self.staged(writer)) as Box<dyn Txn>))
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        Ok(Box::new(StagedPair::open((from, into), |list| Ok(self.staged(ShelfWriter::take(&self.shelf, list))))?))
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        Ok(select(&self.kept(list).journal, query))
    }

    fn watch(&self, list: &ListId, _moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        Ok(Box::new(ShelfWatch { store: self.clone(), list: list.clone() }))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        if let Some(kept) = self.shelf.lists().get_mut(list) {
            let renewal = kept.state.renewal(leases);
            Arc::make_mut(&mut kept.state).apply(&renewal);
        }
        Ok(())
    }
}

/// Tells no follower of anything: each looks again and again.
struct ShelfWatch {
    store: ShelfStore,
    list: ListId,
}

impl Watch for ShelfWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(Duration::from_millis(50)))
    }
}

impl ListWatch for ShelfWatch {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.store.history(&self.list, query)
    }
}

#[allow(dead_code, reason = "a test holds the store to its promises and runs no program")]
fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(ShelfStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("ana")?);
    let task = yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?.task;
    yard.done(&task.id)?.done()?;
    for entry in yard.store().history(yard.list_id(), &HistoryQuery::default())? {
        println!("revision {}: {} {} #{}", entry.revision.0, entry.actor, entry.op, entry.task);
    }
    Ok(())
}
