//! Numbers, and that none is used twice.

use taskyard::core::Rules;
use taskyard::core::rules::numbering::next_id;
use taskyard::{Store, core::TaskId};

use super::samples::{CLIENT, Open, id, list, task};
use crate::{build, commit};

fn next(store: &dyn Store, rules: Rules) -> TaskId {
    next_id(store.write(&list()).unwrap().numbers().unwrap(), rules)
}

/// A removed task leaves its number behind, in both rules.
pub fn the_number_of_a_removed_task_is_not_given_out_again(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        assert_eq!(next(&*opened.store, rules), id(1));
        build::fill(&*opened.store, &list(), "1 pending; 2 pending; 3 pending");
        commit(&*opened.store, &list(), |txn| txn.remove(&id(3)).unwrap());
        assert_eq!(next(&*opened.store, rules), id(4));
        commit(&*opened.store, &list(), |txn| txn.remove(&id(1)).unwrap());
        assert_eq!(next(&*opened.store, rules), id(4));
    }
}

/// An emptied list counts on from where it was.
pub fn clear_keeps_the_high_water_mark(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        build::fill(&*opened.store, &list(), "1 pending; 7 pending");
        commit(&*opened.store, &list(), |txn| txn.clear().unwrap());
        assert_eq!(next(&*opened.store, rules), id(8));
    }
}

/// `12x` counts as 12, as the client reads it.
pub fn a_name_that_begins_with_a_number_counts_as_that_number(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        build::fill(&*opened.store, &list(), "3 pending; 12x pending; abc pending");
        assert_eq!(next(&*opened.store, rules), id(13));
    }
}

/// What the journal ever saw is known, also when the task is long gone.
pub fn the_journal_remembers_every_number(open: &Open) {
    let opened = open(Rules::Strict);
    build::fill(&*opened.store, &list(), "1 pending; 30 pending");
    commit(&*opened.store, &list(), |txn| txn.remove(&id(30)).unwrap());
    let numbers = opened.store.write(&list()).unwrap().numbers().unwrap();
    assert_eq!((numbers.highest_file, numbers.journaled), (1.0, 30.0));
}

/// Two tasks made in one transaction get two numbers.
pub fn a_number_staged_counts_before_the_commit(open: &Open) {
    let opened = open(Rules::Strict);
    commit(&*opened.store, &list(), |txn| {
        for _ in 0..3 {
            let id = next_id(txn.numbers().unwrap(), Rules::Strict);
            txn.put(taskyard::core::Task { id, ..task(0, "x") }).unwrap();
        }
    });
    assert_eq!(next(&*opened.store, Rules::Strict), id(4));
}
