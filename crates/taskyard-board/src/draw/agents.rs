//! The agents of a list, and what each does.

use ratatui::Frame;
use ratatui::layout::Rect;
use taskyard::core::render::Line;
use taskyard::core::view::agent_line;

use super::rows;
use crate::app::App;

/// The longest name that is shown whole.
const NAME: usize = 24;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.agents.is_empty() {
        let words = [
            "nobody works on this list",
            "`taskyard claim --next --as NAME` takes a task, `taskyard team create NAME` makes a team",
        ];
        rows::say(frame, app, body, &words);
        return None;
    }
    let widest = app.agents.iter().map(|agent| Line::plain(&agent.name).width()).max().unwrap_or(0).min(NAME);
    rows::draw(frame, app, body, app.agents.len(), |app, place, width| {
        app.agents.get(place).map(|agent| agent_line(agent, widest, &app.look(width))).unwrap_or_default()
    })
}
