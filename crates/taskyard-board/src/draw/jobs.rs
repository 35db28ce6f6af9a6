//! Background commands, and what the one under the cursor writes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};
use taskyard::core::view::job_row_line;

use super::canvas::put;
use super::rows;
use crate::app::App;

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.jobs.is_empty() {
        rows::say(frame, app, body, &["no jobs on this list", "start one with `taskyard job run -- COMMAND`"]);
        return None;
    }
    if app.is_open {
        output(frame, app, body);
        return Some(body.y);
    }
    let most = body.height / 2;
    let listed = u16::try_from(app.jobs.len()).unwrap_or(u16::MAX).min(most).max(1);
    let cursor = rows::draw(frame, app, Rect { height: listed, ..body }, app.jobs.len(), |app, place, width| {
        app.jobs.get(place).map(|job| job_row_line(job, &app.look(width))).unwrap_or_default()
    });
    output(frame, app, Rect { y: body.y + listed, height: body.height.saturating_sub(listed), ..body });
    cursor
}

/// Draws the end of what the job under the cursor wrote.
fn output(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let theme = app.settings.theme;
    let width = usize::from(area.width);
    let look = app.look(width);
    let Some(job) = app.jobs.get(app.row).filter(|_| area.height > 0) else { return };
    let mark = look.either("─", "-");
    let title = format!("{mark} {} {} ", job.id, job.command);
    let title = Line::new().with(Tone::Dim, &title).cut(width, look.ellipsis());
    let rule = mark.repeat(width.saturating_sub(title.width()));
    put(frame, area, area.y, &title.with(Tone::Dim, &rule), theme, Style::new());
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let told = app.output.as_ref().filter(|(id, _)| *id == job.id);
    let lines = told.map(|(_, lines)| &lines[..]).unwrap_or_default();
    let first = lines.len().saturating_sub(usize::from(below.height));
    for (row, text) in (below.y..below.bottom()).zip(&lines[first..]) {
        put(frame, below, row, &Line::plain(text).cut(width, look.ellipsis()), theme, Style::new());
    }
}
