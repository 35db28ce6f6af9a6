//! Commits whose answers are lost on the way, as a store on another machine may lose them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use taskyard::core::{AgentName, Entry, Event, Image, Lease, ListId, Moment, Revision, Rules, Status, Task, TaskId};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, Lookup, MemoryStore, Moved, NewLease, Signature, Snapshot, Store,
    StoreError, Txn, TxnPair, UnreadableTask,
};
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::list_builder;

use super::{done, id, task};

/// A memory store behind a line that breaks when a commit is under way: before it arrives, or after it happened.
pub(super) struct BadLine {
    store: MemoryStore,
    lost_before: AtomicU32,
    lost_after: AtomicU32,
    /// How often the store cannot be reached at all after that.
    cut_then: AtomicU32,
    cut: AtomicU32,
}

impl BadLine {
    pub(super) fn new(store: MemoryStore) -> Self {
        Self {
            store,
            lost_before: AtomicU32::new(0),
            lost_after: AtomicU32::new(0),
            cut_then: AtomicU32::new(0),
            cut: AtomicU32::new(0),
        }
    }

    /// Breaks for good.
    pub(super) fn cut_off(&self) {
        self.cut.store(u32::MAX, Ordering::SeqCst);
    }

    fn breaks(&self) -> StoreError {
        self.cut.store(self.cut_then.load(Ordering::SeqCst), Ordering::SeqCst);
        out_of_reach()
    }
}

fn takes_one(count: &AtomicU32) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn out_of_reach() -> StoreError {
    StoreError::Unavailable { store: "a database".into(), source: "the line is broken".into() }
}

impl fmt::Debug for BadLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BadLine")
    }
}

impl Store for BadLine {
    fn now(&self) -> Result<Moment, StoreError> {
        self.store.now()
    }

    fn lists(&self) -> Result<Vec<ListInfo>, StoreError> {
        self.store.lists()
    }

    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        self.store.read(list)
    }

    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError> {
        if takes_one(&self.cut) {
            return Err(out_of_reach());
        }
        Ok(Box::new(BadTxn { line: self, txn: self.store.write(list)? }))
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        self.store.try_write(list)
    }

    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError> {
        self.store.write_both(from, into)
    }

    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.store.history(list, query)
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError> {
        self.store.watch(list, moved)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        self.store.capabilities()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.store.renew(list, leases)
    }
}

#[derive(Debug)]
struct BadTxn<'a> {
    line: &'a BadLine,
    txn: Box<dyn Txn + 'a>,
}

impl Snapshot for BadTxn<'_> {
    fn exists(&self) -> Result<bool, StoreError> {
        self.txn.exists()
    }

    fn revision(&self) -> Revision {
        self.txn.revision()
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        self.txn.find(id)
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        self.txn.tasks()
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        self.txn.problems()
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.txn.leases()
    }
}

impl Txn for BadTxn<'_> {
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError> {
        self.txn.new_ids(count)
    }

    fn put(&mut self, task: Task) -> Result<(), StoreError> {
        self.txn.put(task)
    }

    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        self.txn.put_image(id, image)
    }

    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.txn.remove(id)
    }

    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.txn.note_absent(id)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.txn.clear()
    }

    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError> {
        self.txn.grant(lease)
    }

    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.txn.set_lease(lease)
    }

    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError> {
        self.txn.end_lease(task)
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError> {
        if takes_one(&self.line.lost_before) {
            return Err(self.line.breaks());
        }
        let event = self.txn.commit(signature)?;
        if takes_one(&self.line.lost_after) { Err(self.line.breaks()) } else { Ok(event) }
    }
}

fn behind_a_bad_line(tasks: &str) -> (Yard, Arc<BadLine>) {
    let store = MemoryStore::new(Rules::Strict);
    let list = ListId::new("L").unwrap();
    list_builder::fill(&store, &list, tasks);
    let line = Arc::new(BadLine::new(store));
    let actor = AgentName::new("ana").unwrap();
    (Yard::new(Arc::clone(&line) as Arc<dyn Store>, list, actor), line)
}

fn revision(yard: &Yard) -> u64 {
    yard.store().read(yard.list_id()).unwrap().revision().0
}

#[test]
fn a_change_that_happened_is_not_made_again() {
    let (yard, line) = behind_a_bad_line("1 pending; 2 pending; 3 pending");
    line.lost_after.store(1, Ordering::SeqCst);
    let Outcome::Done(claimed) = yard.claim_next(&Claim::default()).unwrap() else { panic!("nothing was had") };
    assert_eq!((claimed.task.id, claimed.revision.unwrap().0, revision(&yard)), (id(1), 2, 2));
    assert_eq!(task(&yard, 2).status, Status::Pending, "the second try took a second task");
    line.lost_after.store(1, Ordering::SeqCst);
    let created = done(yard.create(NewTask { subject: "four".into(), ..NewTask::default() }));
    assert_eq!((created.task.id, revision(&yard)), (id(4), 3));
}

#[test]
fn a_change_that_did_not_happen_is_made() {
    let (yard, line) = behind_a_bad_line("1 pending");
    line.lost_before.store(2, Ordering::SeqCst);
    line.cut_then.store(3, Ordering::SeqCst);
    done(yard.done(&id(1)));
    assert_eq!((task(&yard, 1).status, revision(&yard)), (Status::Completed, 2));
}

#[test]
fn a_writer_that_cannot_find_out_says_so() {
    let (yard, line) = behind_a_bad_line("1 pending");
    line.lost_after.store(1, Ordering::SeqCst);
    line.cut_then.store(u32::MAX, Ordering::SeqCst);
    let failed = yard.done(&id(1)).unwrap_err();
    assert!(matches!(failed, Error::Store(StoreError::Unavailable { .. })), "{failed}");
    assert_eq!(task(&yard, 1).status, Status::Completed);
}
