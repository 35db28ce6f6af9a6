//! Messages: one conversation with each, and what was said in the one under the cursor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};
use taskyard::core::view::{letter_lines, thread_line};

use super::canvas::{divide, put};
use super::rows;
use crate::app::{App, Hit};

/// From so many columns on, the conversation stands beside the others.
const WIDE: u16 = 100;

/// The longest name that is shown whole.
const NAME: usize = 20;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if let Some(problem) = &app.mail.problem {
        let words = format!("messages cannot be read: {problem}");
        rows::say(frame, app, body, &[&words]);
        return None;
    }
    if app.mail.name.is_none() {
        let words = format!("{} is in no team of this list", app.actor);
        rows::say(frame, app, body, &[&words, "join one with `taskyard team join TEAM`"]);
        return None;
    }
    let count = app.rows();
    if count == 0 {
        rows::say(frame, app, body, &["no messages", "m writes one"]);
        return None;
    }
    if app.is_open {
        conversation(frame, app, body);
        return Some(body.y);
    }
    let unicode = app.settings.unicode;
    let (listed, below) = if body.width >= WIDE {
        let width = body.width * 2 / 5;
        let right = Rect { x: body.x + width + 2, width: body.width.saturating_sub(width + 2), ..body };
        divide(frame, body.x + width, right, app.settings.theme, if unicode { "│" } else { "|" });
        (Rect { width: width - 1, ..body }, right)
    } else {
        let height = u16::try_from(count).unwrap_or(u16::MAX).min(body.height / 3).max(1);
        let below = Rect { y: body.y + height, height: body.height.saturating_sub(height), ..body };
        let rule = if unicode { "─" } else { "-" }.repeat(usize::from(body.width));
        put(frame, below, below.y, &Line::new().with(Tone::Dim, &rule), app.settings.theme, Style::new());
        let below = Rect {
            x: below.x + 2,
            width: below.width.saturating_sub(2),
            y: below.y + 1,
            height: below.height.saturating_sub(1),
        };
        (Rect { height, ..body }, below)
    };
    let widest = app.mail.threads.iter().map(|thread| Line::plain(&thread.with).width()).max().unwrap_or(0).min(NAME);
    let cursor = rows::draw(frame, app, listed, count, |app, place, width| {
        app.mail.threads.get(place).map(|thread| thread_line(thread, widest, &app.look(width))).unwrap_or_default()
    });
    app.hits.push((below, Hit::Detail));
    conversation(frame, app, below);
    cursor
}

/// Draws the end of what was said in the conversation under the cursor, or what was said before that.
fn conversation(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    let Some(thread) = app.mail.threads.get(app.row) else { return };
    let width = usize::from(area.width);
    let lines = letter_lines(thread, width, &app.look(width));
    let most = lines.len().saturating_sub(usize::from(area.height));
    app.page_scroll = app.page_scroll.min(most);
    for (row, line) in (area.y..area.bottom()).zip(lines.iter().skip(most - app.page_scroll)) {
        put(frame, area, row, line, app.settings.theme, Style::new());
    }
}
