use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Image, ListId, Op, Revision, Rules};
use taskyard::operations::{MergeWhich, NewTask, RestoreWhich, UndoRange};
use taskyard_testkit::images;

use crate::{CLIENT, done, elsewhere, id, ids, refused, task, yard, yard_in};

#[test]
fn a_list_that_was_emptied_comes_back_to_the_letter() {
    for (rules, op) in
        [(Rules::Strict, Op::Clear), (Rules::Strict, Op::RemovedElsewhere), (CLIENT, Op::RemovedElsewhere)]
    {
        let yard = yard_in(rules, r#"1 completed ana; 2 pending {"k":1} <- 1; 3 pending <- 1 2; abc pending"#);
        let before = images(&*yard.store().read(yard.list_id()).unwrap());
        elsewhere(&yard, op, |txn| txn.clear().unwrap());
        assert_eq!(yard.restorable().unwrap().len(), 4);
        let restored = done(yard.restore(RestoreWhich::All));
        assert_eq!((restored.tasks.len(), restored.revision), (4, Some(Revision(3))));
        assert!(restored.dropped_edges.is_empty());
        assert_eq!(images(&*yard.store().read(yard.list_id()).unwrap()), before);
        assert!(yard.restorable().unwrap().is_empty());
    }
}

#[test]
fn a_deleted_task_comes_back_with_its_number_and_edges() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    done(yard.delete(&ids(&[2])));
    done(yard.create(NewTask::default()));
    let restorable = yard.restorable().unwrap();
    assert_eq!((restorable[0].task.id.clone(), restorable[0].removed.op), (id(2), Op::Delete));
    let restored = done(yard.restore(RestoreWhich::Some(ids(&[2]))));
    assert_eq!(restored.tasks, [task(&yard, 2)]);
    assert_eq!((task(&yard, 2).blocked_by, task(&yard, 2).blocks), (ids(&[1]), ids(&[3])));
    assert_eq!((task(&yard, 1).blocks, task(&yard, 3).blocked_by), (ids(&[2]), ids(&[2])));
    assert_eq!(done(yard.create(NewTask::default())).task.id, id(5));
}

#[test]
fn edges_to_tasks_that_are_gone_are_dropped_and_told() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    done(yard.clear());
    let restored = done(yard.restore(RestoreWhich::Some(ids(&[2]))));
    assert_eq!(restored.dropped_edges, [(id(2), id(1)), (id(3), id(2))]);
    assert!(task(&yard, 2).blocks.is_empty() && task(&yard, 2).blocked_by.is_empty());
}

#[test]
fn an_edge_that_would_now_close_a_circle_is_dropped_and_told() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    done(yard.delete(&ids(&[2])));
    done(yard.depend(&id(1), &ids(&[3])));
    let restored = done(yard.restore(RestoreWhich::All));
    assert_eq!(restored.dropped_edges, [(id(3), id(2))]);
    assert_eq!((task(&yard, 2).blocked_by, task(&yard, 3).blocked_by), (ids(&[1]), ids(&[])));
}

#[test]
fn what_is_there_or_never_was_cannot_be_restored() {
    let yard = yard("1 pending; 2 pending");
    done(yard.delete(&ids(&[2])));
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[2, 1])))), Refusal::NotRemoved { task: id(1) });
    assert_eq!(refused(yard.restore(RestoreWhich::Some(ids(&[9])))), Refusal::NoSuchTask { task: id(9) });
    assert_eq!(yard.restorable().unwrap().len(), 1);
}

#[test]
fn what_stands_in_the_place_of_a_removed_task_is_left_alone() {
    let yard = yard("1 pending; 2 pending");
    done(yard.delete(&ids(&[1, 2])));
    elsewhere(&yard, Op::CreatedElsewhere, |txn| txn.put_image(&id(1), Image::new(b"rubbish".as_slice())).unwrap());
    assert!(matches!(refused(yard.restore(RestoreWhich::Some(ids(&[1])))), Refusal::Unreadable { .. }));
    assert_eq!(done(yard.restore(RestoreWhich::All)).tasks, [task(&yard, 2)]);
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
    assert!(yard.restorable().unwrap().is_empty());
    assert!(done(yard.restore(RestoreWhich::All)).tasks.is_empty());
    assert_eq!(done(yard.restore(RestoreWhich::Some(ids(&[1, 3])))).tasks.len(), 2);
}
