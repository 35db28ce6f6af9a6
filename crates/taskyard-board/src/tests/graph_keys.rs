//! Moving through what waits for what.

use std::collections::HashSet;

use taskyard::core::view::GraphPicture;
use taskyard::core::{Rules, Status, Task, TaskId};

use super::samples::{NOW, app_with, deeds, list, press, screen, task};
use crate::app::{App, Effect, View};
use crate::deed::{About, Ask, What};
use crate::news::News;

fn waiting(number: u64, on: &[u64]) -> Task {
    let blocked_by = on.iter().copied().map(TaskId::number).collect();
    Task { blocked_by, ..task(number, &format!("Task {number}"), Status::Pending) }
}

/// A chain of eight with a branch, so that not all ranks are seen at once.
fn chain() -> Vec<Task> {
    let mut tasks: Vec<Task> = (2..=8).map(|number| waiting(number, &[number - 1])).collect();
    tasks.extend([waiting(1, &[]), waiting(9, &[1])]);
    tasks
}

fn graph(tasks: &[Task]) -> App {
    let mut app = app_with(tasks, View::Graph);
    tell(&mut app, tasks, &[]);
    app
}

fn tell(app: &mut App, tasks: &[Task], folded: &[u64]) {
    let folded: HashSet<TaskId> = folded.iter().copied().map(TaskId::number).collect();
    app.on_news(News::Graph(list(), Box::new(GraphPicture::of(tasks, &folded, Rules::Strict))), NOW);
}

fn at(app: &App) -> &str {
    app.at_task.as_ref().map_or("", TaskId::as_str)
}

#[test]
fn the_cursor_follows_the_lines_and_the_picture_scrolls_with_it() {
    let mut app = graph(&chain());
    press(&mut app, "g");
    assert_eq!(at(&app), "1");
    press(&mut app, "l");
    assert_eq!(at(&app), "2");
    press(&mut app, "j");
    assert_eq!(at(&app), "9");
    press(&mut app, "kllll");
    assert_eq!(at(&app), "6");
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("#6 Task 6") && !shown.contains("#1 Task 1"), "{shown}");
    assert!(shown.contains("critical path: 8 tasks"), "{shown}");
    press(&mut app, "hhhhhh");
    assert!(screen(&mut app, 100, 12).contains("#1 Task 1"));
}

#[test]
fn more_or_fewer_ranks_are_seen_at_once() {
    let mut app = graph(&chain());
    let ranks = |app: &mut App| {
        let shown = screen(app, 100, 12);
        (1..=8).filter(|number| shown.contains(&format!("#{number} "))).count()
    };
    press(&mut app, "g");
    let before = ranks(&mut app);
    press(&mut app, "--");
    assert_eq!(ranks(&mut app), before + 2);
    press(&mut app, "+++");
    assert_eq!(ranks(&mut app), before - 1);
}

#[test]
fn what_waits_for_a_task_is_folded_away_and_shown_again() {
    let mut app = graph(&chain());
    press(&mut app, "gl");
    app.take_effects();
    press(&mut app, " ");
    let asked = app.take_effects();
    let folded = About::Graph(vec![TaskId::number(2)]);
    assert!(asked.contains(&Effect::Ask(Ask { list: list(), about: folded })), "{asked:?}");
    tell(&mut app, &chain(), &[2]);
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("#2 Task 2 +6") && !shown.contains("#3"), "{shown}");
    app.take_effects();
    press(&mut app, " ");
    assert!(app.take_effects().contains(&Effect::Ask(Ask { list: list(), about: About::Graph(Vec::new()) })));
}

#[test]
fn tasks_are_worked_on_from_the_graph_too() {
    let mut app = graph(&chain());
    press(&mut app, "gs");
    assert_eq!(deeds(&mut app), [What::Start(vec![TaskId::number(1)])]);
    press(&mut app, "l\n");
    assert!(screen(&mut app, 80, 12).contains("Task 2"));
}
