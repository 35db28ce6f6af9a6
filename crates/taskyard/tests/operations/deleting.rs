use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Op, Rules};
use taskyard::store::HistoryQuery;

use crate::{CLIENT, done, elsewhere, find, id, ids, refused, task, yard, yard_in};

#[test]
fn a_deleted_task_leaves_no_edge_behind() {
    for rules in [Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending <- 1; 3 pending <- 2; 4 pending");
        let deleted = done(yard.delete(&ids(&[2])));
        assert_eq!((deleted.tasks.len(), deleted.tasks[0].blocks.clone(), deleted.revision.0), (1, ids(&[3]), 2));
        assert_eq!((task(&yard, 1).blocks, task(&yard, 3).blocked_by), (ids(&[]), ids(&[])));
        assert_eq!(find(&yard, 2), None);
        let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
        assert_eq!(yard.history(&newest).unwrap().len(), 3);
    }
}

#[test]
fn several_go_in_one_revision_or_none_goes() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    assert_eq!(refused(yard.delete(&ids(&[1, 9]))), Refusal::NoSuchTask { task: id(9) });
    assert!(find(&yard, 1).is_some());
    assert_eq!(done(yard.delete(&ids(&[1, 2, 1]))).tasks.len(), 2);
    assert_eq!(task(&yard, 3).blocked_by, ids(&[]));
}

#[test]
fn an_edge_that_only_the_other_end_knows_goes_too() {
    let yard = yard("1 pending; 2 pending");
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let mut two = txn.find(&id(2)).unwrap().task().unwrap();
        two.blocked_by = ids(&[1]);
        txn.put(two).unwrap();
    });
    done(yard.delete(&ids(&[1])));
    assert_eq!(task(&yard, 2).blocked_by, ids(&[]));
}

#[test]
fn clear_empties_the_list_in_one_revision() {
    let yard = yard("1 pending; 2 pending <- 1");
    let cleared = done(yard.clear());
    assert_eq!((cleared.tasks.len(), cleared.revision.map(|revision| revision.0)), (2, Some(2)));
    let again = done(yard.clear());
    assert_eq!((again.tasks.len(), again.revision), (0, None));
}

#[test]
fn nothing_is_made_to_delete_or_clear_it() {
    let yard = yard("");
    assert_eq!(refused(yard.delete(&ids(&[1]))), Refusal::NoSuchTask { task: id(1) });
    assert_eq!(done(yard.clear()).revision, None);
    assert!(yard.lists().unwrap().is_empty());
}
