//! Changing two lists at once.

use taskyard::core::{ListId, Op, Rules};
use taskyard::store::{HistoryQuery, StoreError};

use super::samples::{Open, id, list, task};
use crate::{Opened, finishes, list_builder, signature};

fn other() -> ListId {
    ListId::new("other").unwrap()
}

fn count(opened: &Opened, list: &ListId) -> usize {
    opened.store.read(list).unwrap().tasks().unwrap().len()
}

/// What leaves one list and comes to the other does both.
pub fn a_pair_commits_on_both_lists(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending");
    let mut pair = opened.store.write_both(&list(), &other()).unwrap();
    pair.source().remove(&id(1)).unwrap();
    pair.target().put(task(1, "moved")).unwrap();
    let [left, came] = pair.commit(&signature(Op::Merge)).unwrap();
    let (left, came) = (left.unwrap(), came.unwrap());
    assert_eq!((&left.list, &came.list), (&list(), &other()));
    assert_eq!((left.revision.0, came.revision.0), (2, 1));
    assert_eq!((count(&opened, &list()), count(&opened, &other())), (1, 1));
    for (list, event) in [(list(), left), (other(), came)] {
        let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
        assert_eq!(opened.store.history(&list, &newest).unwrap(), event.entries);
        assert_eq!(event.entries[0].op, Op::Merge);
    }
}

/// Dropped without a commit, a pair leaves both lists as they were.
pub fn a_pair_that_is_dropped_has_done_nothing(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending");
    list_builder::fill(&*opened.store, &other(), "1 pending");
    let mut pair = opened.store.write_both(&list(), &other()).unwrap();
    pair.source().clear().unwrap();
    pair.target().put(task(5, "moved")).unwrap();
    drop(pair);
    assert_eq!((count(&opened, &list()), count(&opened, &other())), (2, 1));
    assert_eq!(opened.store.history(&other(), &HistoryQuery::default()).unwrap().len(), 1);
}

/// A list on which nothing was staged has no new revision.
pub fn a_pair_may_change_one_list_only(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    list_builder::fill(&*opened.store, &other(), "1 pending");
    let mut pair = opened.store.write_both(&list(), &other()).unwrap();
    pair.target().put(task(2, "new")).unwrap();
    let [left, came] = pair.commit(&signature(Op::Merge)).unwrap();
    assert_eq!((left, came.unwrap().revision.0), (None, 2));
}

/// Each half of a pair is a transaction like any other.
pub fn a_pair_reads_what_it_staged(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    let mut pair = opened.store.write_both(&list(), &other()).unwrap();
    pair.target().put(task(1, "moved")).unwrap();
    pair.source().remove(&id(1)).unwrap();
    assert_eq!(pair.target().tasks().unwrap(), [task(1, "moved")]);
    assert_eq!(pair.source().tasks().unwrap(), []);
}

/// Moves there and moves back at the same time all come to an end.
pub fn pairs_in_opposite_directions_do_not_wait_for_each_other(open: &Open) {
    let opened = open(Rules::Strict);
    let moves = |from: ListId, into: ListId, number: u64| {
        let opened = opened.clone();
        std::thread::spawn(move || {
            for round in 0..20 {
                loop {
                    let mut pair = opened.store.write_both(&from, &into).unwrap();
                    pair.source().put(task(number, &format!("{round}"))).unwrap();
                    pair.target().put(task(number, &format!("{round}"))).unwrap();
                    match pair.commit(&signature(Op::Merge)) {
                        Ok(_) => break,
                        Err(StoreError::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        })
    };
    let (there, back) = (moves(list(), other(), 1), moves(other(), list(), 2));
    finishes(move || {
        there.join().unwrap();
        back.join().unwrap();
    });
    assert_eq!((count(&opened, &list()), count(&opened, &other())), (2, 2));
}

/// A list cannot be both ends of a pair; it is an error, not a wait without end.
pub fn one_list_is_no_pair(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    assert!(finishes(move || opened.store.write_both(&list(), &list()).is_err()));
}
