//! A refusal, in words, where the cursor is.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone, wrapped};

use super::canvas::{put, wipe};
use crate::app::{App, SaidKind};

/// So many rows a refusal may take.
const MOST: usize = 6;

/// Draws what was refused below the cursor, or above it where there is no room.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, body: Rect, cursor: Option<u16>) {
    let Some(said) = app.said.as_ref().filter(|said| said.kind == SaidKind::Refused) else { return };
    let width = usize::from(body.width.saturating_sub(6)).max(8);
    let look = app.look(width);
    let mark = look.either("▲ ", "! ");
    let mut lines: Vec<Line> = Vec::new();
    for (place, text) in wrapped(&said.text, width).into_iter().enumerate() {
        let before = if place == 0 { mark } else { "  " };
        lines.push(Line::new().with(Tone::Error, before).with(Tone::Error, &text));
    }
    for text in said.hint.iter().flat_map(|hint| wrapped(hint, width)) {
        lines.push(Line::plain("  ").with(Tone::Hint, &text));
    }
    lines.truncate(MOST.min(usize::from(body.height)));
    let height = u16::try_from(lines.len()).unwrap_or(1);
    let at = cursor.map_or(body.y, |cursor| cursor + 1);
    let y = if at + height <= body.bottom() { at } else { cursor.unwrap_or(body.y).saturating_sub(height).max(body.y) };
    let area = Rect { y, height: height.min(body.bottom() - y), ..body };
    wipe(frame, area, app.settings.theme);
    for (row, line) in (area.y..area.bottom()).zip(&lines) {
        let indented = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
        put(frame, indented, row, line, app.settings.theme, Style::new());
    }
}
