//! Putting lines on the screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::Line;

use crate::theme::Theme;

/// Puts a line on a row of an area, from its left edge on and no further than its right one.
pub(super) fn put(frame: &mut Frame<'_>, area: Rect, row: u16, line: &Line, theme: Theme, base: Style) -> u16 {
    put_at(frame, area, (area.x, row), line, theme, base)
}

/// Puts a line on a row of an area, from a column on. Returns the column behind it.
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

/// Lays a style over a row of an area.
pub(super) fn lay(frame: &mut Frame<'_>, area: Rect, row: u16, style: Style) {
    if row >= area.y && row < area.bottom() {
        let row = Rect { y: row, height: 1, ..area };
        frame.buffer_mut().set_style(row, style);
    }
}

/// Draws a line between two things that stand side by side.
pub(super) fn divide(frame: &mut Frame<'_>, column: u16, area: Rect, theme: Theme, mark: &str) {
    for row in area.y..area.bottom() {
        frame.buffer_mut().set_stringn(column, row, mark, 1, theme.hairline());
    }
}

/// Makes an area empty.
pub(super) fn wipe(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let area = area.intersection(frame.area());
    for row in area.y..area.bottom() {
        for column in area.x..area.right() {
            frame.buffer_mut()[(column, row)].reset();
        }
    }
    frame.buffer_mut().set_style(area, theme.ground());
}
