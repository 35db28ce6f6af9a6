//! Many threads on one list.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use taskyard::core::{Rules, Task};

use super::samples::{Open, id, list, next_is, task};
use crate::{Opened, Scale, commit, rules_under_test};

const THREADS: usize = 8;

fn rounds() -> u64 {
    Scale::from_environment(0.1).of(100) as u64
}

fn together(opened: &Opened, work: impl Fn(&Opened) + Sync) {
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| work(opened));
        }
    });
}

/// No two creates get one number.
pub fn eight_threads_get_different_numbers(open: &Open) {
    let opened = open(rules_under_test());
    together(&opened, |opened| {
        for _ in 0..rounds() {
            commit(&*opened.store, &list(), |txn| {
                let id = txn.new_id().unwrap();
                txn.put(Task { id, ..task(0, "x") }).unwrap();
            });
        }
    });
    let tasks = opened.store.read(&list()).unwrap().tasks().unwrap();
    let made = THREADS as u64 * rounds();
    assert_eq!(tasks.iter().map(|task| task.id.clone()).collect::<HashSet<_>>().len() as u64, made);
    next_is(&*opened.store, made + 1);
}

/// What was read in a transaction is still so when it commits.
pub fn eight_threads_lose_no_change(open: &Open) {
    let opened = open(Rules::Strict);
    commit(&*opened.store, &list(), |txn| txn.put(task(1, "counter")).unwrap());
    together(&opened, |opened| {
        for _ in 0..rounds() {
            commit(&*opened.store, &list(), |txn| {
                let mut counter = txn.find(&id(1)).unwrap().task().unwrap();
                let count = counter.meta("count").and_then(serde_json::Value::as_u64).unwrap_or(0);
                counter.metadata = json!({ "count": count + 1 }).as_object().cloned();
                txn.put(counter).unwrap();
            });
        }
    });
    let counter = opened.store.read(&list()).unwrap().find(&id(1)).unwrap().task().unwrap();
    assert_eq!(counter.meta("count").unwrap(), &json!(THREADS as u64 * rounds()));
}

/// Two tasks that always change together are never seen apart.
pub fn readers_see_whole_commits_only(open: &Open) {
    let opened = open(Rules::Strict);
    let write = |opened: &Opened, subject: &str| {
        commit(&*opened.store, &list(), |txn| {
            txn.put(task(1, subject)).unwrap();
            txn.put(task(2, subject)).unwrap();
        });
    };
    write(&opened, "begin");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 1..THREADS {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let tasks = opened.store.read(&list()).unwrap().tasks().unwrap();
                    assert_eq!(tasks.len(), 2);
                    assert_eq!(tasks[0].subject, tasks[1].subject);
                }
            });
        }
        for round in 0..rounds() * 5 {
            write(&opened, &format!("round {round}"));
        }
        done.store(true, Ordering::SeqCst);
    });
}
