//! Tasks to the letter, and what is no task.

use taskyard::core::dialect::native::Unreadable;
use taskyard::core::{Image, Op, Rules, Task};
use taskyard::store::{Lookup, StoreError, Txn};
use taskyard::{Store, store::Snapshot};

use super::samples::{CLIENT, Open, id, list, task};
use crate::{commit, list_builder, signature};

const FOREIGN: &str = "{ \"z\":1.50, \"status\":\"pending\",\"id\":\"4\",\n \"subject\":\"é\", \"description\":\"\",\"blocks\":[],\"blockedBy\":[]}\n";

fn text(list: &dyn Snapshot, number: u64) -> String {
    let Lookup::Found(_, image) = list.find(&id(number)).unwrap() else { panic!("task {number} is not there") };
    String::from_utf8(image.bytes().to_vec()).unwrap()
}

fn plant(store: &dyn Store, number: u64, contents: &str) {
    commit(store, &list(), |txn| txn.put_image(&id(number), Image::new(contents.as_bytes())).unwrap());
}

/// What an undo or a restore brings back is the same file.
pub fn an_image_is_kept_to_the_letter(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        plant(&*opened.store, 4, FOREIGN);
        assert_eq!(text(&*opened.store.read(&list()).unwrap(), 4), FOREIGN);
        let entries = opened.store.history(&list(), &Default::default()).unwrap();
        assert_eq!(entries[0].after.as_ref().unwrap().bytes(), FOREIGN.as_bytes());
    }
}

/// Unknown keys, their order and their numbers survive a change in strict rules.
pub fn strict_rules_keep_what_they_do_not_know(open: &Open) {
    let opened = open(Rules::Strict);
    plant(&*opened.store, 4, FOREIGN);
    commit(&*opened.store, &list(), |txn| {
        let found = txn.find(&id(4)).unwrap().task().unwrap();
        txn.put(Task { owner: Some("ana".into()), ..found }).unwrap();
    });
    let text = text(&*opened.store.read(&list()).unwrap(), 4);
    assert!(
        text.starts_with("{\n  \"z\": 1.50,\n  \"owner\": \"ana\",\n  \"status\": \"pending\",\n  \"id\""),
        "{text}"
    );
}

/// The client writes a new key last, and in its usual place on the next write; unknown keys are dropped.
pub fn in_client_rules_every_put_is_one_write_of_the_client(open: &Open) {
    let opened = open(CLIENT);
    plant(&*opened.store, 4, FOREIGN);
    let write = |txn: &mut dyn Txn, subject: &str| {
        let found = txn.find(&id(4)).unwrap().task().unwrap();
        txn.put(Task { owner: Some("ana".into()), subject: subject.into(), ..found }).unwrap();
    };
    commit(&*opened.store, &list(), |txn| write(txn, "once"));
    let once = text(&*opened.store.read(&list()).unwrap(), 4);
    assert!(once.ends_with("\"blockedBy\": [],\n  \"owner\": \"ana\"\n}"), "{once}");
    assert!(!once.contains("\"z\""), "{once}");
    plant(&*opened.store, 4, FOREIGN);
    commit(&*opened.store, &list(), |txn| {
        write(txn, "once");
        write(txn, "twice");
    });
    let twice = text(&*opened.store.read(&list()).unwrap(), 4);
    assert!(twice.contains("\"owner\": \"ana\",\n  \"status\": \"pending\""), "{twice}");
}

/// An unreadable entry is reported as such, and not as a task.
pub fn what_is_no_task_is_a_problem(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    plant(&*opened.store, 5, "[]");
    let snapshot = opened.store.read(&list()).unwrap();
    assert_eq!(snapshot.tasks().unwrap().len(), 1);
    let problems = snapshot.problems().unwrap();
    assert_eq!(problems.len(), 1);
    assert_eq!((&problems[0].task, &problems[0].why), (&id(5), &Unreadable::NotAnObject { found: "an array" }));
    let Lookup::Unreadable(problem) = snapshot.find(&id(5)).unwrap() else { panic!("it is no task") };
    assert_eq!(problem.why, problems[0].why);
}

/// No commit overwrites or removes something that is no task, and one that tries does nothing at all.
pub fn what_is_no_task_is_never_overwritten(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    plant(&*opened.store, 5, "[]");
    type Attempt = fn(&mut dyn Txn) -> Result<(), StoreError>;
    let attempts: [Attempt; 3] = [
        |txn| txn.put(task(5, "over it")),
        |txn| txn.put_image(&id(5), Image::new(FOREIGN.as_bytes())),
        |txn| txn.remove(&id(5)),
    ];
    for attempt in attempts {
        let mut txn = opened.store.write(&list()).unwrap();
        txn.put(task(1, "changed")).unwrap();
        let refused = match attempt(&mut *txn) {
            Err(error) => error,
            Ok(()) => txn.commit(&signature(Op::Update)).unwrap_err(),
        };
        assert!(matches!(refused, StoreError::NoTask { .. }), "{refused}");
        let snapshot = opened.store.read(&list()).unwrap();
        assert_eq!(snapshot.tasks().unwrap()[0].subject, "task 1");
        assert_eq!(snapshot.problems().unwrap().len(), 1);
    }
}

/// The client's clear removes every file that looks like a task; ours removes tasks.
pub fn clear_leaves_what_is_no_task_except_in_client_rules(open: &Open) {
    for (rules, left) in [(Rules::Strict, 1), (CLIENT, 0)] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "1 pending");
        plant(&*opened.store, 5, "[]");
        commit(&*opened.store, &list(), |txn| txn.clear().unwrap());
        let snapshot = opened.store.read(&list()).unwrap();
        assert_eq!((snapshot.tasks().unwrap().len(), snapshot.problems().unwrap().len()), (0, left));
    }
}
