//! The whole screen: the header, the current view, the footer, and what lies over them.

use ratatui::Frame;
use ratatui::layout::Rect;
use taskyard::core::render::{Line, Tone};

use super::bars::{draw_footer, draw_header};
use super::overlays::{draw_help, draw_pane, draw_picker, draw_refusal, draw_typed_task};
use super::rows::put;
use super::tasks::{draw_columns, draw_detail, draw_graph, draw_list};
use super::views::{draw_agents, draw_history, draw_jobs, draw_lists, draw_mail};
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
    let top = draw_header(frame, app, screen);
    let below = 1;
    let body = Rect { y: screen.y + top, height: screen.height.saturating_sub(top + below), ..screen };
    app.page_rows = usize::from(body.height).max(1);
    let cursor = draw_view(frame, app, body);
    draw_footer(frame, app, Rect { y: body.bottom(), height: below, ..screen });
    match app.mode {
        Mode::Picking(_) => draw_picker(frame, app, body),
        Mode::Help => draw_help(frame, app, body),
        Mode::Pane(_) => draw_pane(frame, app, body),
        Mode::Typing(_) => draw_typed_task(frame, app, body),
        Mode::Browsing => {}
    }
    draw_refusal(frame, app, body, cursor);
}

/// Draws the view. Returns the screen row of the cursor.
fn draw_view(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.watched.is_none() && app.view != View::Lists {
        let words = if app.lost.is_some() { "  cannot be read" } else { "  reading the list" };
        let line = Line::new().with(Tone::Dim, words);
        put(frame, body, body.y, &line, app.settings.theme, Default::default());
        return None;
    }
    if app.is_open && app.view.has_tasks() {
        draw_detail(frame, app, body);
        return Some(body.y);
    }
    match app.view {
        View::List => draw_list(frame, app, body),
        View::Columns => draw_columns(frame, app, body),
        View::Graph => draw_graph(frame, app, body),
        View::Agents => draw_agents(frame, app, body),
        View::Jobs => draw_jobs(frame, app, body),
        View::Mail => draw_mail(frame, app, body),
        View::History => draw_history(frame, app, body),
        View::Lists => draw_lists(frame, app, body),
    }
}
