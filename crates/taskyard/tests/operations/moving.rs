use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Op, Rules, Status};
use taskyard::operations::{Patch, Update};
use taskyard::store::HistoryQuery;

use crate::{CLIENT, done, id, ids, refused, task, yard, yard_in};

#[test]
fn a_blocked_task_cannot_be_started_except_in_the_clients_rules() {
    let line = "1 pending; 2 completed; 3 pending <- 1 2 9";
    assert_eq!(refused(yard(line).start(&id(3))), Refusal::Blocked { task: id(3), by: ids(&[1]), through: None });
    assert_eq!(done(yard_in(CLIENT, line).start(&id(3))).task.status, Status::InProgress);
}

#[test]
fn an_edge_of_the_same_change_counts_for_starting() {
    let yard = yard("1 pending; 2 pending; 3 pending <- 1");
    let start = Patch { status: Some(Status::InProgress), ..Patch::default() };
    let freed = Update { patch: start.clone(), remove_blocked_by: ids(&[1]), ..Update::default() };
    done(yard.update(&id(3), freed));
    let bound = Update { patch: start, add_blocked_by: ids(&[1]), ..Update::default() };
    assert_eq!(refused(yard.update(&id(2), bound)), Refusal::Blocked { task: id(2), by: ids(&[1]), through: None });
}

#[test]
fn completing_tells_what_can_start_now() {
    for rules in [Rules::Strict, CLIENT] {
        let line = r#"1 in_progress; 2 pending <- 1; 3 pending (bob) <- 1; 4 pending <- 1 5; 5 pending;
            6 in_progress <- 1; 7 pending {"_internal":true} <- 1"#;
        let yard = yard_in(rules, line);
        let completed = done(yard.done(&id(1)));
        assert_eq!(completed.now_ready, ids(&[2, 3]));
        assert_eq!(completed.status_change, Some((Status::InProgress, Status::Completed)));
    }
}

#[test]
fn completing_in_spite_of_open_blockers_names_them() {
    let yard = yard("1 pending; 2 pending <- 1");
    assert_eq!(done(yard.done(&id(2))).open_blockers, ids(&[1]));
    assert!(done(yard.done(&id(1))).open_blockers.is_empty());
}

#[test]
fn reopening_is_recorded_and_names_dependents_already_started() {
    let yard = yard("1 completed; 2 in_progress <- 1; 3 pending <- 1; 4 completed <- 1");
    let reopened = done(yard.reopen(&id(1)));
    assert_eq!(reopened.dependents_started, ids(&[2, 4]));
    assert_eq!(reopened.task.status, Status::Pending);
    assert_eq!(yard.history(&HistoryQuery::default()).unwrap().last().unwrap().op, Op::Reopen);
    done(yard.start(&id(1)));
    assert_eq!(yard.history(&HistoryQuery::default()).unwrap().last().unwrap().op, Op::Update);
}

#[test]
fn a_cancelled_task_counts_as_completed_and_no_longer_blocks() {
    for rules in [Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending <- 1");
        let cancelled = done(yard.cancel(&id(1)));
        assert!(cancelled.task.is_cancelled());
        assert_eq!(cancelled.now_ready, ids(&[2]));
        done(yard.start(&id(2)));
    }
}

#[test]
fn reopened_or_done_task_is_no_longer_cancelled() {
    for rules in [Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending");
        for number in [1, 2] {
            done(yard.cancel(&id(number)));
        }
        done(yard.reopen(&id(1)));
        assert_eq!(task(&yard, 1).meta("cancelled"), None);
        done(yard.done(&id(2)));
        assert!(!task(&yard, 2).is_cancelled());
    }
}

#[test]
fn a_plain_change_of_status_ends_a_cancellation_too() {
    let yard = yard("1 pending");
    done(yard.cancel(&id(1)));
    let reopen = Patch { status: Some(Status::InProgress), ..Patch::default() };
    done(yard.update(&id(1), Update { patch: reopen, ..Update::default() }));
    assert_eq!(task(&yard, 1).meta("cancelled"), None);
}

#[test]
fn starting_what_is_in_progress_changes_nothing() {
    let yard = yard("1 in_progress (ana)");
    assert_eq!(done(yard.start(&id(1))).revision, None);
}
