//! Doing something to several tasks at once.

use taskyard::core::{Status, TaskId};

use super::samples::{app_with, deeds, press, task};
use crate::app::{App, Effect, View};
use crate::deed::What;

fn three() -> App {
    let tasks = [1, 2, 3, 4].map(|number| task(number, &format!("Task {number}"), Status::Pending));
    let mut app = app_with(&tasks, View::List);
    press(&mut app, "gxx");
    app
}

fn both() -> Vec<TaskId> {
    vec![TaskId::number(1), TaskId::number(2)]
}

#[test]
fn everything_that_is_done_to_tasks_is_done_to_all_that_are_selected() {
    let number = TaskId::number;
    for (keys, what) in [
        ("s", What::Start(both())),
        ("d", What::Done(both())),
        ("C", What::Cancel(both())),
        ("t", What::Claim(both())),
        ("nsee below\n", What::Note { tasks: both(), text: "see below".into() }),
        ("acara\n", What::Assign { tasks: both(), to: Some("cara".into()) }),
        ("anobody\n", What::Assign { tasks: both(), to: None }),
        ("b#3\n", What::BlockedBy { tasks: both(), on: number(3) }),
        (">", What::Move { tasks: both(), to: Status::InProgress }),
    ] {
        let mut app = three();
        press(&mut app, keys);
        assert_eq!(deeds(&mut app), [what], "{keys}");
    }
    let mut app = three();
    press(&mut app, "E");
    assert!(app.take_effects().contains(&Effect::Edit(both())));
}

#[test]
fn what_is_closed_is_reopened_and_edges_are_taken_away_together() {
    let mut tasks = [1, 2, 3].map(|number| task(number, "x", Status::Completed));
    let mut app = app_with(&tasks, View::List);
    press(&mut app, "gxxo");
    assert_eq!(deeds(&mut app), [What::Reopen(both())]);
    tasks = [1, 2, 3].map(|number| task(number, "x", Status::Pending));
    (tasks[0].blocked_by, tasks[1].blocked_by) = (vec![TaskId::number(3)], vec![TaskId::number(3)]);
    let mut app = app_with(&tasks, View::List);
    press(&mut app, "gxxB\n");
    assert_eq!(deeds(&mut app), [What::Unblock { tasks: both(), from: TaskId::number(3) }]);
}

#[test]
fn a_selection_is_let_go_by_a_key_and_once_something_is_done() {
    let mut app = three();
    press(&mut app, "X");
    assert!(app.selected.is_empty());
}
