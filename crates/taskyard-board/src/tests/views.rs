//! Every view as it is drawn, at three widths.

use std::collections::HashSet;

use taskyard::core::rules::teams::mailing::{Delivery, DeliveryState};
use taskyard::core::view::{GraphPicture, JobRow, ListRow, SentText, TodosShown, steps, threads};
use taskyard::core::{ListId, Message, Op, Rules, Status, Timestamp, Todo};

use super::samples::{NOW, app_with, at_three_widths, drawn, entry, job, list, press, rocket, screen, team};
use crate::app::{ClientStyle, View};
use crate::news::{Mail, News};

#[test]
fn the_list_and_the_task_under_the_cursor() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::List);
        press(&mut app, "j");
        app
    }));
}

#[test]
fn one_task_fills_the_screen_where_it_is_opened() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::List);
        press(&mut app, "j\n");
        app
    }));
}

#[test]
fn columns_stand_side_by_side() {
    insta::assert_snapshot!(at_three_widths(|| app_with(&rocket(), View::Columns)));
}

#[test]
fn what_waits_for_what() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::Graph);
        app.on_news(News::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))), NOW);
        app
    }));
}

#[test]
fn what_happened() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::History);
        let entries = vec![entry(1, Op::Create, &rocket()[0]), entry(2, Op::Create, &rocket()[1])];
        app.on_news(News::History { list: list(), before: None, steps: steps(entries) }, NOW);
        app
    }));
}

#[test]
fn messages_are_conversations() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::Mail);
        let message = Message {
            from: "bo".into(),
            text: "The numbers are wrong.\nLook at the second run.".into(),
            summary: Some("numbers".into()),
            timestamp: Timestamp(NOW.0 - 60_000).to_string(),
            color: Some("blue".into()),
            msg_id: None,
            read: false,
        };
        let had = Message { from: "cleo".into(), text: "done".into(), color: None, ..message.clone() };
        let text = "Which ones?".to_owned();
        let sent = SentText { to: "bo".into(), at: Timestamp(NOW.0 - 30_000), text, state: DeliveryState::Delivered };
        let waiting = [Delivery { keys: vec![message.key()], message }];
        let mail = Mail { name: Some("ana".into()), threads: threads(&waiting, &[had], vec![sent]), problem: None };
        app.on_news(News::Mail(list(), Box::new(mail)), NOW);
        app
    }));
}

#[test]
fn every_list_of_the_store() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::Lists);
        let row = |name: &str, counts, alive: &[&str]| ListRow {
            list: ListId::new(name).unwrap(),
            counts,
            changed: Some(Timestamp(NOW.0 - 7_200_000)),
            gone: None,
            alive: alive.iter().map(|name| (*name).to_owned()).collect(),
        };
        app.on_news(News::Lists(vec![row("moon", [0; 3], &[]), row("rocket", [3, 1, 6], &["bo"])]), NOW);
        app
    }));
}

#[test]
fn views_without_anything_say_what_to_do_first() {
    let empty = |view| drawn(&mut app_with(&[], view), 80, 6).backend().to_string();
    insta::assert_snapshot!(View::ALL.map(empty).join("\n"));
}

#[test]
fn keys_are_explained_and_things_found_by_their_names() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "?");
    let help = drawn(&mut app, 80, 40).backend().to_string();
    press(&mut app, "\x1b:undo");
    let palette = drawn(&mut app, 80, 12).backend().to_string();
    insta::assert_snapshot!(format!("{help}\n{palette}"));
}

#[test]
fn agents_are_shown_with_what_they_do() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::Agents);
        app.on_news(News::Team(list(), Some(Box::new(team()))), NOW);
        app
    }));
}

#[test]
fn jobs_and_what_they_write() {
    insta::assert_snapshot!(at_three_widths(|| {
        let mut app = app_with(&rocket(), View::Jobs);
        app.on_news(News::Jobs(list(), vec![JobRow::of(&job())]), NOW);
        app.on_news(News::Output(job().id, vec!["running 12 tests".into(), "test one ... ok".into()]), NOW);
        app
    }));
}

#[test]
fn what_agents_do_by_their_own_lists_is_seen_above_the_tasks() {
    let todo = |content: &str, status| Todo { content: content.into(), status, active_form: format!("{content}ing") };
    let todos = vec![todo("Read", Status::Completed), todo("Test", Status::InProgress)];
    let mut app = app_with(&rocket(), View::List);
    app.on_news(News::Todos(list(), vec![TodosShown { agent: "bo".into(), todos }]), NOW);
    let shown = screen(&mut app, 80, 10);
    assert!(shown.contains("Testing…  1/2 of its todos · bo"), "{shown}");
}

#[test]
fn every_view_fits_every_width_from_60_to_300() {
    for view in View::ALL {
        for columns in [60, 61, 79, 80, 99, 100, 120, 177, 240, 300] {
            let mut app = app_with(&rocket(), view);
            app.on_news(
                News::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))),
                NOW,
            );
            app.on_news(News::Team(list(), Some(Box::new(team()))), NOW);
            app.on_news(News::Jobs(list(), vec![JobRow::of(&job())]), NOW);
            for rows in [3, 8, 24, 60] {
                let shown = screen(&mut app, columns, rows);
                assert!(shown.contains("rocket") && shown.contains("quit"), "{view:?} at {columns}:\n{shown}");
            }
        }
    }
}

#[test]
fn without_more_than_ascii_nothing_else_is_drawn() {
    for view in View::ALL {
        let mut app = app_with(&rocket(), view);
        app.settings.unicode = false;
        app.on_news(News::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))), NOW);
        app.on_news(News::Team(list(), Some(Box::new(team()))), NOW);
        let shown = screen(&mut app, 120, 16);
        assert!(shown.is_ascii(), "{view:?}:\n{shown}");
    }
}

#[test]
fn the_lines_of_earlier_clients_are_shown_where_they_are_asked_for() {
    let lines = |style| {
        let mut app = app_with(&rocket(), View::List);
        app.settings.style = Some(style);
        screen(&mut app, 70, 12)
    };
    let (numbers, marks) = (lines(ClientStyle::V2_1_19), lines(ClientStyle::V2_1_20));
    assert!(numbers.contains("#12. [pending] Write the docs"), "{numbers}");
    assert!(marks.contains("◻ Write the docs") && !marks.contains("#12"), "{marks}");
}
