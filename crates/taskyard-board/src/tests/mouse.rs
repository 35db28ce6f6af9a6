//! What the mouse does.

use std::collections::HashSet;

use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use taskyard::core::view::GraphPicture;
use taskyard::core::{Rules, Status, TaskId};

use super::samples::{NOW, app_with, deeds, list, press, rocket, screen};
use crate::app::{App, Hit, View};
use crate::deed::What;
use crate::news::News;

/// Does something with the mouse in the middle of what was drawn somewhere.
fn mouse(app: &mut App, kind: MouseEventKind, on: &Hit) {
    screen(app, 120, 20);
    let (place, _) = app.hits.iter().find(|(_, hit)| hit == on).unwrap_or_else(|| panic!("{on:?} is not drawn"));
    let (column, row) = (place.x + place.width / 2, place.y);
    app.on_mouse(&MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }, NOW);
}

fn click(app: &mut App, on: &Hit) {
    mouse(app, MouseEventKind::Down(MouseButton::Left), on);
    // What was clicked may be gone from the screen by now.
    let kind = MouseEventKind::Up(MouseButton::Left);
    app.on_mouse(&MouseEvent { kind, column: 0, row: 0, modifiers: KeyModifiers::NONE }, NOW);
}

#[test]
fn a_click_shows_a_view_or_goes_to_a_row_and_a_second_one_opens_it() {
    let mut app = app_with(&rocket(), View::List);
    click(&mut app, &Hit::Row(1));
    assert_eq!((app.at_task.clone(), app.is_open), (Some(TaskId::number(12)), false));
    click(&mut app, &Hit::Row(1));
    assert!(app.is_open);
    click(&mut app, &Hit::View(View::Columns));
    assert_eq!((app.view, app.is_open), (View::Columns, false));
}

#[test]
fn a_card_is_dragged_to_another_column() {
    let mut app = app_with(&rocket(), View::Columns);
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), &Hit::Card(Status::Pending, 0));
    mouse(&mut app, MouseEventKind::Up(MouseButton::Left), &Hit::Column(Status::InProgress));
    assert_eq!(deeds(&mut app), [What::Move { tasks: vec![TaskId::number(12)], to: Status::InProgress }]);
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), &Hit::Card(Status::Pending, 0));
    mouse(&mut app, MouseEventKind::Up(MouseButton::Left), &Hit::Card(Status::Pending, 1));
    assert_eq!(deeds(&mut app), Vec::<What>::new());
}

#[test]
fn a_task_of_the_graph_is_clicked() {
    let mut app = app_with(&rocket(), View::Graph);
    app.on_news(News::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))), NOW);
    click(&mut app, &Hit::Node(TaskId::number(15)));
    assert_eq!(app.at_task, Some(TaskId::number(15)));
    click(&mut app, &Hit::Node(TaskId::number(15)));
    assert!(app.is_open);
}

#[test]
fn the_wheel_moves_the_cursor_and_a_click_chooses_from_a_list() {
    let mut app = app_with(&rocket(), View::List);
    mouse(&mut app, MouseEventKind::ScrollDown, &Hit::Row(0));
    assert_eq!(app.row, 3);
    mouse(&mut app, MouseEventKind::ScrollUp, &Hit::Row(0));
    assert_eq!(app.row, 0);
    press(&mut app, ":columns");
    click(&mut app, &Hit::Choice(0));
    assert_eq!(app.view, View::Columns);
}
