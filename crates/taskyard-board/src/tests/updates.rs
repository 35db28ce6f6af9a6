//! How the board handles events.

use std::collections::BTreeSet;

use taskyard::config::NoticeKind;
use taskyard::core::rules::looking::query::Times;
use taskyard::core::rules::teams::mailing::Delivery;
use taskyard::core::view::threads;
use taskyard::core::{Image, Message, Op, Status, TaskId, Timestamp};

use super::samples::{NOW, app_with, by_client, deeds, list, press, rocket, screen, task};
use crate::app::{Effect, View};
use crate::messages::{AppEvent, Mail};
use crate::messages::{Operation, ReadRequest, Resource};

const HOUR: i64 = 3_600_000;

#[test]
fn a_filter_may_ask_when_tasks_were_made_and_changed() {
    let tasks = [task(1, "Old", Status::Pending), task(2, "New", Status::Pending)];
    let mut app = app_with(&tasks, View::List);
    app.take_effects();
    press(&mut app, "/older:2h\n");
    assert!(app.take_effects().contains(&Effect::Read(ReadRequest { list: list(), resource: Resource::Times })));
    let at = |hours: i64| Times { created: Timestamp(NOW.0 - hours * HOUR), updated: Timestamp(NOW.0 - hours * HOUR) };
    let times = [(TaskId::number(1), at(5)), (TaskId::number(2), at(1))].into_iter().collect();
    app.on_event(AppEvent::Times(list(), times), NOW);
    app.on_tick(NOW);
    let shown = screen(&mut app, 70, 8);
    assert!(shown.contains("1 found") && shown.contains("Old") && !shown.contains("New"), "{shown}");
    press(&mut app, "\x1b/changed:2h\n");
    app.on_tick(NOW);
    assert!(screen(&mut app, 70, 8).contains("New"));
}

#[test]
fn list_cleared_by_client_stays_until_a_key_is_pressed() {
    let done = task(1, "All of it", Status::Completed);
    let mut app = app_with(std::slice::from_ref(&done), View::List);
    let AppEvent::Commits(mut commits) = by_client(10, Op::RemovedElsewhere, &done) else { panic!("no commits") };
    let entry = &mut commits[0].entries[0];
    (entry.before, entry.after) = (entry.after.take(), None);
    app.on_event(AppEvent::Commits(commits), NOW);
    let shown = screen(&mut app, 70, 8);
    assert!(shown.contains("All of it") && shown.contains("finished"), "{shown}");
    press(&mut app, "j");
    assert!(!screen(&mut app, 70, 8).contains("All of it"));
}

#[test]
fn internal_tasks_and_blockers_that_are_done_are_not_shown() {
    let mut waiting = task(15, "Waits", Status::Pending);
    waiting.blocked_by = vec![TaskId::number(3)];
    let mut tasks = rocket();
    tasks.retain(|task| task.id != TaskId::number(15));
    tasks.push(waiting);
    let shown = screen(&mut app_with(&tasks, View::List), 70, 16);
    assert!(!shown.contains("Nobody sees this") && !shown.contains("‹ #3"), "{shown}");
}

#[test]
fn a_success_mark_shows_as_a_task_is_completed() {
    let mut app = app_with(&[task(1, "One", Status::InProgress), task(2, "Two", Status::Pending)], View::List);
    assert!(screen(&mut app, 70, 8).contains("◼ #1"));
    app.on_event(by_client(10, Op::ChangedElsewhere, &task(1, "One", Status::Completed)), NOW);
    let shown = screen(&mut app, 70, 8);
    assert!(shown.contains("✔ #1") && shown.contains("1 of 2"), "{shown}");
}

#[test]
fn a_conversation_is_answered_and_acknowledged_as_one() {
    let message = |text: &str| Message {
        from: "bo".into(),
        text: text.into(),
        summary: None,
        timestamp: Timestamp(NOW.0 - 60_000).to_string(),
        color: None,
        msg_id: None,
        read: false,
    };
    let waiting: Vec<Delivery> =
        ["first", "second"].map(message).map(|message| Delivery { keys: vec![message.key()], message }).into();
    let keys = waiting.iter().flat_map(|delivery| delivery.keys.clone()).collect();
    let mut app = app_with(&rocket(), View::Mail);
    let mail = Mail { name: Some("ana".into()), threads: threads(&waiting, &[], Vec::new()), problem: None };
    app.on_event(AppEvent::Mail(list(), Box::new(mail)), NOW);
    let shown = screen(&mut app, 120, 12);
    assert!(shown.contains("2 unread") && shown.contains("second"), "{shown}");
    press(&mut app, "mthanks\n");
    press(&mut app, "A");
    let sent = Operation::Send { to: "bo".into(), text: "thanks".into() };
    assert_eq!(deeds(&mut app), [sent, Operation::Acknowledge(keys)]);
}

#[test]
fn a_file_that_breaks_is_named_and_its_last_known_state_stays() {
    let docs = task(12, "Write the docs", Status::Pending);
    let broken = |view| {
        let mut app = app_with(std::slice::from_ref(&docs), view);
        let AppEvent::Commits(mut commits) = by_client(10, Op::ChangedElsewhere, &docs) else { panic!("no commits") };
        commits[0].entries[0].after = Some(Image::new(&b"{"[..]));
        app.on_event(AppEvent::Commits(commits), NOW);
        let shown = screen(&mut app, 150, 12);
        assert!(shown.contains("12.json cannot be read: not JSON") && shown.contains("taskyard doctor"), "{shown}");
        assert!(shown.contains("1 needs you"), "{shown}");
        app
    };
    broken(View::Jobs);
    let mut app = broken(View::List);
    press(&mut app, "!");
    let shown = screen(&mut app, 150, 12);
    assert!(shown.contains("Write the docs"), "{shown}");
    app.on_event(by_client(11, Op::ChangedElsewhere, &docs), NOW);
    let mended = screen(&mut app, 150, 12);
    assert!(!mended.contains("1 needs you") && mended.contains("Write the docs"), "{mended}");
}

#[test]
fn work_of_an_ended_session_needs_a_person_until_it_is_taken() {
    let mut docs = task(12, "Write the docs", Status::InProgress);
    let mut app = app_with(std::slice::from_ref(&docs), View::List);
    screen(&mut app, 150, 12);
    app.on_tick(NOW);
    app.take_effects();
    app.on_event(AppEvent::Leases(list(), Vec::new(), BTreeSet::from([docs.id.clone()])), NOW);
    let shown = screen(&mut app, 150, 12);
    assert!(shown.contains("1 needs you") && shown.contains("its session has ended"), "{shown}");
    app.on_tick(NOW);
    let notices: Vec<Effect> =
        app.take_effects().into_iter().filter(|effect| matches!(effect, Effect::Notify { .. })).collect();
    let [Effect::Notify { kind: NoticeKind::Need, title, text }] = &notices[..] else { panic!("{notices:?}") };
    assert_eq!(title, "rocket: 1 needs you");
    assert!(text.starts_with("#12 Write the docs: "), "{text}");
    docs.owner = Some("ana".to_owned());
    app.on_event(by_client(10, Op::ChangedElsewhere, &docs), NOW);
    let taken = screen(&mut app, 150, 12);
    assert!(!taken.contains("needs you") && !taken.contains("its session has ended"), "{taken}");
}

#[test]
fn a_list_that_cannot_be_followed_says_so_and_keeps_what_it_has() {
    let mut app = app_with(&rocket(), View::List);
    app.on_event(AppEvent::Lost(list(), "the database is out of reach".into()), NOW);
    let shown = screen(&mut app, 90, 12);
    assert!(shown.contains("cannot be followed, retrying: the database is out of reach"), "{shown}");
    assert!(shown.contains("Write the docs"), "{shown}");
}

#[test]
fn unreadable_file_is_a_row_with_its_reason() {
    let mut app = app_with(&[task(1, "One", Status::Pending)], View::List);
    let new = task(2, "Never read", Status::Pending);
    let AppEvent::Commits(mut commits) = by_client(10, Op::CreatedElsewhere, &new) else { panic!("no commits") };
    commits[0].entries[0].after = Some(Image::new(&b"{"[..]));
    app.on_event(AppEvent::Commits(commits), NOW);
    press(&mut app, "G");
    let shown = screen(&mut app, 150, 12);
    assert!(shown.contains("▲ #2 2.json cannot be read: not JSON"), "{shown}");
    assert!(shown.contains("Its earlier content is unknown"), "{shown}");
    // With a last known state the row says so, and the page shows both.
    let mended = by_client(11, Op::CreatedElsewhere, &new);
    app.on_event(mended, NOW);
    let AppEvent::Commits(mut commits) = by_client(12, Op::ChangedElsewhere, &new) else { panic!("no commits") };
    commits[0].entries[0].after = Some(Image::new(&b"{"[..]));
    app.on_event(AppEvent::Commits(commits), NOW);
    let shown = screen(&mut app, 140, 12);
    assert!(shown.contains("▲ file cannot be read") && shown.contains("last known state"), "{shown}");
}
