use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Image, ListId, Op, Revision, Rules, Task};
use taskyard::operations::{Absence, MergeWhich, NewTask, RestoreWhich, UndoRange};
use taskyard_testkit::images;

use crate::{CLIENT, done, elsewhere, id, ids, refused, task, yard, yard_in};

#[test]
fn a_list_that_was_emptied_comes_back_to_the_letter() {
    for (rules, op) in
        [(Rules::Strict, Op::Clear), (Rules::Strict, Op::RemovedElsewhere), (CLIENT, Op::RemovedElsewhere)]
    {
        let yard = yard_in(rules, r#"1 completed (ana); 2 pending {"k":1} <- 1; 3 pending <- 1 2; abc pending"#);
        let before = images(&*yard.store().read(yard.list_id()).unwrap());
        elsewhere(&yard, op, |txn| txn.clear().unwrap());
        let missing = if op == Op::Clear { 0 } else { 4 };
        assert_eq!(yard.restorable().unwrap().len(), missing);
        assert_eq!(yard.restorable_with_deleted().unwrap().len(), 4);
        let restored = done(yard.restore_with_deleted(RestoreWhich::All));
        assert_eq!((restored.tasks.len(), restored.revision), (4, Some(Revision(3))));
        assert!(restored.dropped_edges.is_empty());
        assert_eq!(images(&*yard.store().read(yard.list_id()).unwrap()), before);
        assert!(yard.restorable_with_deleted().unwrap().is_empty());
    }
}

#[test]
fn a_deleted_task_comes_back_with_its_number_and_edges() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    done(yard.delete(&ids(&[2])));
    done(yard.create(NewTask::default()));
    let restorable = yard.restorable_with_deleted().unwrap();
    assert_eq!((restorable[0].task.id.clone(), restorable[0].removed.op), (id(2), Op::Delete));
    let restored = done(yard.restore_with_deleted(RestoreWhich::Some(ids(&[2]))));
    assert_eq!(restored.tasks, [task(&yard, 2)]);
    assert_eq!((task(&yard, 2).blocked_by, task(&yard, 2).blocks), (ids(&[1]), ids(&[3])));
    assert_eq!((task(&yard, 1).blocks, task(&yard, 3).blocked_by), (ids(&[2]), ids(&[2])));
    assert_eq!(done(yard.create(NewTask::default())).task.id, id(5));
}

#[test]
fn edges_to_tasks_that_are_gone_are_dropped_and_told() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    done(yard.clear());
    let restored = done(yard.restore_with_deleted(RestoreWhich::Some(ids(&[2]))));
    assert_eq!(restored.dropped_edges, [(id(2), id(1)), (id(3), id(2))]);
    assert!(task(&yard, 2).blocks.is_empty() && task(&yard, 2).blocked_by.is_empty());
}

#[test]
fn an_edge_that_would_now_close_a_circle_is_dropped_and_told() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    done(yard.delete(&ids(&[2])));
    done(yard.depend(&id(1), &ids(&[3])));
    let restored = done(yard.restore_with_deleted(RestoreWhich::All));
    assert_eq!(restored.dropped_edges, [(id(3), id(2))]);
    assert_eq!((task(&yard, 2).blocked_by, task(&yard, 3).blocked_by), (ids(&[1]), ids(&[])));
}

#[test]
fn what_is_there_or_never_was_cannot_be_restored() {
    let yard = yard("1 pending; 2 pending");
    done(yard.delete(&ids(&[2])));
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[2, 1])))), Refusal::NotRemoved { task: id(1) });
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[9])))), Refusal::NoSuchTask { task: id(9) });
    assert_eq!(yard.restorable_with_deleted().unwrap().len(), 1);
}

#[test]
fn what_stands_in_the_place_of_a_removed_task_is_left_alone() {
    let yard = yard("1 pending; 2 pending");
    done(yard.delete(&ids(&[1, 2])));
    elsewhere(&yard, Op::CreatedElsewhere, |txn| txn.put_image(&id(1), Image::new(b"rubbish".as_slice())).unwrap());
    assert!(matches!(refused(yard.restore(RestoreWhich::Some(ids(&[1])))), Refusal::Unreadable { .. }));
    assert_eq!(done(yard.restore_with_deleted(RestoreWhich::All)).tasks, [task(&yard, 2)]);
}

#[test]
fn with_nothing_to_restore_nothing_happens() {
    let yard = yard("");
    assert_eq!(done(yard.restore(RestoreWhich::All)).revision, None);
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[1])))), Refusal::NoSuchTask { task: id(1) });
    assert!(yard.lists().unwrap().is_empty());
}

#[test]
fn a_task_that_moved_or_was_taken_back_comes_back_only_by_name() {
    let yard = yard("1 pending; 2 pending");
    done(yard.create(NewTask::default()));
    done(yard.undo(UndoRange::Newest));
    done(yard.merge(yard.list_id(), &ListId::new("other").unwrap(), MergeWhich::All));
    assert!(yard.restorable_with_deleted().unwrap().is_empty());
    assert!(done(yard.restore_with_deleted(RestoreWhich::All)).tasks.is_empty());
    let moved = Refusal::NotMissing { task: id(1), absence: Absence::Moved };
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[1, 3])))), moved);
    assert_eq!(done(yard.restore_with_deleted(RestoreWhich::Some(ids(&[1, 3])))).tasks.len(), 2);
}

#[test]
fn what_an_undo_of_a_restore_took_away_is_missing() {
    let yard = yard("1 pending; 2 pending <- 1");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.clear().unwrap());
    done(yard.restore(RestoreWhich::All));
    done(yard.undo(UndoRange::Newest));
    assert_eq!(yard.restorable().unwrap().len(), 2);
    assert_eq!(done(yard.restore(RestoreWhich::All)).tasks.len(), 2);
}

#[test]
fn deleted_tasks_are_restored_only_on_request() {
    let yard = yard("1 pending; 2 pending");
    done(yard.delete(&ids(&[1])));
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(2)).unwrap());
    let meant = Refusal::NotMissing { task: id(1), absence: Absence::Deleted };
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[2, 1])))), meant);
    assert_eq!(done(yard.restore(RestoreWhich::All)).tasks, [task(&yard, 2)]);
    done(yard.restore_with_deleted(RestoreWhich::All));
    done(yard.undo(UndoRange::Newest));
    assert!(yard.restorable().unwrap().is_empty(), "the undo of that restore leaves it deleted");
}

#[test]
fn deleting_a_missing_task_is_on_purpose_until_it_is_undone() {
    let yard = yard("1 pending; 2 pending; 3 pending <- 1");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(1)).unwrap());
    let deleted = done(yard.delete(&ids(&[2, 1, 1])));
    assert_eq!((deleted.tasks.len(), &deleted.missing), (2, &ids(&[1])));
    assert!(task(&yard, 3).blocked_by.is_empty(), "its edges go with it");
    assert!(yard.restorable().unwrap().is_empty());
    assert_eq!(refused(yard.delete(&ids(&[1]))), Refusal::NoSuchTask { task: id(1) });
    done(yard.undo(UndoRange::Newest));
    let missing = yard.restorable().unwrap();
    assert_eq!((missing.len(), missing[0].removed.op), (1, Op::RemovedElsewhere));
    assert_eq!(task(&yard, 3).blocked_by, ids(&[1]));
    assert_eq!(task(&yard, 2).id, id(2));
}

#[test]
fn repeated_deletion_of_missing_task_takes_new_edges() {
    let yard = yard("1 pending; 2 pending");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(1)).unwrap());
    done(yard.delete(&ids(&[1])));
    let undo = done(yard.undo(UndoRange::Newest)).revision;
    done(yard.restore(RestoreWhich::All));
    let new = |subject: &str| NewTask { subject: subject.into(), ..NewTask::default() };
    done(yard.create(NewTask { blocked_by: ids(&[1]), ..new("dependent") }));
    done(yard.create(NewTask { parent: Some(id(1)), ..new("part") }));
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(1)).unwrap());
    assert_eq!(yard.restorable().unwrap().len(), 1);
    done(yard.undo(UndoRange::One(undo)));
    assert!(yard.restorable().unwrap().is_empty(), "it is deleted again");
    assert!(task(&yard, 3).blocked_by.is_empty());
    assert_eq!(task(&yard, 4).parent(), None);
}

#[test]
fn to_the_client_a_missing_task_cannot_be_deleted() {
    let yard = yard_in(CLIENT, "1 pending; 2 pending");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(1)).unwrap());
    assert_eq!(refused(yard.delete(&ids(&[1]))), Refusal::NoSuchTask { task: id(1) });
}

#[test]
fn clearing_lets_what_is_missing_go() {
    let yard = yard("1 pending; 2 pending; 3 pending");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(1)).unwrap());
    let cleared = done(yard.clear());
    assert_eq!((cleared.tasks.len(), cleared.missing.len()), (2, 1));
    assert!(yard.restorable().unwrap().is_empty());
    assert_eq!(done(yard.clear()).revision, None, "a second time there is nothing to do");
    done(yard.undo(UndoRange::Newest));
    assert_eq!(yard.restorable().unwrap().len(), 1);
    assert_eq!(done(yard.restore(RestoreWhich::All)).tasks, [task(&yard, 1)]);
}

#[test]
fn edge_known_only_to_waiting_task_is_restored_on_both() {
    let yard = yard("1 pending; 2 pending; 3 pending");
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        txn.put(Task { blocked_by: ids(&[1]), ..txn.find(&id(3)).unwrap().task().unwrap() }).unwrap();
    });
    done(yard.delete(&ids(&[1])));
    assert!(task(&yard, 3).blocked_by.is_empty());
    done(yard.restore_with_deleted(RestoreWhich::All));
    assert_eq!((task(&yard, 1).blocks, task(&yard, 3).blocked_by), (ids(&[3]), ids(&[1])));
    done(yard.undo(UndoRange::Newest));
    assert!(task(&yard, 3).blocked_by.is_empty(), "it is undone as one");
}

#[test]
fn a_circle_through_parts_and_edges_does_not_come_back() {
    let yard = yard(r#"1 pending; 2 pending {"parent":"1"}; 3 pending <- 2; 4 pending"#);
    done(yard.delete(&ids(&[2, 4])));
    done(yard.depend(&id(1), &ids(&[3])));
    let refusal = refused(yard.restore_with_deleted(RestoreWhich::Some(ids(&[2]))));
    assert!(matches!(refusal, Refusal::Cycle { .. }), "{refusal}");
    assert!(crate::find(&yard, 2).is_none() && task(&yard, 3).blocked_by.is_empty());
    // Others are not kept away by it.
    assert_eq!(done(yard.restore_with_deleted(RestoreWhich::Some(ids(&[4])))).tasks.len(), 1);
    done(yard.undepend(&id(1), &ids(&[3])));
    assert_eq!(done(yard.restore_with_deleted(RestoreWhich::All)).tasks, [task(&yard, 2)]);
    assert_eq!((task(&yard, 2).parent(), task(&yard, 3).blocked_by), (Some(id(1)), ids(&[2])));
}
