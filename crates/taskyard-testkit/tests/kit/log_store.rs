//! The contract on a store outside of the `taskyard` crate, which is built on the kit.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use taskyard::core::{ListId, Op, Rules, Task, TaskId};
use taskyard::store::{HistoryQuery, Store};
use taskyard_testkit::{LogStore, Opened, commit, images, list_builder, signature};

taskyard_testkit::store_suite!(|rules| {
    let directory = tempfile::tempdir().unwrap();
    Opened::keeping(Arc::new(LogStore::open(directory.path(), rules)), directory)
});

fn list() -> ListId {
    ListId::new("L").unwrap()
}

fn open(directory: &Path) -> LogStore {
    LogStore::open(directory, Rules::Strict)
}

#[test]
fn another_process_finds_everything_that_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (open(directory.path()), open(directory.path()));
    list_builder::fill(&one, &list(), "1 pending; 2 pending <- 1");
    assert_eq!(images(&*two.read(&list()).unwrap()), images(&*one.read(&list()).unwrap()));
    commit(&two, &list(), |txn| txn.remove(&TaskId::number(2)).unwrap());
    assert_eq!(one.write(&list()).unwrap().new_id().unwrap(), TaskId::number(3));
    let everything = |store: &dyn Store| store.history(&list(), &HistoryQuery::default()).unwrap();
    assert_eq!(everything(&one), everything(&open(directory.path())));
}

#[test]
fn what_a_dead_writer_did_not_finish_never_happened() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    list_builder::fill(&store, &list(), "1 pending");
    let log = directory.path().join("log");
    let whole = std::fs::read(&log).unwrap();
    OpenOptions::new().append(true).open(&log).unwrap().write_all(&whole[..whole.len() / 2]).unwrap();
    assert_eq!(store.history(&list(), &HistoryQuery::default()).unwrap().len(), 1);
    let mut txn = open(directory.path()).write(&list()).map(|mut txn| {
        txn.put(Task::new(TaskId::number(2), "next")).unwrap();
        txn.commit(&signature(Op::Create)).unwrap().unwrap()
    });
    assert_eq!(txn.as_mut().unwrap().revision.0, 2);
    assert_eq!(store.read(&list()).unwrap().tasks().unwrap().len(), 2);
    assert_eq!(std::fs::read(&log).unwrap()[..whole.len()], whole, "the log is only ever added to");
}
