//! Every list of the store: how far each is, who is alive on it, and which have lost their tasks.

use ratatui::Frame;
use ratatui::layout::Rect;
use taskyard::core::render::Line;
use taskyard::core::view::list_line;

use super::rows;
use crate::app::App;

/// The longest name that is shown whole.
const NAME: usize = 40;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    let Some(lists) = &app.lists else {
        rows::say(frame, app, body, &["looking for lists"]);
        return None;
    };
    if lists.is_empty() {
        rows::say(frame, app, body, &["no lists yet", "c makes a task, and with it the first list"]);
        return None;
    }
    let widest = lists.iter().map(|row| Line::plain(row.list.as_str()).width()).max().unwrap_or(0).min(NAME);
    rows::draw(frame, app, body, lists.len(), |app, place, width| {
        let shown = app.lists.as_ref().and_then(|lists| lists.get(place));
        shown.map(|row| list_line(row, row.list == app.list, widest, &app.look(width))).unwrap_or_default()
    })
}
