//! The header above the view, and the keys or the typed line below it.

use std::slice;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use taskyard::core::Status;
use taskyard::core::render::{Line, Tone, cut_text};
use taskyard::core::view::{Action, info, progress_bar, todos_line};

use super::rows::{put, put_at};
use crate::app::{App, Hit, MessageKind, Mode, View};
use crate::line::TypedLine;

/// The width of the progress bar in cells.
const BAR: usize = 12;

/// The maximum length of a list's name.
const NAME: usize = 28;

/// The maximum number of todo lists that are shown.
const TODOS: usize = 3;

/// Draws the header. Returns its height in rows.
pub(super) fn draw_header(frame: &mut Frame<'_>, app: &mut App, screen: Rect) -> u16 {
    let theme = app.settings.theme;
    let views = views(app, usize::from(screen.width));
    let views_width: usize = views.iter().map(|(_, line)| line.width() + 1).sum();
    let room = usize::from(screen.width).saturating_sub(views_width + 2);
    let status = status_line(app, room);
    put(frame, screen, screen.y, &status, theme, Style::new());
    let mut column = screen.right().saturating_sub(u16::try_from(views_width).unwrap_or(u16::MAX));
    for (view, line) in views {
        let base = if view == app.view { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        let end = put_at(frame, screen, (column, screen.y), &line, theme, base);
        app.hits.push((Rect { x: column, y: screen.y, width: end.saturating_sub(column), height: 1 }, Hit::View(view)));
        column = end + 1;
    }
    let mut rows = 1;
    for line in notices(app, usize::from(screen.width)) {
        put(frame, screen, screen.y + rows, &line, theme, Style::new());
        rows += 1;
    }
    rows
}

/// Returns the views with their keys, abbreviated to the keys if there is little room.
fn views(app: &App, width: usize) -> Vec<(View, Line)> {
    let name = |view: View, is_long: bool| {
        let action = view.action();
        let key = app.key(action).unwrap_or(" ");
        let word = if is_long || view == app.view { info(action).name } else { "" };
        let unread = app.mail.unread();
        let count = if view == View::Mail && unread > 0 { format!("({unread})") } else { String::new() };
        let mut line = Line::new().with(Tone::Dim, key);
        if !word.is_empty() || !count.is_empty() {
            let tone = if view == View::Mail && unread > 0 { Tone::Error } else { Tone::Plain };
            line.push(tone, &format!(" {word}{count}"));
        }
        (view, line)
    };
    let all = |is_long: bool| -> Vec<(View, Line)> { View::ALL.map(|view| name(view, is_long)).into() };
    let long = all(true);
    let fits = long.iter().map(|(_, line)| line.width() + 1).sum::<usize>() + 30 <= width;
    if fits { long } else { all(false) }
}

fn status_line(app: &App, room: usize) -> Line {
    let look = app.look(room);
    let tally = app.tally;
    let longest = NAME.min((room / 2).max(8));
    let mut line = Line::plain(" ").with(Tone::Strong, &cut_text(app.list.as_str(), longest, look.ellipsis()));
    line.push(Tone::Plain, "  ");
    if tally.total() == 0 {
        line.push(Tone::Dim, if app.watched.is_some() { "no tasks" } else { "" });
        line.push(Tone::Dim, &format!("{}you are {}", if app.watched.is_some() { look.dot() } else { "" }, app.actor));
        return line.cut(room, look.ellipsis());
    }
    let long = pieces(app, true);
    let is_long = line.width() + width_of(&long) <= room;
    let mut pieces = if is_long { long } else { pieces(app, false) };
    // Omit what does not fit, least important first.
    while !pieces.is_empty() && line.width() + width_of(&pieces) > room + 3 {
        pieces.pop();
    }
    let actor =
        [format!("you are {}", app.actor), app.actor.to_string()].map(|words| Line::new().with(Tone::Dim, &words));
    let free = room.saturating_sub(line.width() + width_of(&pieces));
    let has_room = !pieces.is_empty();
    pieces.extend(actor.into_iter().filter(|_| has_room).find(|actor| width_of(slice::from_ref(actor)) <= free));
    if line.width() + width_of(&pieces) + BAR < room {
        line.append(progress_bar(tally.counts, BAR, &look));
        line.push(Tone::Plain, " ");
    }
    for (place, piece) in pieces.into_iter().enumerate() {
        line.push(Tone::Dim, if place > 0 { look.dot() } else { "" });
        line.append(piece);
    }
    line.cut(room, look.ellipsis())
}

fn width_of(pieces: &[Line]) -> usize {
    pieces.iter().map(|piece| piece.width() + 3).sum()
}

/// Returns the counts, most important first, in words or abbreviated to marks.
fn pieces(app: &App, in_words: bool) -> Vec<Line> {
    let look = app.look(0);
    let tally = app.tally;
    let mut pieces =
        vec![Line::new().with(Tone::Done, &format!("{} of {}", tally.of(Status::Completed), tally.total()))];
    let needs = app.count_needs();
    let need = look.either("▲", "!");
    let busy = tally.of(Status::InProgress);
    let verb = if needs == 1 { "needs" } else { "need" };
    let all = [
        (needs, Tone::Error, format!("{need} {needs} {verb} you"), need),
        (busy, Tone::Active, format!("{busy} in progress"), look.either("◼", "[>]")),
        (tally.ready, Tone::Plain, format!("{} ready", tally.ready), look.either("◻", "[ ]")),
        (tally.blocked, Tone::Dim, format!("{} blocked", tally.blocked), look.either("‹", "<")),
    ];
    for (count, tone, words, mark) in all.into_iter().filter(|(count, ..)| *count > 0) {
        pieces.push(Line::new().with(tone, &if in_words { words } else { format!("{mark} {count}") }));
    }
    pieces
}

/// Returns the lines between header and view: the agents' todo lists, the filter, and problems.
fn notices(app: &App, width: usize) -> Vec<Line> {
    let look = app.look(width);
    let mut lines = Vec::new();
    if app.shows_todos() {
        let narrower = app.look(width.saturating_sub(1));
        for line in app.todos.iter().filter_map(|shown| todos_line(shown, app.spinner(), &narrower)).take(TODOS) {
            let mut indented = Line::plain(" ");
            indented.append(line);
            lines.push(indented);
        }
    }
    if let Some(why) = &app.lost {
        let text = format!(" {} cannot be followed, retrying: {why}", look.either("▲", "!"));
        lines.push(Line::new().with(Tone::Error, &text));
    }
    if let Some(why) = app.unreadable.values().next() {
        let more = match app.unreadable.len() - 1 {
            0 => String::new(),
            more => format!(" ({more} more)"),
        };
        let text = format!(" {} {why}{more}; run `taskyard doctor`", look.either("▲", "!"));
        lines.push(Line::new().with(Tone::Error, &text));
    }
    if let Some(mistake) = &app.filter_mistake {
        let mut line = Line::new().with(Tone::Hint, &format!(" /{}", app.filter_text));
        line.push(Tone::Warning, &format!("  {mistake}"));
        lines.push(line);
    } else if let Some(filter) = &app.filter {
        let found = filter.chosen().len();
        let mut line = Line::new().with(Tone::Hint, &format!(" /{}", app.filter_text));
        let more = if app.is_filtering() { look.ellipsis() } else { "" };
        line.push(Tone::Dim, &format!("  {found} found{more}, esc shows all"));
        lines.push(line);
    }
    if app.watched.as_ref().is_some_and(|watched| watched.is_finished_and_gone()) {
        let text = format!(" {} finished; the client has cleared the list (press any key)", look.either("✔", "[x]"));
        lines.push(Line::new().with(Tone::Done, &text));
    }
    lines.into_iter().map(|line| line.cut(width, look.ellipsis())).collect()
}

/// Draws the footer.
pub(super) fn draw_footer(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let theme = app.settings.theme;
    let width = usize::from(area.width);
    let look = app.look(width);
    let (question, line) = match &app.mode {
        Mode::Typing(prompt) => (prompt.question(), &prompt.line),
        Mode::Picking(picker) => (picker.question(), &picker.line),
        Mode::Browsing | Mode::Help | Mode::Pane(_) => {
            let line = match app.message.as_ref().filter(|message| message.kind == MessageKind::Done) {
                Some(message) => Line::new().with(Tone::Done, &format!(" {}", message.text)),
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

/// Returns the keys that work here, most useful first, as many as fit.
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
