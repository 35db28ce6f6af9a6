//! The tasks, one below the other, and beside them the one under the cursor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::Task;
use taskyard::core::render::{Line, Look, Tone, historic_line, historic_mark_line};
use taskyard::core::view::{Action, Row, TreeRow, row_line};

use super::canvas::{divide, lay, put, put_at};
use super::detail;
use super::row_facts::with_facts;
use crate::app::{App, ClientStyle, Hit};

/// Columns before each row: the cursor, and whether it is selected.
const GUTTER: u16 = 2;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if !app.shows_detail() {
        return rows(frame, app, body);
    }
    let width = (body.width * 11 / 20).max(40);
    let left = Rect { width: width - 1, ..body };
    let right = Rect { x: body.x + width + 2, width: body.width.saturating_sub(width + 2), ..body };
    divide(frame, body.x + width, right, app.settings.theme, if app.settings.unicode { "│" } else { "|" });
    let cursor = rows(frame, app, left);
    app.hits.push((right, Hit::Detail));
    detail::draw(frame, app, right);
    cursor
}

fn rows(frame: &mut Frame<'_>, app: &mut App, area: Rect) -> Option<u16> {
    if app.arrangement.is_empty() {
        empty(frame, app, area);
        return None;
    }
    let height = usize::from(area.height);
    app.top = App::scrolled(app.row, app.top.min(app.arrangement.len().saturating_sub(1)), height);
    let look = app.look(usize::from(area.width));
    let seen: Vec<(usize, Row, Option<Task>)> = {
        let live = app.watched.as_ref()?.live();
        let places = app.top..(app.top + height).min(app.arrangement.len());
        let row = |place: usize| {
            let row = app.arrangement.row(place)?;
            let task = if let Row::Task(row) = &row { row.task(live) } else { None };
            Some((place, row, task))
        };
        places.filter_map(row).collect()
    };
    let id_width = seen.iter().filter_map(|(.., task)| task.as_ref()).map(|task| task.id.as_str().len() + 1).max();
    let mut cursor = None;
    for (place, row, task) in &seen {
        let y = area.y + u16::try_from(place - app.top).unwrap_or(0);
        let is_at = *place == app.row;
        let line = match (row, task) {
            (Row::Task(row), Some(task)) => task_row(app, row, task, (id_width.unwrap_or(2), area), &look),
            (Row::Task(_), None) => Line::new().with(Tone::Error, "cannot be read"),
            (Row::Completed(hidden), _) => Line::new().with(Tone::Dim, &format!("+ {hidden} completed")),
        };
        let glows = task.as_ref().is_some_and(|task| app.flashes.contains_key(&task.id));
        let base = if glows { app.settings.theme.flash() } else { Style::new() };
        let is_selected = task.as_ref().is_some_and(|task| app.selected.contains(&task.id));
        mark(frame, app, area, y, (is_at, is_selected));
        put_at(frame, area, (area.x + GUTTER, y), &line, app.settings.theme, base);
        if is_at {
            lay(frame, area, y, app.settings.theme.cursor());
            cursor = Some(y);
        }
        app.hits.push((Rect { y, height: 1, ..area }, Hit::Row(*place)));
    }
    cursor
}

/// Marks the row of the cursor, and those that are selected: both are seen without colours.
pub(super) fn mark(frame: &mut Frame<'_>, app: &App, area: Rect, y: u16, (is_at, is_selected): (bool, bool)) {
    let unicode = app.settings.unicode;
    let cursor = if !is_at {
        " "
    } else if unicode {
        "▸"
    } else {
        ">"
    };
    let selected = if !is_selected {
        " "
    } else if unicode {
        "●"
    } else {
        "*"
    };
    put(frame, area, y, &Line::plain(cursor).with(Tone::Hint, selected), app.settings.theme, Style::new());
}

fn task_row(app: &App, row: &TreeRow, task: &Task, (id_width, area): (usize, Rect), look: &Look) -> Line {
    let width = usize::from(area.width.saturating_sub(GUTTER));
    match app.settings.style {
        Some(ClientStyle::V2_1_19) => return historic_line(task).cut(width, look.ellipsis()),
        Some(ClientStyle::V2_1_20) => return historic_mark_line(task).cut(width, look.ellipsis()),
        None => {}
    }
    let parts = app.watched.as_ref().and_then(|watched| row.progress(watched.live()));
    let line = with_facts(app, task, (parts, row.is_folded()), |facts| {
        row_line(&row.guides(look), id_width, facts, width, look)
    });
    line.unwrap_or_default()
}

/// Says what to do first where there is nothing to show.
fn empty(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let key = |action| app.key(action).unwrap_or("?").to_owned();
    let mut lines: Vec<Line> = vec![Line::new()];
    let mut say = |text: String| lines.push(Line::new().with(Tone::Dim, &format!("  {text}")));
    if app.filter.is_some() {
        say("no task is found by these words; esc shows all".to_owned());
    } else if let Some(gone) = &app.gone {
        let tasks = if gone.open == 1 { "1 open task is".to_owned() } else { format!("{} open tasks are", gone.open) };
        say(format!("{tasks} gone: another program removed the files"));
        say(format!("{} brings them back, {} shows what happened", key(Action::Restore), key(Action::ShowHistory)));
    } else if !app.unreadable.is_empty() {
        say("no task can be read; `taskyard doctor` says what is wrong".to_owned());
    } else {
        say("nothing to do yet".to_owned());
        say(format!("{} makes the first task, {} explains the keys", key(Action::Create), key(Action::Help)));
        say(format!("{} shows the other lists", key(Action::ShowLists)));
    }
    for (row, line) in (area.y..area.bottom()).zip(&lines) {
        let look = app.look(usize::from(area.width));
        put(
            frame,
            area,
            row,
            &line.clone().cut(usize::from(area.width), look.ellipsis()),
            app.settings.theme,
            Style::new(),
        );
    }
}
