//! The keys that work on what is under the cursor, what was said last, and what is being typed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};
use taskyard::core::view::{Action, info};

use super::canvas::put;
use crate::app::{App, Mode, SaidKind, View};
use crate::typing::TypedLine;

/// Returns how many rows it takes.
pub(super) const fn height(_app: &App) -> u16 {
    1
}

/// Draws it.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let theme = app.settings.theme;
    let width = usize::from(area.width);
    let look = app.look(width);
    let (question, line) = match &app.mode {
        Mode::Typing(prompt) => (prompt.question(), &prompt.line),
        Mode::Picking(picker) => (picker.question(), &picker.line),
        Mode::Browsing | Mode::Help => {
            let line = match app.said.as_ref().filter(|said| said.kind == SaidKind::Done) {
                Some(said) => Line::new().with(Tone::Done, &format!(" {}", said.text)),
                None => keys(app, width),
            };
            put(frame, area, area.y, &line.cut(width, look.ellipsis()), theme, Style::new());
            return;
        }
    };
    typed(frame, app, area, &question, line);
}

fn typed(frame: &mut Frame<'_>, app: &App, area: Rect, question: &str, line: &TypedLine) {
    let width = usize::from(area.width);
    let asked = Line::plain(" ").with(Tone::Hint, question).cut(width.saturating_sub(8), app.look(width).ellipsis());
    let behind = put(frame, area, area.y, &asked, app.settings.theme, Style::new());
    let room = usize::from(area.right().saturating_sub(behind + 1));
    let (text, cursor) = line.window(room);
    let shown = Rect { x: behind, width: area.right().saturating_sub(behind), ..area };
    put(frame, shown, area.y, &Line::plain(&text), app.settings.theme, Style::new());
    let column = behind + u16::try_from(cursor).unwrap_or(0);
    frame.set_cursor_position((column.min(area.right().saturating_sub(1)), area.y));
}

/// Returns the keys that work here, the most useful first, as many as there is room for.
fn keys(app: &App, width: usize) -> Line {
    let mut line = Line::plain(" ");
    if app.under_way > 0 {
        line.push(Tone::Active, "working  ");
    }
    if !app.selected.is_empty() && app.view.has_tasks() {
        line.push(Tone::Hint, &format!("{} selected  ", app.selected.len()));
    }
    let always = [Action::Palette, Action::Help, Action::Quit];
    let piece = |action: Action| {
        let key = app.key(action)?;
        let mut piece = Line::new().with(Tone::Hint, key);
        piece.push(Tone::Dim, &format!(" {}  ", info(action).name));
        Some(piece)
    };
    let reserved: usize = always.iter().filter_map(|action| piece(*action)).map(|piece| piece.width()).sum();
    for action in useful(app.view).iter().filter(|action| app.applies(**action)) {
        if let Some(piece) = piece(*action).filter(|piece| line.width() + piece.width() + reserved <= width) {
            line.append(piece);
        }
    }
    always.into_iter().filter_map(piece).for_each(|piece| line.append(piece));
    line
}

const fn useful(view: View) -> &'static [Action] {
    match view {
        View::Graph => &[
            Action::Open,
            Action::Fold,
            Action::ZoomIn,
            Action::ZoomOut,
            Action::Start,
            Action::Done,
            Action::BlockedBy,
            Action::Unblock,
            Action::Create,
            Action::Claim,
            Action::Assign,
            Action::Note,
            Action::Undo,
        ],
        View::List => &[
            Action::Start,
            Action::Done,
            Action::Reopen,
            Action::Create,
            Action::Edit,
            Action::Claim,
            Action::Assign,
            Action::BlockedBy,
            Action::Note,
            Action::Release,
            Action::Undo,
            Action::Redo,
            Action::Filter,
            Action::Select,
            Action::Fold,
            Action::Cancel,
            Action::NextNeed,
            Action::Restore,
        ],
        View::Columns => &[
            Action::MoveLeft,
            Action::MoveRight,
            Action::Start,
            Action::Done,
            Action::Create,
            Action::Edit,
            Action::Claim,
            Action::Assign,
            Action::Note,
            Action::Undo,
            Action::Filter,
        ],
        View::Agents => &[Action::Open, Action::Send],
        View::Jobs => &[Action::StopJob, Action::Open],
        View::Mail => &[Action::Send, Action::Acknowledge, Action::SendAnew, Action::Open],
        View::History => &[Action::Undo, Action::Redo, Action::Open, Action::Restore],
        View::Lists => &[Action::Open],
    }
}
