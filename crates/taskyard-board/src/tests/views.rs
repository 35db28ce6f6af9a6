//! Every view as drawn at three sizes, with arbitrary task contents.

use std::collections::HashSet;

use proptest::prelude::*;
use taskyard::core::render::escaping::is_unsafe;
use taskyard::core::rules::teams::mailing::{Delivery, DeliveryState};
use taskyard::core::view::{GraphPicture, JobRow, ListRow, SentText, TodosShown, actions, steps, threads};
use taskyard::core::{ListId, Message, Op, Rules, Status, Task, TaskId, Timestamp, Todo};

use super::samples::{NOW, app_with, at_three_sizes, drawn, entry, job, list, press, rocket, screen, task, team};
use crate::app::{ClientStyle, View};
use crate::messages::{AgentOutput, AppEvent, Mail};

#[test]
fn the_list_and_the_task_under_the_cursor() {
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::List);
        press(&mut app, "j");
        app
    }));
}

#[test]
fn one_task_fills_the_screen_where_it_is_opened() {
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::List);
        press(&mut app, "j\n");
        app
    }));
}

#[test]
fn columns_stand_side_by_side() {
    insta::assert_snapshot!(at_three_sizes(|| app_with(&rocket(), View::Columns)));
}

#[test]
fn what_waits_for_what() {
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::Graph);
        app.on_event(
            AppEvent::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))),
            NOW,
        );
        app
    }));
}

#[test]
fn what_happened() {
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::History);
        let entries = vec![entry(1, Op::Create, &rocket()[0]), entry(2, Op::Create, &rocket()[1])];
        app.on_event(AppEvent::History { list: list(), before: None, steps: steps(entries) }, NOW);
        app
    }));
}

#[test]
fn messages_are_conversations() {
    insta::assert_snapshot!(at_three_sizes(|| {
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
        app.on_event(AppEvent::Mail(list(), Box::new(mail)), NOW);
        app
    }));
}

#[test]
fn every_list_of_the_store() {
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::Lists);
        let row = |name: &str, counts, alive: &[&str]| ListRow {
            list: ListId::new(name).unwrap(),
            counts,
            changed: Some(Timestamp(NOW.0 - 7_200_000)),
            gone: None,
            alive: alive.iter().map(|name| (*name).to_owned()).collect(),
        };
        app.on_event(AppEvent::Lists(vec![row("moon", [0; 3], &[]), row("rocket", [3, 1, 6], &["bo"])]), NOW);
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
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::Agents);
        app.on_event(AppEvent::Team(list(), Some(Box::new(team()))), NOW);
        let lines = vec!["running 12 tests".into(), "test one ... ok".into()];
        let output = AgentOutput { agent: "bo".into(), job: JobRow::of(&job()), lines };
        app.on_event(AppEvent::AgentOutputs(list(), vec![output]), NOW);
        app
    }));
}

#[test]
fn jobs_and_what_they_write() {
    insta::assert_snapshot!(at_three_sizes(|| {
        let mut app = app_with(&rocket(), View::Jobs);
        app.on_event(AppEvent::Jobs(list(), vec![JobRow::of(&job())]), NOW);
        app.on_event(AppEvent::Output(job().id, vec!["running 12 tests".into(), "test one ... ok".into()]), NOW);
        app
    }));
}

#[test]
fn what_agents_do_by_their_own_lists_is_seen_above_the_tasks() {
    let todo = |content: &str, status| Todo { content: content.into(), status, active_form: format!("{content}ing") };
    let todos = vec![todo("Read", Status::Completed), todo("Test", Status::InProgress)];
    let mut app = app_with(&rocket(), View::List);
    app.on_event(AppEvent::Todos(list(), vec![TodosShown { agent: "bo".into(), todos }]), NOW);
    let shown = screen(&mut app, 80, 10);
    assert!(shown.contains("Testing…  1/2 of its todos · bo"), "{shown}");
}

#[test]
fn every_view_fits_every_width_from_60_to_300() {
    for view in View::ALL {
        for columns in [60, 61, 79, 80, 99, 100, 120, 177, 240, 300] {
            let mut app = app_with(&rocket(), view);
            app.on_event(
                AppEvent::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))),
                NOW,
            );
            app.on_event(AppEvent::Team(list(), Some(Box::new(team()))), NOW);
            app.on_event(AppEvent::Jobs(list(), vec![JobRow::of(&job())]), NOW);
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
        app.on_event(
            AppEvent::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))),
            NOW,
        );
        app.on_event(AppEvent::Team(list(), Some(Box::new(team()))), NOW);
        let shown = screen(&mut app, 120, 16);
        assert!(shown.is_ascii(), "{view:?}:\n{shown}");
    }
}

#[test]
fn older_client_lines_are_shown_on_request() {
    let lines = |style| {
        let mut app = app_with(&rocket(), View::List);
        app.settings.style = Some(style);
        screen(&mut app, 70, 12)
    };
    let (numbers, marks) = (lines(ClientStyle::V2_1_19), lines(ClientStyle::V2_1_20));
    assert!(numbers.contains("#12. [pending] Write the docs"), "{numbers}");
    assert!(marks.contains("◻ Write the docs") && !marks.contains("#12"), "{marks}");
}

/// Texts that have caused display problems.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,60}",
        any::<String>(),
        Just("\x1b[2J\x1b]0;title\x07\u{9b}31m".to_owned()),
        Just("\u{202e}gnirts\u{2066} שלום עולם مرحبا".to_owned()),
        Just("日本語のタスク 👩‍👩‍👧‍👦🏳️‍🌈 e\u{301}\u{302}\u{303}".to_owned()),
        Just("w".repeat(10_000)),
        Just("\u{200d}\u{fe0f}\u{0}\r\n\t".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_tasks_hold_is_drawn_safely_and_in_its_place(
        texts in prop::collection::vec((text(), text(), text()), 1..8),
        columns in 80..160_u16,
    ) {
        let tasks: Vec<Task> = texts.into_iter().zip(1..).map(|((subject, description, owner), number)| {
            let mut task = task(number, &subject, if number % 2 == 0 { Status::InProgress } else { Status::Pending });
            task.active_form = Some(subject);
            task.description = description;
            task.owner = Some(owner);
            task
        }).collect();
        for (view, line) in [(View::List, (columns * 11 / 20).max(40)), (View::Columns, columns / 3 - 1)] {
            let terminal = drawn(&mut app_with(&tasks, view), columns, 14);
            let buffer = terminal.backend().buffer();
            for cell in buffer.content() {
                prop_assert!(!cell.symbol().chars().any(is_unsafe), "{:?}", cell.symbol());
            }
            // The line between the two halves, or the columns, is in its place on every row: nothing is pushed aside.
            for row in 1..13 {
                prop_assert_eq!(buffer[(line, row)].symbol(), "│");
            }
        }
    }

    #[test]
    fn no_view_sends_anything_that_steers_a_terminal(
        texts in prop::collection::vec((text(), text()), 1..6),
        columns in 60..300_u16,
    ) {
        let tasks: Vec<Task> = texts.into_iter().zip(1..).map(|((subject, owner), number)| {
            let mut task = task(number, &subject, if number % 2 == 0 { Status::InProgress } else { Status::Pending });
            task.blocked_by = (1..number).take(2).map(TaskId::number).collect();
            task.owner = Some(owner);
            task
        }).collect();
        for view in View::ALL {
            let mut app = app_with(&tasks, view);
            app.on_event(AppEvent::Graph(list(), Box::new(GraphPicture::of(&tasks, &HashSet::new(), Rules::Strict))), NOW);
            let terminal = drawn(&mut app, columns, 12);
            for cell in terminal.backend().buffer().content() {
                prop_assert!(!cell.symbol().chars().any(is_unsafe), "{:?}: {:?}", view, cell.symbol());
            }
        }
    }
}

#[test]
fn thirty_cards_fit_a_column_of_forty_rows() {
    let tasks: Vec<Task> = (1..=30).map(|number| task(number, &format!("Task {number}"), Status::Pending)).collect();
    let shown = screen(&mut app_with(&tasks, View::Columns), 120, 40);
    for number in 1..=30 {
        assert!(shown.contains(&format!("#{number} Task {number}")), "{shown}");
    }
    // If there are few cards, they show their details as well.
    let mut few = tasks[..15].to_vec();
    few[0].owner = Some("bo".into());
    assert!(screen(&mut app_with(&few, View::Columns), 120, 40).contains("  bo"));
}

#[test]
fn views_have_their_names_from_100_columns() {
    let shown = screen(&mut app_with(&rocket(), View::List), 100, 10);
    for name in ["1 list", "2 columns", "3 graph", "4 agents", "5 jobs", "6 mail", "7 history", "8 lists", "6 of 10"] {
        assert!(shown.contains(name), "{name}:\n{shown}");
    }
}

#[test]
fn help_is_not_cut_at_40_columns() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "?");
    let shown = screen(&mut app, 40, 200);
    assert!(!shown.contains('…'), "{shown}");
    for info in actions() {
        let last = info.help.rsplit(' ').next().unwrap();
        assert!(shown.contains(last), "{}:\n{shown}", info.help);
    }
}
