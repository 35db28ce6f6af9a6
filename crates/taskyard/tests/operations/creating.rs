use serde_json::json;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Op, Priority, Status, Timestamp};
use taskyard::operations::NewTask;
use taskyard::store::HistoryQuery;

use crate::{CLIENT, done, id, ids, refused, task, yard, yard_in};

fn new(subject: &str) -> NewTask {
    NewTask { subject: subject.into(), ..NewTask::default() }
}

#[test]
fn the_first_task_makes_the_list() {
    let yard = yard("");
    let created = done(yard.create(new("First")));
    assert_eq!((created.task.id.as_str(), created.revision.0), ("1", 1));
    assert_eq!(created.task, task(&yard, 1));
    let entry = &yard.history(&HistoryQuery::default()).unwrap()[0];
    assert_eq!((entry.op, entry.actor.as_str()), (Op::Create, "ana"));
}

#[test]
fn every_field_is_kept() {
    let yard = yard("1 pending; 2 pending");
    let created = done(yard.create(NewTask {
        description: "d".into(),
        active_form: Some("Doing".into()),
        owner: Some("bob".into()),
        metadata: json!({ "k": null, "n": [1] }).as_object().cloned(),
        blocked_by: ids(&[1]),
        blocks: ids(&[2]),
        ..new("s")
    }))
    .task;
    assert_eq!((created.status, created.owner()), (Status::Pending, Some("bob")));
    assert_eq!(created.metadata, json!({ "k": null, "n": [1] }).as_object().cloned());
    assert_eq!((created.blocked_by, created.blocks), (ids(&[1]), ids(&[2])));
    assert_eq!((task(&yard, 1).blocks, task(&yard, 2).blocked_by), (ids(&[3]), ids(&[3])));
}

#[test]
fn priority_tags_due_date_and_parent_are_kept() {
    let yard = yard("1 pending");
    let due = Timestamp(1_800_000_000_000);
    let new = NewTask {
        priority: Some(Priority::High),
        tags: vec!["db".into(), "ops".into()],
        due: Some(due),
        parent: Some(id(1)),
        metadata: json!({ "k": 1 }).as_object().cloned(),
        ..new("s")
    };
    let created = done(yard.create(new)).task;
    assert_eq!((created.priority(), created.due()), (Priority::High, Some(due)));
    assert_eq!(created.meta("parent"), Some(&json!("1")));
    assert_eq!(created.meta("tags"), Some(&json!(["db", "ops"])));
    assert_eq!(created.meta("k"), Some(&json!(1)));
    let orphan = NewTask { parent: Some(id(9)), ..NewTask { subject: "t".into(), ..NewTask::default() } };
    assert!(matches!(refused(yard.create(orphan)), Refusal::NoSuchParent { .. }));
}

#[test]
fn a_number_is_never_used_twice() {
    let yard = yard("1 pending; 2 pending");
    done(yard.delete(&ids(&[2])));
    assert_eq!(done(yard.create(new("x"))).task.id, id(3));
    done(yard.clear());
    assert_eq!(done(yard.create(new("y"))).task.id, id(4));
}

#[test]
fn an_edge_to_no_task_is_refused_and_no_task_is_made() {
    let yard = yard("1 pending");
    let waiting = yard.create(NewTask { blocked_by: ids(&[1, 9]), ..new("x") });
    assert_eq!(refused(waiting), Refusal::NoSuchBlocker { task: id(9) });
    let blocking = yard.create(NewTask { blocks: ids(&[9]), ..new("x") });
    assert_eq!(refused(blocking), Refusal::NoSuchTask { task: id(9) });
    assert_eq!(done(yard.create(new("y"))).task.id, id(2));
}

#[test]
fn a_task_cannot_be_put_into_a_circle() {
    let yard = yard("1 pending; 2 pending <- 1");
    let between = yard.create(NewTask { blocked_by: ids(&[2]), blocks: ids(&[1]), ..new("x") });
    assert_eq!(refused(between), Refusal::Cycle { path: ids(&[1, 3, 2, 1]) });
    let around = yard.create(NewTask { blocked_by: ids(&[1]), blocks: ids(&[1]), ..new("x") });
    assert!(matches!(refused(around), Refusal::Cycle { .. }));
}

#[test]
fn client_rules_ignore_missing_edges_and_allow_cycles() {
    let yard = yard_in(CLIENT, "1 pending");
    let created = done(yard.create(NewTask { blocked_by: ids(&[1, 9]), blocks: ids(&[1]), ..new("x") })).task;
    assert_eq!((created.blocked_by, created.blocks), (ids(&[1]), ids(&[1])));
    assert_eq!(task(&yard, 1).blocks, ids(&[2]));
}

#[test]
fn task_created_in_progress_counts_against_the_limit() {
    let yard = yard("1 in_progress (ana); 2 pending").with_limit(Some(1));
    let begun = |owner: &str| NewTask {
        status: Some(Status::InProgress),
        owner: Some(owner.to_owned()),
        subject: "x".into(),
        ..NewTask::default()
    };
    let refusal = refused(yard.create(begun("ana")));
    assert!(matches!(&refusal, Refusal::AgentBusy { with, .. } if *with == ids(&[1])), "{refusal}");
    done(yard.create(begun("ben")));
    done(yard.done(&id(1)));
    done(yard.create(begun("ana")));
}
