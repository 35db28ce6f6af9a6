//! What happens between the moment a task is looked at and the moment it is changed.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::json;
use taskyard::Outcome;
use taskyard::core::{AgentName, Entry, Lease, ListId, Moment, Op, Rules, Status, Task};
use taskyard::operations::Claim;
use taskyard::store::{
    Capabilities, HistoryQuery, ListInfo, ListWatch, MemoryStore, Moved, Snapshot, Store, StoreError, Txn, TxnPair,
};
use taskyard_testkit::signature;

use crate::hooks::hook_site::{HookSite, feedback, id, status};

type Meanwhile = Box<dyn FnOnce(&MemoryStore, &ListId) + Send>;

/// A memory store in which something happens just before the next transaction begins.
struct Interrupted {
    store: MemoryStore,
    meanwhile: Mutex<Option<Meanwhile>>,
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Interrupted")
    }
}

impl Store for Interrupted {
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
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile(&self.store, list);
        }
        self.store.write(list)
    }

    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError> {
        self.store.try_write(list)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        self.store.capabilities()
    }

    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError> {
        self.store.renew(list, leases)
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
}

#[test]
fn task_reopened_after_judging_is_judged_again() {
    let site = HookSite::new().hooks("TaskCompleted", &["echo asked >> log; exit 2"]);
    let store = MemoryStore::new(site.rules);
    let plain = site.yard("");
    taskyard_testkit::list_builder::fill(&store, plain.list_id(), "1 completed");
    let reopen: Meanwhile = Box::new(|store, list| {
        let mut txn = store.write(list).unwrap();
        let mut task = txn.find(&id(1)).unwrap().task().unwrap();
        task.status = Status::Pending;
        txn.put(task).unwrap();
        txn.commit(&signature(Op::Reopen)).unwrap();
    });
    let store = Arc::new(Interrupted { store, meanwhile: Mutex::new(Some(reopen)) });
    let hooks = taskyard::hooks::Hooks::new(site.setup(), site.cancel.clone());
    let yard = taskyard::Yard::new(store, plain.list_id().clone(), plain.actor().clone()).with_hooks(Arc::new(hooks));
    feedback(yard.done(&id(1)));
    assert_eq!(site.written("log"), "asked\n");
    assert_eq!(status(&yard, 1), Status::Pending);
}

#[test]
fn part_added_before_lock_keeps_parent_from_being_claimed() {
    let store = MemoryStore::new(Rules::Strict);
    let list = ListId::new("L").unwrap();
    taskyard_testkit::list_builder::fill(&store, &list, r#"1 pending {"priority":"high"}; 2 pending"#);
    let make_part: Meanwhile = Box::new(|store, list| {
        let mut txn = store.write(list).unwrap();
        let metadata = json!({"parent": "1"}).as_object().cloned();
        txn.put_new(Task { metadata, ..Task::new(id(3), "a part") }).unwrap();
        txn.commit(&signature(Op::Create)).unwrap();
    });
    let store = Arc::new(Interrupted { store, meanwhile: Mutex::new(Some(make_part)) });
    let yard = taskyard::Yard::new(store, list, AgentName::new("ana").unwrap());
    let Outcome::Done(claimed) = yard.claim_next(&Claim::default()).unwrap() else { panic!("nothing was ready") };
    assert_eq!(claimed.task.id, id(2));
}
