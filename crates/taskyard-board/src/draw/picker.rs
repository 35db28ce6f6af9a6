//! What can be picked, above the line in which it is typed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone, task_line};
use taskyard::core::view::info;

use super::canvas::{lay, put, wipe};
use crate::app::{App, Choice, Hit};

/// So many choices are seen at once.
const MOST: u16 = 12;

/// Draws it at the foot of the view.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) {
    let Some(picker) = app.picker() else { return };
    let count = picker.shown.len();
    let height = u16::try_from(count.max(1)).unwrap_or(MOST).min(MOST).min(body.height.saturating_sub(1).max(1));
    let area = Rect { y: body.bottom() - height, height, ..body };
    wipe(frame, Rect { y: area.y.saturating_sub(1).max(body.y), height: area.height + 1, ..area }, app.settings.theme);
    let theme = app.settings.theme;
    let width = usize::from(area.width);
    let look = app.look(width);
    if area.y > body.y {
        let rule = look.either("─", "-").repeat(width);
        put(frame, body, area.y - 1, &Line::new().with(Tone::Dim, &rule), theme, Style::new());
    }
    if count == 0 {
        let words = if picker.is_filtering() { "  looking" } else { "  nothing of that name" };
        put(frame, area, area.y, &Line::new().with(Tone::Dim, words), theme, Style::new());
        return;
    }
    let top = App::scrolled(picker.cursor, 0, usize::from(height));
    let mut hits = Vec::new();
    for (row, place) in (area.y..area.bottom()).zip(top..count) {
        let is_at = place == picker.cursor;
        let mut line = Line::plain(if is_at { look.either("▸ ", "> ") } else { "  " });
        line.append(choice(app, &picker.shown[place], width.saturating_sub(2)));
        put(frame, area, row, &line.cut(width, look.ellipsis()), theme, Style::new());
        if is_at {
            lay(frame, area, row, theme.cursor());
        }
        hits.push((Rect { y: row, height: 1, ..area }, Hit::Choice(place)));
    }
    app.hits.append(&mut hits);
}

fn choice(app: &App, choice: &Choice, width: usize) -> Line {
    let look = app.look(width);
    match choice {
        Choice::Task(id) => {
            let live = app.watched.as_ref().map(|watched| watched.live());
            match live.and_then(|live| Some((live, live.task(id)?))) {
                Some((live, task)) => task_line("", 0, &task, &live.open_blockers(id), &look),
                None => Line::new().with(Tone::Dim, &format!("#{id} is not there")),
            }
        }
        Choice::Name(name) => Line::new().with(super::row_facts::owner_tone(app, name), name),
        Choice::NewName(name) => Line::new().with(Tone::Owner, name).with(Tone::Dim, "  (a name nobody has here yet)"),
        Choice::Nobody => Line::new().with(Tone::Dim, "nobody"),
        Choice::Everybody => Line::plain("everybody in the team"),
        Choice::Command(name, does) => {
            let mut line = Line::plain(&format!("{name:14}"));
            line.append(Line::new().with(Tone::Hint, "…").padded(12));
            line.push(Tone::Dim, &format!(" {does}"));
            line
        }
        Choice::CommandLine(words) => Line::plain("run ").with(Tone::Hint, &format!("taskyard {words}")),
        Choice::Action(action) => {
            let info = info(*action);
            let tone = if app.applies(*action) { Tone::Plain } else { Tone::Dim };
            let keys = app.settings.keymap.keys(*action).join(" ");
            let mut line = Line::new().with(tone, &format!("{:14}", info.name));
            line.append(Line::new().with(Tone::Hint, &keys).padded(12));
            line.push(Tone::Dim, &format!(" {}", info.help));
            line
        }
    }
}
