//! Pending, in progress and done, side by side.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use taskyard::core::Status;
use taskyard::core::render::{Line, Tone};
use taskyard::core::view::card_lines;

use super::canvas::{divide, lay, put, put_at};
use super::row_facts::with_facts;
use crate::app::{App, Hit};

/// The rows of a card, with the empty one below it.
const CARD: u16 = 3;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    let width = body.width / 3;
    let mut cursor = None;
    for (place, status) in Status::ALL.into_iter().enumerate() {
        let x = body.x + width * u16::try_from(place).unwrap_or(0);
        let is_last = place == 2;
        let area = Rect { x, width: if is_last { body.right() - x } else { width.saturating_sub(1) }, ..body };
        if place > 0 {
            divide(frame, x - 1, area, app.settings.theme, if app.settings.unicode { "│" } else { "|" });
        }
        cursor = column(frame, app, area, status).or(cursor);
    }
    cursor
}

const fn name(status: Status) -> &'static str {
    match status {
        Status::Pending => "Pending",
        Status::InProgress => "In progress",
        Status::Completed => "Done",
    }
}

fn column(frame: &mut Frame<'_>, app: &mut App, area: Rect, status: Status) -> Option<u16> {
    let theme = app.settings.theme;
    let count = app.arrangement.column_length(status);
    let base = if app.column == status { Style::new().add_modifier(Modifier::UNDERLINED) } else { Style::new() };
    let mut head = Line::plain(" ").with(Tone::Strong, name(status));
    head.push(Tone::Dim, &format!(" {count}"));
    put(frame, area, area.y, &head, theme, base);
    app.hits.push((area, Hit::Column(status)));
    let area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let fitting = usize::from(area.height.div_ceil(CARD)).max(1);
    let whole = usize::from((area.height + 1) / CARD).max(1);
    let top = &mut app.column_tops[status as usize];
    *top = (*top).min(count.saturating_sub(1));
    if app.column == status {
        *top = App::scrolled(app.row, *top, whole);
    }
    let top = *top;
    let mut cursor = None;
    for place in top..(top + fitting).min(count) {
        let y = area.y + u16::try_from(place - top).unwrap_or(0) * CARD;
        let live = app.watched.as_ref()?.live();
        let Some(id) = app.arrangement.in_column(live, status, place) else { continue };
        let Some(task) = live.task(&id) else { continue };
        let is_at = app.column == status && app.row == place;
        let is_selected = app.selected.contains(&id);
        let width = usize::from(area.width.saturating_sub(2));
        let look = app.look(width);
        let parts = live.progress(&id);
        let cards = with_facts(app, &task, (parts, false), |facts| card_lines(facts, width, &look));
        let base = if app.flashes.contains_key(&id) { theme.flash() } else { Style::new() };
        super::list::mark(frame, app, area, y, (is_at, is_selected));
        for (row, line) in (y..area.bottom()).zip(cards.iter().flatten()) {
            put_at(frame, area, (area.x + 2, row), line, theme, base);
        }
        if is_at {
            lay(frame, area, y, theme.cursor());
            cursor = Some(y + 1);
        }
        app.hits.push((Rect { y, height: CARD.min(area.bottom() - y), ..area }, Hit::Card(status, place)));
    }
    cursor
}
