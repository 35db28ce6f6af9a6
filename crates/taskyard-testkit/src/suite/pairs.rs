//! Changing two lists at once.

use taskyard::core::{Entry, Event, ListId, Op, Rules};
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

/// Gives a list another name, task by task.
fn rename(opened: &Opened, from: &ListId, into: &ListId) -> [Event; 2] {
    let mut pair = opened.store.write_both(from, into).unwrap();
    for task in pair.source().tasks().unwrap() {
        pair.source().remove(&task.id).unwrap();
        pair.target().put_new(task).unwrap();
    }
    pair.commit(&signature(Op::Rename)).unwrap().map(Option::unwrap)
}

/// Returns the journal of a list, but for the user of the database that wrote an entry, which a copy does not tell.
fn journal(opened: &Opened, list: &ListId) -> Vec<Entry> {
    let mut entries = opened.store.history(list, &HistoryQuery::default()).unwrap();
    entries.iter_mut().for_each(|entry| entry.db_user = None);
    entries
}

/// The history of a renamed list comes before the commit that renames it, also if the list gets its former name back.
pub fn a_renamed_list_brings_its_history(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending");
    remove(&opened, &list(), 2);
    let before = journal(&opened, &list());
    let [left, came] = rename(&opened, &list(), &other());
    assert_eq!((left.revision.0, came.revision.0), (3, 3));
    let under_new_name = journal(&opened, &other());
    let (earlier, newest) = under_new_name.split_at(before.len());
    assert_eq!((earlier, newest.len(), newest[0].op), (&before[..], 1, Op::Rename));
    assert_eq!(count(&opened, &other()), 1);
    // What the list was renamed to goes on, and comes back with what it did meanwhile.
    let mut txn = opened.store.write(&other()).unwrap();
    txn.put_new(task(3, "new")).unwrap();
    txn.commit(&signature(Op::Create)).unwrap();
    let gone_on = journal(&opened, &other()).pop().unwrap();
    let [left, came] = rename(&opened, &other(), &list());
    assert_eq!((left.revision.0, came.revision.0), (5, 5));
    let again = journal(&opened, &list());
    assert_eq!(again[..before.len()], before[..]);
    assert_eq!(again[before.len() + 1], gone_on);
    assert_eq!((count(&opened, &list()), count(&opened, &other())), (2, 0));
}

fn remove(opened: &Opened, list: &ListId, number: u64) {
    let mut txn = opened.store.write(list).unwrap();
    txn.remove(&id(number)).unwrap();
    txn.commit(&signature(Op::Delete)).unwrap();
}

/// A list cannot be both ends of a pair; it is an error, not a wait without end.
pub fn one_list_is_no_pair(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    assert!(finishes(move || opened.store.write_both(&list(), &list()).is_err()));
}
