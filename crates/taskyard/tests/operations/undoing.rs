use taskyard::Yard;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Image, Op, Revision, Rules};
use taskyard::operations::{NewTask, UndoRange};
use taskyard::store::HistoryQuery;
use taskyard_testkit::images;

use crate::{CLIENT, done, elsewhere, find, id, ids, refused, task, yard, yard_in};

fn bytes(yard: &Yard) -> std::collections::BTreeMap<taskyard::core::TaskId, String> {
    images(&*yard.store().read(yard.list_id()).unwrap())
}

#[test]
fn the_newest_change_is_taken_back_to_the_letter() {
    for rules in [Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending <- 1; 3 pending <- 2");
        let before = bytes(&yard);
        done(yard.delete(&ids(&[2])));
        let undone = done(yard.undo(UndoRange::Newest));
        assert_eq!((undone.revisions.as_slice(), undone.revision), (&[Revision(2)][..], Revision(3)));
        assert_eq!(undone.tasks.len(), 3);
        assert_eq!(bytes(&yard), before);
    }
}

#[test]
fn undo_goes_back_further_each_time_and_ends() {
    let yard = yard("");
    for subject in ["one", "two"] {
        done(yard.create(NewTask { subject: subject.into(), ..NewTask::default() }));
    }
    assert_eq!(done(yard.undo(UndoRange::Newest)).revisions, [Revision(2)]);
    assert_eq!(done(yard.undo(UndoRange::Newest)).revisions, [Revision(1)]);
    assert_eq!(refused(yard.undo(UndoRange::Newest)), Refusal::NothingToUndo);
}

#[test]
fn the_newest_is_found_behind_many_undone_ones() {
    let yard = yard("1 pending");
    for round in 0..40 {
        done(yard.create(NewTask { subject: format!("{round}"), ..NewTask::default() }));
        done(yard.undo(UndoRange::Newest));
    }
    assert_eq!(done(yard.undo(UndoRange::Newest)).revisions, [Revision(1)]);
}

#[test]
fn an_undo_can_be_taken_back_by_its_revision() {
    let yard = yard("1 pending");
    done(yard.start(&id(1)));
    let after = bytes(&yard);
    done(yard.undo(UndoRange::Newest));
    done(yard.undo(UndoRange::One(Revision(3))));
    assert_eq!(bytes(&yard), after);
    let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
    let entry = yard.history(&newest).unwrap().remove(0);
    assert_eq!((entry.op, entry.undoes), (Op::Undo, vec![Revision(3)]));
    assert_eq!(done(yard.undo(UndoRange::Newest)).revisions, [Revision(2)]);
}

#[test]
fn a_range_is_taken_back_in_one_revision() {
    let yard = yard("1 pending; 2 pending");
    let before = bytes(&yard);
    done(yard.start(&id(1)));
    done(yard.depend(&id(2), &ids(&[1])));
    done(yard.done(&id(1)));
    let undone = done(yard.undo(UndoRange::Range(Revision(2), Revision(4))));
    assert_eq!(undone.revisions, [4, 3, 2].map(Revision));
    assert_eq!(undone.revision, Revision(5));
    assert_eq!(bytes(&yard), before);
}

#[test]
fn a_range_that_cancels_itself_out_is_nothing_to_undo() {
    let yard = yard("1 pending");
    done(yard.start(&id(1)));
    done(yard.undo(UndoRange::Newest));
    assert_eq!(refused(yard.undo(UndoRange::Range(Revision(2), Revision(3)))), Refusal::NothingToUndo);
}

#[test]
fn a_task_that_changed_since_stands_in_the_way() {
    let yard = yard("1 pending");
    done(yard.start(&id(1)));
    done(yard.done(&id(1)));
    let expected = Refusal::ChangedSince { revision: Revision(2), task: id(1), changed_in: Some(Revision(3)) };
    assert_eq!(refused(yard.undo(UndoRange::One(Revision(2)))), expected);
}

#[test]
fn a_revision_that_is_not_there_is_refused_and_no_list_is_made() {
    let empty = yard("");
    assert_eq!(refused(empty.undo(UndoRange::Newest)), Refusal::NothingToUndo);
    assert!(empty.lists().unwrap().is_empty());
    let yard = yard("1 pending");
    assert_eq!(refused(yard.undo(UndoRange::One(Revision(7)))), Refusal::NoSuchRevision { revision: Revision(7) });
    let beyond = UndoRange::Range(Revision(1), Revision(2));
    assert_eq!(refused(yard.undo(beyond)), Refusal::NoSuchRevision { revision: Revision(2) });
}

#[test]
fn an_edge_that_would_now_close_a_circle_is_not_brought_back() {
    let yard = yard("1 pending <- 2; 2 pending <- 3; 3 pending; 4 pending <- 1");
    // 1 waits for 2, 2 for 3, and 4 for 1. Without the edge from 1 to 2, 3 may wait for 4.
    done(yard.undepend(&id(1), &ids(&[2])));
    done(yard.depend(&id(3), &ids(&[4])));
    let refusal = refused(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!(refusal, Refusal::Cycle { path: ids(&[1, 2, 3, 4, 1]) });
    assert_eq!(task(&yard, 1).blocked_by, ids(&[]));
}

#[test]
fn a_task_that_comes_back_has_no_edge_to_one_that_is_gone() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(2)).unwrap());
    done(yard.delete(&ids(&[1])));
    done(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!((task(&yard, 2).blocked_by, task(&yard, 2).blocks), (ids(&[]), ids(&[3])));
    assert_eq!(task(&yard, 3).blocked_by, ids(&[2]));
}

#[test]
fn a_task_that_comes_back_is_known_again_to_those_it_knows() {
    let yard = yard("1 pending; 2 pending <- 1");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(2)).unwrap());
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let mut one = txn.find(&id(1)).unwrap().task().unwrap();
        one.blocks.clear();
        txn.put(one).unwrap();
    });
    done(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!(task(&yard, 1).blocks, ids(&[2]));
}

#[test]
fn a_task_that_goes_leaves_no_edge_behind() {
    let yard = yard("1 pending");
    done(yard.create(NewTask::default()));
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let mut one = txn.find(&id(1)).unwrap().task().unwrap();
        one.blocked_by = ids(&[2]);
        txn.put(one).unwrap();
    });
    done(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!((find(&yard, 2), task(&yard, 1).blocked_by), (None, ids(&[])));
}

#[test]
fn what_cannot_be_read_now_is_not_overwritten() {
    let yard = yard("1 pending");
    elsewhere(&yard, Op::ChangedElsewhere, |txn| txn.put_image(&id(1), Image::new(b"rubbish".as_slice())).unwrap());
    assert!(matches!(refused(yard.undo(UndoRange::Newest)), Refusal::Unreadable { .. }));
}
