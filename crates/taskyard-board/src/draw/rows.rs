//! Drawing lines and rows, for every part of the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::graph::parts::Progress;
use taskyard::core::view::RowFacts;
use taskyard::core::{Status, Task, TaskId};

use crate::app::{App, Hit};
use crate::theme::Theme;

/// Draws a line on a row of an area, clipped to the area.
pub(super) fn put(frame: &mut Frame<'_>, area: Rect, row: u16, line: &Line, theme: Theme, base: Style) -> u16 {
    put_at(frame, area, (area.x, row), line, theme, base)
}

/// Draws a line on a row of an area, starting at a column. Returns the column after it.
pub(super) fn put_at(
    frame: &mut Frame<'_>,
    area: Rect,
    (mut column, row): (u16, u16),
    line: &Line,
    theme: Theme,
    base: Style,
) -> u16 {
    if row < area.y || row >= area.bottom() {
        return column;
    }
    for span in line.spans() {
        if column >= area.right() {
            break;
        }
        let room = usize::from(area.right() - column);
        let style = base.patch(theme.style(span.tone())).add_modifier(base.add_modifier);
        (column, _) = frame.buffer_mut().set_stringn(column, row, span.text(), room, style);
    }
    column
}

/// Overlays a style on a row of an area.
pub(super) fn lay(frame: &mut Frame<'_>, area: Rect, row: u16, style: Style) {
    if row >= area.y && row < area.bottom() {
        let row = Rect { y: row, height: 1, ..area };
        frame.buffer_mut().set_style(row, style);
    }
}

/// Draws a vertical dividing line.
pub(super) fn divide(frame: &mut Frame<'_>, column: u16, area: Rect, theme: Theme, mark: &str) {
    for row in area.y..area.bottom() {
        frame.buffer_mut().set_stringn(column, row, mark, 1, theme.hairline());
    }
}

/// Clears an area.
pub(super) fn wipe(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let area = area.intersection(frame.area());
    for row in area.y..area.bottom() {
        for column in area.x..area.right() {
            frame.buffer_mut()[(column, row)].reset();
        }
    }
    frame.buffer_mut().set_style(area, theme.ground());
}

/// Draws `count` rows, building only those that are visible. Returns the screen row of the cursor.
pub(super) fn draw_rows(
    frame: &mut Frame<'_>,
    app: &mut App,
    area: Rect,
    count: usize,
    line_of: impl Fn(&App, usize, usize) -> Line,
) -> Option<u16> {
    let height = usize::from(area.height);
    app.row = app.row.min(count.saturating_sub(1));
    app.top = App::scrolled(app.row, app.top.min(count.saturating_sub(1)), height);
    let width = usize::from(area.width.saturating_sub(2));
    let mut cursor = None;
    for place in app.top..(app.top + height).min(count) {
        let y = area.y + u16::try_from(place - app.top).unwrap_or(0);
        let line = line_of(app, place, width).cut(width, app.look(width).ellipsis());
        let is_at = place == app.row;
        mark(frame, app, area, y, (is_at, false));
        put_at(frame, area, (area.x + 2, y), &line, app.settings.theme, Style::new());
        if is_at {
            lay(frame, area, y, app.settings.theme.cursor());
            cursor = Some(y);
        }
        app.hits.push((Rect { y, height: 1, ..area }, Hit::Row(place)));
    }
    cursor
}

/// Draws a message in place of rows: why there are none, and what to do first.
pub(super) fn draw_words(frame: &mut Frame<'_>, app: &App, area: Rect, lines: &[&str]) {
    for (row, text) in (area.y + 1..area.bottom()).zip(lines) {
        let width = usize::from(area.width);
        let line = Line::new().with(Tone::Dim, &format!("  {text}")).cut(width, app.look(width).ellipsis());
        put(frame, area, row, &line, app.settings.theme, Style::new());
    }
}

/// Calls `with` with what the board knows of a task.
pub(super) fn with_facts<T>(
    app: &App,
    task: &Task,
    (parts, is_folded): (Option<Progress>, bool),
    with: impl FnOnce(&RowFacts<'_>) -> T,
) -> Option<T> {
    let watched = app.watched.as_ref()?;
    let blockers: Vec<TaskId> = if task.status.is_open() { watched.live().open_blockers(&task.id) } else { Vec::new() };
    let lease = app.lease(&task.id).filter(|(_, state)| state.is_alive());
    let facts = RowFacts {
        task,
        blockers: &blockers,
        parts,
        is_folded,
        need: app.need_of(&task.id),
        since: lease.map(|(lease, _)| lease.taken),
        owner_tone: task.owner().map_or(Tone::Owner, |owner| owner_tone(app, owner)),
        spinner: if task.status == Status::InProgress { app.spinner() } else { "" },
    };
    Some(with(&facts))
}

/// Returns the colour of an agent, if a team assigns one.
pub(super) fn owner_tone(app: &App, name: &str) -> Tone {
    let member = app.team.iter().flat_map(|team| &team.members).find(|shown| shown.member.name == name);
    Tone::member(member.and_then(|shown| shown.member.colour()))
}

/// Marks the rows of the cursor and the selection, visibly even without colours.
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
