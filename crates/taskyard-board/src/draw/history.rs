//! What happened, the newest first.

use ratatui::Frame;
use ratatui::layout::Rect;
use taskyard::core::view::step_line;

use super::rows;
use crate::app::App;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.past.steps.is_empty() {
        let words = if app.past.is_asked { "reading the journal" } else { "nothing has happened yet" };
        rows::say(frame, app, body, &[words]);
        return None;
    }
    rows::draw(frame, app, body, app.past.steps.len(), |app, place, width| {
        app.past.steps.get(place).map(|step| step_line(step, &app.look(width))).unwrap_or_default()
    })
}
