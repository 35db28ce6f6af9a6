use serde_json::json;
use taskyard::core::rules::refusal::ClaimRefusal;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, Status, TaskId};
use taskyard::operations::{Claim, Filter, NewTask, Patch, UndoRange, Update, now_ready};
use taskyard::{Outcome, Yard};

use crate::{CLIENT, done, id, ids, refused, task, yard, yard_in};

/// 1 waits for 6 and has the parts 2, 3 and 4; 3 waits for 2, and 5 is a part of 4.
const TREE: &str = r#"1 pending <- 6; 2 pending {"parent":"1"}; 3 pending {"parent":1} <- 2; 4 pending {"parent":"1"};
    5 pending {"parent":"4"}; 6 pending"#;

fn ready(yard: &Yard) -> Vec<TaskId> {
    yard.ready(None).unwrap().ranked.into_iter().map(|ranked| ranked.task.id).collect()
}

fn next(yard: &Yard, agent: &str) -> Option<TaskId> {
    let yard = yard.acting_as(AgentName::new(agent).unwrap());
    match yard.claim_next(&Claim::default()).unwrap() {
        Outcome::Done(claimed) => Some(claimed.task.id),
        Outcome::Refused(refusal) => {
            assert_eq!(refusal.of_claim().map(ClaimRefusal::as_str), Some("nothing_ready"));
            None
        }
    }
}

#[test]
fn parts_are_blocked_with_their_parent_and_say_why() {
    let yard = yard(TREE);
    assert_eq!(ready(&yard), ids(&[6]));
    let blocked = Refusal::Blocked { task: id(5), by: ids(&[6]), through: Some(id(4)) };
    assert_eq!(blocked.to_string(), "task 5 is blocked by #6, as a part of #4");
    assert_eq!(refused(yard.start(&id(5))), blocked);
    let Outcome::Refused(refusal) = yard.claim(&id(3), &Claim::default()).unwrap() else { panic!("its parent waits") };
    assert_eq!(refusal.of_claim(), Some(&ClaimRefusal::Blocked { by: ids(&[2, 6]), through: Some(id(1)) }));
    let listing = yard.list(&taskyard::operations::Filter { blocked: true, ..Default::default() }).unwrap();
    assert_eq!(listing.tasks.len(), 5);
    assert_eq!(listing.blockers[&id(2)], ids(&[6]));
    assert_eq!(yard.stats().unwrap().ready, 1);
}

#[test]
fn completing_names_ready_parts_and_parent_of_last_part() {
    let yard = yard(TREE);
    assert_eq!(done(yard.done(&id(6))).now_ready, ids(&[2, 5]));
    assert_eq!(done(yard.done(&id(2))).now_ready, ids(&[3]));
    assert_eq!(done(yard.done(&id(5))).now_ready, ids(&[4]));
    assert_eq!(done(yard.cancel(&id(4))).now_ready, []);
    assert_eq!(done(yard.done(&id(3))).now_ready, ids(&[1]));
    assert_eq!(ready(&yard), ids(&[1]));
}

#[test]
fn a_parent_that_waits_for_its_own_parts_holds_none_of_them_up() {
    let yard = yard(r#"1 pending <- 2 3; 2 pending {"parent":"1"}; 3 pending {"parent":"1"}"#);
    assert_eq!(ready(&yard), ids(&[2, 3]));
    assert_eq!(done(yard.done(&id(2))).now_ready, []);
    assert_eq!(done(yard.done(&id(3))).now_ready, ids(&[1]));
}

#[test]
fn a_task_with_open_parts_is_never_given_out() {
    let yard = yard(r#"1 pending {"priority":"high"}; 2 pending {"parent":"1"}; 3 pending {"parent":"2"}"#);
    assert_eq!(next(&yard, "ana"), Some(id(3)));
    assert_eq!(next(&yard, "ben"), None);
    assert_eq!(done(yard.done(&id(3))).now_ready, ids(&[2]));
    assert_eq!(next(&yard, "ben"), Some(id(2)));
}

#[test]
fn parent_claimed_by_id_is_followed_by_its_parts() {
    let yard = yard(r#"1 pending; 2 pending {"parent":"1"}"#);
    assert!(matches!(yard.claim(&id(1), &Claim::default()).unwrap(), Outcome::Done(_)));
    assert_eq!(next(&yard, "ana"), Some(id(2)));
    done(yard.done(&id(2)));
    assert_eq!(next(&yard, "ana"), Some(id(1)));
}

#[test]
fn the_client_knows_no_parts() {
    let yard = yard_in(CLIENT, TREE);
    assert_eq!(ready(&yard), ids(&[2, 6, 4, 5]));
    assert!(matches!(yard.start(&id(5)).unwrap(), Outcome::Done(_)));
    assert_eq!(done(yard.done(&id(6))).now_ready, ids(&[1]));
}

#[test]
fn a_task_with_open_parts_is_not_finished() {
    let yard = yard(r#"1 pending; 2 pending {"parent":"1"}; 3 completed {"parent":"1"}; 4 pending {"parent":"1"}"#);
    let open = Refusal::OpenParts { task: id(1), parts: ids(&[2, 4]) };
    assert_eq!(refused(yard.done(&id(1))), open);
    assert_eq!(refused(yard.cancel(&id(1))), open);
    let completed = Patch { status: Some(Status::Completed), ..Patch::default() };
    assert_eq!(refused(yard.update(&id(1), Update { patch: completed, ..Update::default() })), open);
    assert_eq!(task(&yard, 1).status, Status::Pending);
    assert_eq!(done(yard.overruling().done(&id(1))).task.status, Status::Completed);
}

#[test]
fn tasks_that_are_closed_together_are_judged_together() {
    let line = r#"1 pending; 2 pending {"parent":"1"}; 3 pending {"parent":"1"}; 4 pending <- 1"#;
    let closed = done(yard(line).done_together(&ids(&[1, 3, 2, 1])));
    assert_eq!(closed.iter().map(|updated| updated.task.id.clone()).collect::<Vec<_>>(), ids(&[1, 3, 2]));
    assert_eq!(now_ready(&closed), ids(&[4]));
    assert!(closed.iter().all(|updated| updated.revision == closed[0].revision));
    let yard = yard(line);
    assert_eq!(refused(yard.done_together(&ids(&[1, 3]))), Refusal::OpenParts { task: id(1), parts: ids(&[2]) });
    assert_eq!(task(&yard, 3).status, Status::Pending);
    assert_eq!(refused(yard.done_together(&ids(&[2, 9]))), Refusal::NoSuchTask { task: id(9) });
    assert_eq!(task(&yard, 2).status, Status::Pending);
}

#[test]
fn a_task_can_be_given_up_with_its_parts() {
    let yard =
        yard(r#"1 pending; 2 pending {"parent":"1"}; 3 completed {"parent":"1"}; 4 pending {"parent":"3"}; 5 pending"#);
    let cancelled = done(yard.cancel_with_parts(&ids(&[1])));
    assert_eq!(cancelled.iter().map(|updated| updated.task.id.clone()).collect::<Vec<_>>(), ids(&[1, 2, 4]));
    assert!(cancelled.iter().all(|updated| updated.task.is_cancelled()));
    assert!(!task(&yard, 3).is_cancelled());
    done(yard.undo(UndoRange::Newest));
    assert!((1..=2).all(|number| task(&yard, number).status == Status::Pending));
}

#[test]
fn the_client_completes_a_task_with_open_parts() {
    let yard = yard_in(CLIENT, r#"1 pending; 2 pending {"parent":"1"}"#);
    assert_eq!(done(yard.done(&id(1))).task.status, Status::Completed);
}

fn part_of(parent: u64) -> Update {
    let metadata = json!({ "parent": parent.to_string() }).as_object().cloned();
    Update { patch: Patch { metadata, ..Patch::default() }, ..Update::default() }
}

#[test]
fn nothing_is_a_part_of_itself_of_nothing_or_of_its_own_parts() {
    let yard = yard(r#"1 pending; 2 pending {"parent":"1"}; 3 pending {"parent":"2"}"#);
    assert_eq!(refused(yard.update(&id(1), part_of(1))), Refusal::PartOfItself { task: id(1) });
    assert_eq!(refused(yard.update(&id(1), part_of(9))), Refusal::NoSuchParent { task: id(9) });
    assert_eq!(refused(yard.update(&id(1), part_of(3))), Refusal::Cycle { path: ids(&[1, 3, 2, 1]) });
    let new = |parent: u64| NewTask { metadata: part_of(parent).patch.metadata, ..NewTask::default() };
    assert_eq!(refused(yard.create(new(9))), Refusal::NoSuchParent { task: id(9) });
    assert_eq!(refused(yard.create(new(4))), Refusal::PartOfItself { task: id(4) });
    assert_eq!(done(yard.create(new(3))).task.parent(), Some(id(3)));
}

#[test]
fn circles_through_parts_and_edges_are_refused() {
    let yard = yard(r#"1 pending; 2 pending {"parent":"1"}; 3 pending; 4 pending {"parent":"3"}"#);
    assert_eq!(refused(yard.depend(&id(2), &ids(&[1]))), Refusal::Cycle { path: ids(&[2, 1, 2]) });
    done(yard.depend(&id(2), &ids(&[3])));
    assert_eq!(refused(yard.depend(&id(4), &ids(&[1]))), Refusal::Cycle { path: ids(&[4, 1, 2, 3, 4]) });
    assert_eq!(refused(yard.update(&id(1), part_of(4))), Refusal::Cycle { path: ids(&[4, 1, 2, 3, 4]) });
    let new = NewTask { metadata: part_of(1).patch.metadata, blocked_by: ids(&[1]), ..NewTask::default() };
    assert_eq!(refused(yard.create(new)), Refusal::Cycle { path: ids(&[5, 1, 5]) });
    // A task waits for its parts anyway.
    done(yard.depend(&id(1), &ids(&[2])));
}

#[test]
fn the_client_has_no_opinion_of_parents() {
    let yard = yard_in(CLIENT, r#"1 pending; 2 pending {"parent":"1"}"#);
    for parent in [1, 9, 2] {
        done(yard.update(&id(1), part_of(parent)));
    }
    done(yard.depend(&id(2), &ids(&[1])));
}

#[test]
fn undo_brings_back_no_missing_parent_or_cycle() {
    let yard = yard(r#"1 pending; 2 pending {"parent":"1"}; 3 pending"#);
    let moved = done(yard.update(&id(2), part_of(3))).revision.unwrap();
    done(yard.delete(&ids(&[1])));
    assert_eq!(refused(yard.undo(UndoRange::One(moved))), Refusal::NoSuchParent { task: id(1) });
    let yard = crate::yard(r#"1 pending; 2 pending {"parent":"1"}; 3 pending"#);
    let moved = done(yard.update(&id(2), part_of(3))).revision.unwrap();
    done(yard.update(&id(1), part_of(2)));
    assert_eq!(refused(yard.undo(UndoRange::One(moved))), Refusal::Cycle { path: ids(&[2, 1, 2]) });
}

#[test]
fn deleting_a_parent_lifts_its_parts_and_is_one_undo() {
    let line = r#"1 pending; 2 pending {"parent":"1"}; 3 pending {"parent":"2"}; 4 pending {"parent":2} <- 3;
        5 pending {"parent":"3"}"#;
    let yard = yard(line);
    let deleted = done(yard.delete(&ids(&[2])));
    assert_eq!(deleted.lifted, ids(&[3, 4]));
    assert_eq!([3, 4, 5].map(|number| task(&yard, number).parent()), [Some(id(1)), Some(id(1)), Some(id(3))]);
    assert_eq!(task(&yard, 4).meta("parent"), Some(&json!(1)));
    let undone = done(yard.undo(UndoRange::Newest));
    assert_eq!(undone.revisions[0].revision, deleted.revision);
    assert_eq!([3, 4].map(|number| task(&yard, number).parent()), [Some(id(2)), Some(id(2))]);
    assert_eq!(done(yard.delete(&ids(&[3, 1, 2]))).lifted, ids(&[4, 5]));
    assert_eq!([4, 5].map(|number| task(&yard, number).parent()), [None, None]);
}

#[test]
fn a_parent_can_be_deleted_with_its_parts() {
    let line = r#"1 pending; 2 completed {"parent":"1"}; 3 pending {"parent":"2"}; 4 pending <- 3"#;
    let yard = yard(line);
    let deleted = done(yard.delete_with_parts(&ids(&[1])));
    assert_eq!(deleted.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), ids(&[1, 2, 3]));
    assert_eq!((deleted.lifted, task(&yard, 4).blocked_by), (vec![], vec![]));
    done(yard.undo(UndoRange::Newest));
    assert_eq!((task(&yard, 3).parent(), task(&yard, 4).blocked_by), (Some(id(2)), ids(&[3])));
}

#[test]
fn undoing_parent_creation_lifts_its_later_parts() {
    let yard = yard("1 pending");
    let new = |parent: u64| NewTask { metadata: part_of(parent).patch.metadata, ..NewTask::default() };
    let parent = done(yard.create(new(1)));
    done(yard.create(new(2)));
    done(yard.undo(UndoRange::One(parent.revision)));
    assert_eq!(task(&yard, 3).parent(), Some(id(1)));
}

#[test]
fn the_client_leaves_parts_where_they_are() {
    let yard = yard_in(CLIENT, r#"1 pending; 2 pending {"parent":"1"}"#);
    assert_eq!(done(yard.delete(&ids(&[1]))).lifted, []);
    assert_eq!(task(&yard, 2).parent(), Some(id(1)));
}

#[test]
fn a_listing_tells_how_far_the_parts_are() {
    let line = r#"1 pending; 2 completed {"parent":"1"}; 3 pending {"parent":"1"}; 4 completed {"parent":"1","cancelled":true};
        5 pending {"parent":"1","_internal":true}"#;
    let listing = yard(line).list(&Filter { ready: true, ..Filter::default() }).unwrap();
    assert_eq!(listing.progress[&id(1)].to_string(), "2/3");
    assert_eq!(listing.progress.len(), 1);
    assert!(yard_in(CLIENT, line).list(&Filter::default()).unwrap().progress.is_empty());
}
