//! Changing lists: all of it or nothing.

use std::sync::mpsc::channel;
use std::thread;

use taskyard::core::dialect::native::LARGEST;
use taskyard::core::{Op, Rules, Task};
use taskyard::store::{HistoryQuery, Lookup, StoreError};

use super::samples::{CLIENT, Open, id, list, next_is, subjects, task};
use crate::{PATIENCE, commit, images, list_builder, signature};

/// Dropped without a commit, nothing has happened: no task, no number, no entry, no list.
pub fn a_transaction_that_is_dropped_has_done_nothing(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending <- 1");
        let before = images(&*opened.store.read(&list()).unwrap());
        let mut txn = opened.store.write(&list()).unwrap();
        txn.put(task(7, "seven")).unwrap();
        txn.put(task(1, "changed")).unwrap();
        txn.remove(&id(2)).unwrap();
        txn.clear().unwrap();
        drop(txn);
        assert_eq!(images(&*opened.store.read(&list()).unwrap()), before);
        assert_eq!(opened.store.history(&list(), &HistoryQuery::default()).unwrap().len(), 2);
        next_is(&*opened.store, 3);
    }
}

/// A transaction reads its own changes.
pub fn reads_in_a_transaction_see_what_was_staged(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending; 3 pending");
    let mut txn = opened.store.write(&list()).unwrap();
    assert!(txn.exists().unwrap());
    txn.put(task(4, "four")).unwrap();
    txn.put(task(1, "one")).unwrap();
    txn.remove(&id(2)).unwrap();
    assert_eq!(txn.find(&id(1)).unwrap().task(), Some(task(1, "one")));
    assert_eq!(txn.find(&id(2)).unwrap(), Lookup::Missing);
    let staged: Vec<String> = txn.tasks().unwrap().into_iter().map(|task| task.subject).collect();
    assert_eq!(staged, ["one", "task 3", "four"]);
    txn.put(task(2, "two again")).unwrap();
    assert_eq!(txn.find(&id(2)).unwrap().task(), Some(task(2, "two again")));
    txn.clear().unwrap();
    assert_eq!(txn.tasks().unwrap(), []);
    txn.put(task(9, "nine")).unwrap();
    txn.commit(&signature(Op::Update)).unwrap();
    assert_eq!(subjects(&*opened.store), ["nine"]);
}

/// With nothing staged there is no revision and no entry.
pub fn a_commit_with_nothing_staged_is_no_commit(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    let before = opened.store.read(&list()).unwrap().revision();
    assert_eq!(commit(&*opened.store, &list(), |_| {}), None);
    assert_eq!(opened.store.read(&list()).unwrap().revision(), before);
    assert_eq!(opened.store.history(&list(), &HistoryQuery::default()).unwrap().len(), 1);
}

/// One commit is one revision, whatever it does.
pub fn every_change_of_a_commit_has_the_same_revision(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending");
    let event = commit(&*opened.store, &list(), |txn| {
        txn.put(task(1, "changed")).unwrap();
        txn.remove(&id(2)).unwrap();
        txn.put(task(3, "new")).unwrap();
    })
    .unwrap();
    let mut changed: Vec<&str> = event.entries.iter().map(|entry| entry.task.as_str()).collect();
    changed.sort_unstable();
    assert_eq!(changed, ["1", "2", "3"]);
    assert!(event.entries.iter().all(|entry| entry.revision == event.revision));
    assert_eq!(opened.store.read(&list()).unwrap().revision(), event.revision);
}

/// Revisions are counted without gaps.
pub fn each_commit_has_the_next_revision(open: &Open) {
    let opened = open(Rules::Strict);
    for number in 1..=5 {
        let event = commit(&*opened.store, &list(), |txn| txn.put(task(number, "x")).unwrap()).unwrap();
        assert_eq!(event.revision.0, number);
    }
}

/// There is one transaction on a list at a time.
pub fn a_writer_waits_for_the_transaction_before_it(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    let mut first = opened.store.write(&list()).unwrap();
    let (send, receive) = channel();
    let second = opened.clone();
    let waiting = thread::spawn(move || {
        send.send("waiting").unwrap();
        let txn = second.store.write(&list()).unwrap();
        let seen = txn.find(&id(1)).unwrap().task().unwrap().subject;
        drop(txn);
        send.send("in").unwrap();
        seen
    });
    assert_eq!(receive.recv_timeout(PATIENCE), Ok("waiting"));
    first.put(task(1, "changed")).unwrap();
    assert!(receive.try_recv().is_err(), "a second transaction was opened beside the first");
    first.commit(&signature(Op::Update)).unwrap();
    assert_eq!(receive.recv_timeout(PATIENCE), Ok("in"));
    assert_eq!(waiting.join().unwrap(), "changed");
}

/// A task larger than we write is refused, and with it the whole commit.
pub fn a_task_beyond_the_limit_is_refused_and_nothing_happens(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    let huge = Task { description: "x".repeat(usize::try_from(LARGEST).unwrap()), ..task(2, "huge") };
    let mut txn = opened.store.write(&list()).unwrap();
    txn.put(task(1, "changed")).unwrap();
    let refused = match txn.put(huge) {
        Err(error) => error,
        Ok(()) => txn.commit(&signature(Op::Update)).unwrap_err(),
    };
    assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
    assert_eq!(subjects(&*opened.store), ["task 1"]);
}

/// Removing a task twice, or one that never was, is no change.
pub fn removing_what_is_not_there_is_no_change(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    assert_eq!(commit(&*opened.store, &list(), |txn| txn.remove(&id(9)).unwrap()), None);
    let event = commit(&*opened.store, &list(), |txn| {
        txn.remove(&id(1)).unwrap();
        txn.remove(&id(1)).unwrap();
    });
    assert_eq!(event.unwrap().entries.len(), 1);
}

/// An emptied list holds no task, and each has its entry.
pub fn clear_removes_every_task(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending <- 1; abc pending");
        let event = commit(&*opened.store, &list(), |txn| txn.clear().unwrap()).unwrap();
        assert_eq!(event.entries.len(), 3);
        assert!(event.entries.iter().all(|entry| entry.before.is_some() && entry.after.is_none()));
        assert_eq!(opened.store.read(&list()).unwrap().tasks().unwrap(), []);
    }
}

/// A list without tasks is still a list.
pub fn a_list_emptied_still_exists(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    commit(&*opened.store, &list(), |txn| txn.clear().unwrap());
    assert!(opened.store.read(&list()).unwrap().exists().unwrap());
    assert_eq!(opened.store.lists().unwrap()[0].counts, [0, 0, 0]);
}
