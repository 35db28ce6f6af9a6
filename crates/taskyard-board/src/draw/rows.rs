//! Lines below each other with a cursor on one of them, for views that are no tasks.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};

use super::canvas::{lay, put, put_at};
use super::list::mark;
use crate::app::{App, Hit};

/// Draws so many rows, each made only where it is seen. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(
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

/// Says in place of rows why there are none and what to do first.
pub(super) fn say(frame: &mut Frame<'_>, app: &App, area: Rect, lines: &[&str]) {
    for (row, text) in (area.y + 1..area.bottom()).zip(lines) {
        let width = usize::from(area.width);
        let line = Line::new().with(Tone::Dim, &format!("  {text}")).cut(width, app.look(width).ellipsis());
        put(frame, area, row, &line, app.settings.theme, Style::new());
    }
}
