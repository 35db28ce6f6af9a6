use serde_json::json;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Image, Op, Revision, Status};
use taskyard::operations::{Field, OwnerChange, Patch, Update};
use taskyard::store::HistoryQuery;

use crate::{CLIENT, done, elsewhere, id, ids, refused, task, yard, yard_in};

fn patch(patch: Patch) -> Update {
    Update { patch, ..Update::default() }
}

#[test]
fn what_changed_is_reported_in_the_clients_order() {
    for rules in [taskyard::core::Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending; 3 pending");
        let update = Update {
            patch: Patch {
                subject: Some("s".into()),
                description: Some("d".into()),
                active_form: Some("a".into()),
                owner: Some(OwnerChange::Set("bob".into())),
                status: Some(Status::InProgress),
                metadata: json!({ "k": 1 }).as_object().cloned(),
            },
            add_blocks: ids(&[2]),
            ..Update::default()
        };
        let updated = done(yard.update(&id(1), update.clone()));
        assert_eq!(updated.updated, Field::ALL[..7]);
        assert_eq!(updated.status_change, Some((Status::Pending, Status::InProgress)));
        assert_eq!(updated.revision, Some(Revision(2)));
        assert_eq!(updated.task, task(&yard, 1));
        let again = done(yard.update(&id(1), update));
        assert_eq!(again.updated, [Field::Metadata]);
        assert_eq!(again.status_change, None);
    }
}

#[test]
fn a_change_is_made_only_to_the_task_as_expected() {
    for rules in [taskyard::core::Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending");
        let expecting = yard.expecting(id(1), |task| task.subject == "task 1");
        let to = |subject: &str| patch(Patch { subject: Some(subject.into()), ..Patch::default() });
        assert_eq!(done(expecting.update(&id(1), to("mine"))).task.subject, "mine");
        let current = Box::new(task(&yard, 1));
        let expected = Refusal::NotAsExpected { task: id(1), current };
        assert_eq!(refused(expecting.update(&id(1), to("theirs"))), expected);
        assert_eq!(refused(expecting.done(&id(1))), expected);
        assert_eq!(refused(expecting.delete(&[id(1)])), expected);
        assert_eq!(refused(expecting.release(&id(1))), expected);
        assert_eq!(task(&yard, 1).subject, "mine");
        let elsewhere = yard.expecting(id(7), |_| false);
        assert_eq!(refused(elsewhere.done(&id(7))), Refusal::NoSuchTask { task: id(7) });
    }
}

#[test]
fn of_many_who_expect_the_same_one_makes_its_change() {
    let yard = yard("1 pending");
    let number_of = |task: &taskyard::core::Task| task.meta("number").and_then(serde_json::Value::as_u64).unwrap_or(0);
    let raise = || {
        let seen = number_of(&task(&yard, 1));
        let metadata = json!({ "number": seen + 1 }).as_object().cloned();
        let expecting = yard.expecting(id(1), move |task| number_of(task) == seen);
        let outcome = expecting.update(&id(1), patch(Patch { metadata, ..Patch::default() })).unwrap();
        u64::from(outcome.done().is_ok())
    };
    let raised: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8).map(|_| scope.spawn(|| (0..50).map(|_| raise()).sum::<u64>())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(number_of(&task(&yard, 1)), raised, "no change went over another");
    assert!(raised >= 50);
}

#[test]
fn a_change_that_changes_nothing_makes_no_revision() {
    let yard = yard("1 pending");
    let same = patch(Patch { subject: Some("task 1".into()), ..Patch::default() });
    let updated = done(yard.update(&id(1), same));
    assert_eq!((updated.updated, updated.revision), (vec![], None));
    assert_eq!(yard.history(&HistoryQuery::default()).unwrap().len(), 1);
}

#[test]
fn a_task_that_is_not_there_is_refused_and_no_list_is_made() {
    let yard = yard("");
    let refusal = refused(yard.update(&id(1), Update::default()));
    assert_eq!(refusal, Refusal::NoSuchTask { task: id(1) });
    assert!(yard.lists().unwrap().is_empty());
}

#[test]
fn unreadable_task_is_refused_by_us_and_absent_to_client() {
    for rules in [taskyard::core::Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending");
        elsewhere(&yard, Op::CreatedElsewhere, |txn| txn.put_image(&id(5), Image::new(b"{}".as_slice())).unwrap());
        let refusal = refused(yard.update(&id(5), Update::default()));
        assert_eq!(matches!(refusal, Refusal::Unreadable { .. }), !rules.is_client(), "{refusal}");
        assert_eq!(refusal == Refusal::NoSuchTask { task: id(5) }, rules.is_client());
        assert!(matches!(refused(yard.delete(&ids(&[5]))), Refusal::Unreadable { .. } | Refusal::NoSuchTask { .. }));
    }
}

#[test]
fn several_edges_in_one_change_are_judged_together() {
    let yard = yard("1 pending; 2 pending");
    let both = Update { add_blocks: ids(&[2]), add_blocked_by: ids(&[2]), ..Update::default() };
    assert_eq!(refused(yard.update(&id(1), both)), Refusal::Cycle { path: ids(&[2, 1, 2]) });
    let turned = Update { add_blocks: ids(&[2]), ..Update::default() };
    done(yard.update(&id(1), turned));
    let turn = Update { remove_blocks: ids(&[2]), add_blocked_by: ids(&[2]), ..Update::default() };
    let updated = done(yard.update(&id(1), turn));
    assert_eq!(updated.updated, [Field::Blocks, Field::BlockedBy]);
    assert_eq!((task(&yard, 2).blocks, task(&yard, 2).blocked_by), (ids(&[1]), ids(&[])));
}

#[test]
fn a_refused_edge_leaves_the_fields_as_they_were() {
    let yard = yard("1 pending");
    let update =
        Update { add_blocked_by: ids(&[1]), ..patch(Patch { subject: Some("new".into()), ..Patch::default() }) };
    assert_eq!(refused(yard.update(&id(1), update)), Refusal::EdgeToItself { task: id(1) });
    assert_eq!(task(&yard, 1).subject, "task 1");
}

#[test]
fn client_rules_report_edge_to_missing_task() {
    let yard = yard_in(CLIENT, "1 pending; 2 pending");
    let update = Update { add_blocks: ids(&[77]), add_blocked_by: ids(&[77, 2]), ..Update::default() };
    let updated = done(yard.update(&id(1), update));
    assert_eq!(updated.updated, [Field::Blocks, Field::BlockedBy]);
    assert_eq!((updated.task.blocks, updated.task.blocked_by), (ids(&[]), ids(&[2])));
    let nothing = done(yard.update(&id(2), Update { add_blocked_by: ids(&[77]), ..Update::default() }));
    assert_eq!((nothing.updated, nothing.revision), (vec![Field::BlockedBy], None));
}

#[test]
fn an_edge_known_at_one_end_is_completed_by_adding_it() {
    let yard = yard("1 pending; 2 pending");
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let mut two = txn.find(&id(2)).unwrap().task().unwrap();
        two.blocked_by = ids(&[1]);
        txn.put(two).unwrap();
    });
    let updated = done(yard.depend(&id(2), &ids(&[1])));
    assert_eq!((updated.updated.len(), updated.revision), (0, Some(Revision(3))));
    assert_eq!(task(&yard, 1).blocks, ids(&[2]));
}
