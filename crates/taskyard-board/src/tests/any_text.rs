//! Whatever tasks hold.

use std::collections::HashSet;

use proptest::prelude::*;
use taskyard::core::render::escaping::is_unsafe;
use taskyard::core::view::GraphPicture;
use taskyard::core::{Rules, Status, Task, TaskId};

use super::samples::{NOW, app_with, drawn, list, task};
use crate::app::View;
use crate::news::News;

/// Texts that have given displays trouble.
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
            // The line between the two halves, or the columns, stands where it belongs on every row: nothing is pushed aside.
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
            app.on_news(News::Graph(list(), Box::new(GraphPicture::of(&tasks, &HashSet::new(), Rules::Strict))), NOW);
            let terminal = drawn(&mut app, columns, 12);
            for cell in terminal.backend().buffer().content() {
                prop_assert!(!cell.symbol().chars().any(is_unsafe), "{:?}: {:?}", view, cell.symbol());
            }
        }
    }
}
