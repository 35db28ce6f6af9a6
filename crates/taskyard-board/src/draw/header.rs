//! The line of truth: which list, how far it is, what is being done, what needs a person; and the views.

use std::slice;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use taskyard::core::Status;
use taskyard::core::render::{Line, Tone, cut_text};
use taskyard::core::view::{info, progress_bar, todos_line};

use super::canvas::{put, put_at};
use crate::app::{App, Hit, View};

/// How many cells the bar of progress has.
const BAR: usize = 12;

/// The longest name of a list that is shown whole.
const NAME: usize = 28;

/// So many todo lists are told of.
const TODOS: usize = 3;

/// Draws it. Returns how many rows it took.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, screen: Rect) -> u16 {
    let theme = app.settings.theme;
    let views = views(app, usize::from(screen.width));
    let views_width: usize = views.iter().map(|(_, line)| line.width() + 1).sum();
    let room = usize::from(screen.width).saturating_sub(views_width + 2);
    let truth = truth(app, room);
    put(frame, screen, screen.y, &truth, theme, Style::new());
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

/// Returns the views, each with its key; by their keys alone where there is little room.
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
    let fits = long.iter().map(|(_, line)| line.width() + 1).sum::<usize>() + 62 <= width;
    if fits { long } else { all(false) }
}

fn truth(app: &App, room: usize) -> Line {
    let look = app.look(room);
    let tally = app.tally;
    let mut line = Line::plain(" ").with(Tone::Strong, &cut_text(app.list.as_str(), NAME, look.ellipsis()));
    line.push(Tone::Plain, "  ");
    if tally.total() == 0 {
        line.push(Tone::Dim, if app.watched.is_some() { "no tasks" } else { "" });
        line.push(Tone::Dim, &format!("{}you are {}", if app.watched.is_some() { look.dot() } else { "" }, app.actor));
        return line.cut(room, look.ellipsis());
    }
    let long = pieces(app, true);
    let is_long = line.width() + width_of(&long) <= room;
    let mut pieces = if is_long { long } else { pieces(app, false) };
    let actor =
        [format!("you are {}", app.actor), app.actor.to_string()].map(|words| Line::new().with(Tone::Dim, &words));
    let free = room.saturating_sub(line.width() + width_of(&pieces));
    pieces.extend(actor.into_iter().find(|actor| width_of(slice::from_ref(actor)) <= free));
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

/// Returns the numbers, the most important first: in words, or where there is little room by their marks.
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
        (busy, Tone::Active, format!("{busy} in progress"), look.either("◼", ">")),
        (tally.ready, Tone::Plain, format!("{} ready", tally.ready), look.either("◻", "o")),
        (tally.blocked, Tone::Dim, format!("{} blocked", tally.blocked), look.either("‹", "<")),
    ];
    for (count, tone, words, mark) in all.into_iter().filter(|(count, ..)| *count > 0) {
        pieces.push(Line::new().with(tone, &if in_words { words } else { format!("{mark} {count}") }));
    }
    pieces
}

/// Returns what stands between the line of truth and the view: what agents do by their own lists, a filter, and what is wrong.
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
        let text = format!(" {} cannot be followed, trying again: {why}", look.either("▲", "!"));
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
        let text = format!(" {} finished; the client has cleared the list, any key goes on", look.either("✔", "[x]"));
        lines.push(Line::new().with(Tone::Done, &text));
    }
    lines.into_iter().map(|line| line.cut(width, look.ellipsis())).collect()
}
