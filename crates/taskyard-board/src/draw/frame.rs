//! The whole screen: a line of truth on top, the view, and the keys that work here below.

use ratatui::Frame;
use ratatui::layout::Rect;
use taskyard::core::render::{Line, Tone};

use super::{agents, columns, detail, footer, graph, header, help, history, jobs, list, lists, mail, picker, said};
use crate::app::{App, Mode, View};

/// Draws the board.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let screen = frame.area();
    app.on_resize(screen.width, screen.height);
    app.arrange();
    app.hits.clear();
    frame.buffer_mut().set_style(screen, app.settings.theme.ground());
    if screen.height < 3 || screen.width < 10 {
        return;
    }
    let top = header::draw(frame, app, screen);
    let below = footer::height(app);
    let body = Rect { y: screen.y + top, height: screen.height.saturating_sub(top + below), ..screen };
    app.page_rows = usize::from(body.height).max(1);
    let cursor = draw_view(frame, app, body);
    footer::draw(frame, app, Rect { y: body.bottom(), height: below, ..screen });
    said::draw(frame, app, body, cursor);
    match app.mode {
        Mode::Picking(_) => picker::draw(frame, app, body),
        Mode::Help => help::draw(frame, app, body),
        Mode::Browsing | Mode::Typing(_) => {}
    }
}

/// Draws the view. Returns the row of the screen on which the cursor stands.
fn draw_view(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.watched.is_none() && app.view != View::Lists {
        let words = if app.lost.is_some() { "  cannot be read" } else { "  reading the list" };
        let line = Line::new().with(Tone::Dim, words);
        super::canvas::put(frame, body, body.y, &line, app.settings.theme, Default::default());
        return None;
    }
    if app.is_open && app.view.has_tasks() {
        detail::draw(frame, app, body);
        return Some(body.y);
    }
    match app.view {
        View::List => list::draw(frame, app, body),
        View::Columns => columns::draw(frame, app, body),
        View::Graph => graph::draw(frame, app, body),
        View::Agents => agents::draw(frame, app, body),
        View::Jobs => jobs::draw(frame, app, body),
        View::Mail => mail::draw(frame, app, body),
        View::History => history::draw(frame, app, body),
        View::Lists => lists::draw(frame, app, body),
    }
}
