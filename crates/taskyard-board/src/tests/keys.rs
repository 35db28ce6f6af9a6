//! What keys and news do.

use taskyard::core::view::Action;
use taskyard::core::{Event, Op, Revision, Status, TaskId, Timestamp};
use taskyard::operations::UndoRange;

use super::samples::{NOW, app_with, by_client, deeds, drawn, entry, list, press, rocket, task};
use crate::app::{Effect, View};
use crate::deed::What;
use crate::news::{Did, News, Refused};

#[test]
fn a_refusal_is_told_where_the_cursor_is() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "js");
    assert_eq!(deeds(&mut app), [What::Start(vec![TaskId::number(12)])]);
    let refused = Refused { message: "task 12 is blocked by #7".into(), hint: Some("finish #7 first".into()) };
    app.on_news(News::Did(Box::new(Did { answer: Err(refused), ..Did::without_changes() })), NOW);
    insta::assert_snapshot!(drawn(&mut app, 70, 10).backend());
    press(&mut app, "j");
    assert!(!drawn(&mut app, 70, 10).backend().to_string().contains("is blocked by #7"));
}

#[test]
fn keys_ask_for_one_deed_each_on_what_is_meant() {
    let id = TaskId::number;
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "d");
    assert_eq!(deeds(&mut app), [What::Done(vec![id(7)])]);
    press(&mut app, "jxjjxC");
    assert_eq!(deeds(&mut app), [What::Cancel(vec![id(12), id(15)])]);
    press(&mut app, "Xgnhello there\n");
    assert_eq!(deeds(&mut app), [What::Note { tasks: vec![id(7)], text: "hello there".into() }]);
    press(&mut app, "cWrite more\n");
    assert_eq!(deeds(&mut app), [What::Create { subject: "Write more".into(), parent: None }]);
    press(&mut app, "b#15\n");
    assert_eq!(deeds(&mut app), [What::BlockedBy { tasks: vec![id(7)], on: id(15) }]);
    press(&mut app, "acara\n");
    assert_eq!(deeds(&mut app), [What::Assign { tasks: vec![id(7)], to: Some("cara".into()) }]);
    press(&mut app, "u");
    assert_eq!(deeds(&mut app), [What::Undo(vec![UndoRange::OwnNewest])]);
    let undid = Did { answer: Ok("Took back r9".into()), undid: vec![Revision(10)], ..Did::without_changes() };
    app.on_news(News::Did(Box::new(undid)), NOW);
    press(&mut app, "U");
    assert_eq!(deeds(&mut app), [What::Undo(vec![UndoRange::One(Revision(10))])]);
    press(&mut app, "2>");
    assert_eq!(deeds(&mut app), [What::Move { tasks: vec![id(7)], to: Status::Completed }]);
    press(&mut app, "q");
    assert!(app.take_effects().contains(&Effect::Quit));
}

#[test]
fn undo_takes_back_exactly_what_was_done_from_here() {
    let mut app = app_with(&rocket(), View::List);
    let did = |revisions: &[u64]| {
        let revisions = revisions.iter().copied().map(Revision).collect();
        News::Did(Box::new(Did { revisions, ..Did::without_changes() }))
    };
    app.on_news(did(&[11]), NOW);
    app.on_news(did(&[13, 14]), NOW);
    press(&mut app, "u");
    let revision = |number| UndoRange::One(Revision(number));
    assert_eq!(deeds(&mut app), [What::Undo(vec![revision(14), revision(13)])]);
    press(&mut app, "u");
    assert_eq!(deeds(&mut app), [What::Undo(vec![revision(11)])]);
    press(&mut app, "u");
    assert_eq!(deeds(&mut app), [What::Undo(vec![UndoRange::OwnNewest])]);
}

#[test]
fn what_another_does_moves_the_rows_and_glows_once() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "jj");
    let at = app.at_task.clone();
    let new = task(17, "Just made", Status::InProgress);
    let commit = Event { list: list(), revision: Revision(10), entries: vec![entry(10, Op::Create, &new)] };
    app.on_news(News::Commits(vec![commit]), NOW);
    let screen = drawn(&mut app, 110, 14).backend().to_string();
    assert!(screen.contains("#17 Just made") && screen.contains("2 in progress"), "{screen}");
    // The cursor stays on its task.
    assert_eq!(app.at_task, at);
    assert!(app.flashes.contains_key(&new.id));
    app.on_tick(Timestamp(NOW.0 + 1300));
    assert!(app.flashes.is_empty());
}

#[test]
fn a_user_who_reads_that_a_task_was_made_has_the_cursor_on_it() {
    let mut app = app_with(&rocket(), View::List);
    let made = |number| Did { made: Some(TaskId::number(number)), ..Did::without_changes() };
    app.on_news(News::Did(Box::new(made(17))), NOW);
    assert!(app.said.is_none(), "the list does not show it yet");
    let new = task(17, "Just made", Status::Pending);
    let commit = Event { list: list(), revision: Revision(10), entries: vec![entry(10, Op::Create, &new)] };
    app.on_news(News::Commits(vec![commit]), NOW);
    assert!(app.said.is_some());
    app.arrange();
    assert_eq!(app.at_task, Some(TaskId::number(17)));
    // Where the list does not come to show it, the answer is given all the same.
    app.on_news(News::Did(Box::new(made(18))), NOW);
    app.said = None;
    assert!(app.next_tick().is_some_and(|wait| wait <= 2000));
    app.on_tick(Timestamp(NOW.0 + 2000));
    assert!(app.said.is_some());
}

#[test]
fn nothing_is_due_while_nothing_is_in_progress() {
    let mut app = app_with(&[task(1, "One", Status::Pending)], View::List);
    drawn(&mut app, 70, 14);
    app.is_dirty = false;
    // Todo lists are looked for now and then, because the stream does not tell of them; nothing is drawn for that.
    assert_eq!(app.next_tick(), Some(3000));
    app.on_tick(Timestamp(NOW.0 + 60_000));
    assert!(!app.is_dirty);
    app.settings.todo_period = None;
    assert_eq!(app.next_tick(), None);
    let busy = Event {
        list: list(),
        revision: Revision(10),
        entries: vec![entry(10, Op::Update, &task(1, "One", Status::InProgress))],
    };
    app.on_news(News::Commits(vec![busy]), NOW);
    drawn(&mut app, 70, 14);
    assert!(app.next_tick().is_some_and(|span| span <= 1200));
}

#[test]
fn a_task_tool_call_brings_the_tasks_to_the_front_once() {
    let mut app = app_with(&rocket(), View::Jobs);
    let made = |revision, number| by_client(revision, Op::CreatedElsewhere, &task(number, "New", Status::Pending));
    app.on_news(made(10, 20), NOW);
    assert_eq!(app.view, View::List);
    app.perform(Action::ShowJobs);
    app.on_news(made(11, 21), NOW);
    assert_eq!(app.view, View::Jobs);
}
