//! Numbers, and that none is used twice.

use taskyard::core::{Image, Op, Rules, Task, TaskId};
use taskyard::store::StoreError;

use super::samples::{CLIENT, Open, id, list, next_is, task};
use crate::{commit, images, list_builder, signature};

/// A removed task leaves its number behind, in both rules.
pub fn the_number_of_a_removed_task_is_not_given_out_again(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        next_is(&*opened.store, 1);
        list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending; 3 pending");
        commit(&*opened.store, &list(), |txn| txn.remove(&id(3)).unwrap());
        next_is(&*opened.store, 4);
        commit(&*opened.store, &list(), |txn| txn.remove(&id(1)).unwrap());
        next_is(&*opened.store, 4);
    }
}

/// An emptied list continues its numbering.
pub fn clear_keeps_the_high_water_mark(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "1 pending; 7 pending");
        commit(&*opened.store, &list(), |txn| txn.clear().unwrap());
        next_is(&*opened.store, 8);
    }
}

/// `12x` counts as 12, as the client reads it.
pub fn a_name_that_begins_with_a_number_counts_as_that_number(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "3 pending; 12x pending; abc pending");
        next_is(&*opened.store, 13);
    }
}

/// What the journal ever saw is known, also when the task is long gone.
pub fn the_journal_remembers_every_number(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 30 pending");
    commit(&*opened.store, &list(), |txn| txn.remove(&id(30)).unwrap());
    commit(&*opened.store, &list(), |txn| txn.remove(&id(1)).unwrap());
    next_is(&*opened.store, 31);
}

/// Two tasks made in one transaction get two numbers.
pub fn a_number_staged_counts_before_the_commit(open: &Open) {
    let opened = open(Rules::Strict);
    commit(&*opened.store, &list(), |txn| {
        let mut given = Vec::new();
        for _ in 0..3 {
            let id = txn.new_id().unwrap();
            assert!(!given.contains(&id));
            given.push(id.clone());
            txn.put(Task { id, ..task(0, "x") }).unwrap();
        }
        let more = txn.new_ids(5).unwrap();
        assert!(more.len() == 5 && more.iter().all(|id| !given.contains(id)));
    });
    next_is(&*opened.store, 4);
}

/// A number that cannot be counted on from is left out before the highest number is looked for, in the list and in the journal.
pub fn a_number_too_large_to_count_on_from_does_not_count(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "3 pending; 1794754403000000000 pending; 9007199254740991 pending");
        next_is(&*opened.store, 4);
        commit(&*opened.store, &list(), |txn| {
            txn.remove(&id(1_794_754_403_000_000_000)).unwrap();
            txn.remove(&id(3)).unwrap();
        });
        next_is(&*opened.store, 4);
        assert!(opened.store.read(&list()).unwrap().find(&id(9_007_199_254_740_991)).unwrap().task().is_some());
    }
}

/// Whatever exists under the name of a new task is not replaced, and nothing is staged.
pub fn a_new_task_never_takes_the_place_of_another(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "3 pending; 007 pending");
        let before = images(&*opened.store.read(&list()).unwrap());
        let mut txn = opened.store.write(&list()).unwrap();
        let image = Image::new(&b"{}"[..]);
        for there in [id(3), TaskId::stored("007")] {
            let new = Task { id: there.clone(), ..task(0, "new") };
            assert!(matches!(txn.put_new(new), Err(StoreError::Taken { task }) if task == there));
            let restored = txn.put_new_image(&there, image.clone());
            assert!(matches!(restored, Err(StoreError::Taken { task }) if task == there));
        }
        assert!(txn.commit(&signature(Op::Create)).unwrap().is_none());
        assert_eq!(images(&*opened.store.read(&list()).unwrap()), before);
        let mut txn = opened.store.write(&list()).unwrap();
        txn.put_new(task(7, "new")).unwrap();
        assert!(matches!(txn.put_new(task(7, "again")), Err(StoreError::Taken { .. })));
        txn.remove(&id(7)).unwrap();
        txn.put_new(task(7, "after all")).unwrap();
        txn.commit(&signature(Op::Create)).unwrap();
        assert!(images(&*opened.store.read(&list()).unwrap())[&id(7)].contains("after all"));
    }
}
