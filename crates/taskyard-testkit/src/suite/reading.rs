//! Looking at lists.

use serde_json::{Value, json};
use taskyard::core::{ListId, Rules, Status, Task, TaskId};
use taskyard::store::Lookup;

use super::samples::{Open, id, list, task};
use crate::{commit, finishes, list_builder};

/// A list that was not made reads as an empty one, and looking at it does not make it.
pub fn a_list_that_does_not_exist_reads_as_empty_and_is_not_made(open: &Open) {
    let opened = open(Rules::Strict);
    let snapshot = opened.store.read(&list()).unwrap();
    assert!(!snapshot.exists().unwrap());
    assert_eq!(snapshot.revision().0, 0);
    assert_eq!(snapshot.tasks().unwrap(), []);
    assert_eq!(snapshot.problems().unwrap(), []);
    assert_eq!(snapshot.find(&id(1)).unwrap(), Lookup::Missing);
    drop(snapshot);
    assert_eq!(opened.store.lists().unwrap(), []);
}

/// What was committed is there, and the list exists.
pub fn a_committed_task_is_found(open: &Open) {
    let opened = open(Rules::Strict);
    let event = commit(&*opened.store, &list(), |txn| txn.put(task(1, "one")).unwrap()).unwrap();
    let snapshot = opened.store.read(&list()).unwrap();
    assert!(snapshot.exists().unwrap());
    assert_eq!(snapshot.revision(), event.revision);
    let Lookup::Found(found, image) = snapshot.find(&id(1)).unwrap() else { panic!("not found") };
    assert_eq!(*found, task(1, "one"));
    assert_eq!(image.task(&id(1)).unwrap(), task(1, "one"));
    assert_eq!(snapshot.find(&id(2)).unwrap(), Lookup::Missing);
}

/// An id with characters that no file name has finds the task of the name the client makes of it.
pub fn a_task_is_found_under_the_name_its_file_would_have(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "a-b pending");
    let snapshot = opened.store.read(&list()).unwrap();
    assert!(matches!(snapshot.find(&TaskId::stored("a/b")).unwrap(), Lookup::Found(..)));
    assert_eq!(snapshot.find(&TaskId::stored("../suite/a-b")).unwrap(), Lookup::Missing);
}

/// Numbers rise; names that are none come after them.
pub fn tasks_come_by_rising_number(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "10 pending; abc pending; 2 pending; 1 pending; 12x pending");
    let tasks = opened.store.read(&list()).unwrap().tasks().unwrap();
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "10", "12x", "abc"]);
}

/// Tasks that wait are found whether the task they wait for knows of them or not, and as they will be after the commit.
pub fn tasks_that_wait_for_a_task_are_found_by_what_they_say(open: &Open) {
    let opened = open(Rules::Strict);
    let waiting =
        |number: u64, on: &[u64]| Task { blocked_by: on.iter().copied().map(id).collect(), ..task(number, "waits") };
    commit(&*opened.store, &list(), |txn| {
        txn.put(Task { blocks: vec![id(2), id(9)], ..waiting(1, &[1]) }).unwrap();
        for task in [waiting(10, &[1]), waiting(3, &[2, 1]), waiting(2, &[]), waiting(4, &[11]), waiting(5, &[1])] {
            txn.put(task).unwrap();
        }
    });
    let numbers = |found: Vec<Task>| found.iter().filter_map(|task| task.id.as_number()).collect::<Vec<_>>();
    let snapshot = opened.store.read(&list()).unwrap();
    assert_eq!(numbers(snapshot.waiting_for(&id(1)).unwrap()), [1, 3, 5, 10]);
    assert_eq!(numbers(snapshot.waiting_for(&id(77)).unwrap()), [0; 0]);
    let mut txn = opened.store.write(&list()).unwrap();
    assert_eq!(numbers(txn.waiting_for(&id(1)).unwrap()), [1, 3, 5, 10]);
    txn.put(waiting(2, &[1])).unwrap();
    txn.put(waiting(3, &[])).unwrap();
    txn.remove(&id(5)).unwrap();
    assert_eq!(numbers(txn.waiting_for(&id(1)).unwrap()), [1, 2, 10]);
}

/// Dependents of a task and all parts of another are found, in ascending order, including staged changes.
pub fn parts_are_found_with_those_who_wait(open: &Open) {
    let opened = open(Rules::Strict);
    let part = |number: u64, parent: Value| Task {
        metadata: json!({ "parent": parent }).as_object().cloned(),
        ..task(number, "part")
    };
    commit(&*opened.store, &list(), |txn| {
        let waits = Task { blocked_by: vec![id(1)], ..task(2, "waits") };
        for task in [task(1, "parent"), waits, task(3, "other"), part(4, json!("1")), part(5, json!("3"))] {
            txn.put(task).unwrap();
        }
    });
    let numbers = |found: Vec<Task>| found.iter().filter_map(|task| task.id.as_number()).collect::<Vec<_>>();
    let snapshot = opened.store.read(&list()).unwrap();
    assert_eq!(numbers(snapshot.waiting_for_or_parts(&id(1)).unwrap()), [2, 4, 5]);
    let mut txn = opened.store.write(&list()).unwrap();
    assert_eq!(numbers(txn.waiting_for_or_parts(&id(1)).unwrap()), [2, 4, 5]);
    txn.put(part(3, json!("1"))).unwrap();
    txn.put(task(5, "alone")).unwrap();
    assert_eq!(numbers(txn.waiting_for_or_parts(&id(9)).unwrap()), [3, 4]);
}

/// Lists are returned by name with their counts; internal tasks are not counted.
pub fn lists_are_told_with_their_counts(open: &Open) {
    let opened = open(Rules::Strict);
    let named = |name: &str| ListId::new(name).unwrap();
    list_builder::fill(&*opened.store, &named("two"), "1 pending; 2 pending; 3 in_progress; 4 completed");
    list_builder::fill(&*opened.store, &named("one"), r#"1 completed; 2 pending {"_internal": true}"#);
    let told = opened.store.lists().unwrap();
    let told: Vec<_> = told.iter().map(|info| (info.list.as_str(), info.counts, info.changed.is_some())).collect();
    assert_eq!(told, [("one", [0, 0, 1], true), ("two", [2, 1, 1], true)]);
}

/// A page of lists is returned by name, starting after another list.
pub fn some_lists_are_told_at_a_time(open: &Open) {
    let opened = open(Rules::Strict);
    for name in ["b", "a", "Z", "a-b", "c"] {
        list_builder::fill(&*opened.store, &ListId::new(name).unwrap(), "1 pending");
    }
    let told = |behind: Option<&str>, most| {
        let behind = behind.map(|name| ListId::new(name).unwrap());
        let lists = opened.store.some_lists(behind.as_ref(), most).unwrap();
        lists.into_iter().map(|info| info.list.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(told(None, 2), ["Z", "a"]);
    assert_eq!(told(Some("a"), 2), ["a-b", "b"]);
    assert_eq!(told(Some("b"), 9), ["c"]);
    assert_eq!(told(Some("c"), 9), [""; 0]);
}

/// A change of one list is none of another.
pub fn lists_do_not_mix(open: &Open) {
    let opened = open(Rules::Strict);
    let other = ListId::new("other").unwrap();
    list_builder::fill(&*opened.store, &list(), "1 pending");
    list_builder::fill(&*opened.store, &other, "1 completed");
    let status = |list| opened.store.read(list).unwrap().find(&id(1)).unwrap().task().unwrap().status;
    assert_eq!((status(&list()), status(&other)), (Status::Pending, Status::Completed));
    assert_eq!(opened.store.history(&other, &Default::default()).unwrap().len(), 1);
}

/// `a b` and `a/b` have one directory.
pub fn two_names_with_one_directory_are_one_list(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &ListId::new("a b").unwrap(), "1 pending");
    assert_eq!(opened.store.read(&ListId::new("a/b").unwrap()).unwrap().tasks().unwrap().len(), 1);
    assert_eq!(opened.store.lists().unwrap().len(), 1);
}

/// While a transaction is open, reading goes on, and does not see it.
pub fn a_reader_does_not_wait_for_a_writer(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    let mut txn = opened.store.write(&list()).unwrap();
    txn.put(task(2, "two")).unwrap();
    let reader = opened.clone();
    let seen = finishes(move || reader.store.read(&list()).unwrap().tasks().unwrap().len());
    assert_eq!(seen, 1);
    drop(txn);
}
