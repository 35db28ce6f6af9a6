//! Overlays: help, the picker, refusals and the pane.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::forms::one_line::InlineTask;
use taskyard::core::render::{Line, Tone, numbered, task_line, wrapped};
use taskyard::core::timing::work_in_words;
use taskyard::core::view::{ActionInfo, Subject, actions, info};
use taskyard::core::{Task, TaskId};

use super::rows::{lay, owner_tone, put, wipe};
use crate::app::{App, Choice, Hit, MessageKind, Mode};
use crate::messages::PaneEnd;

/// Returns whether an action belongs to a group.
type IsOf = fn(&ActionInfo) -> bool;

/// Draws the help over the view.
pub(super) fn draw_help(frame: &mut Frame<'_>, app: &mut App, body: Rect) {
    wipe(frame, body, app.settings.theme);
    let lines = help_lines(app, usize::from(body.width));
    let most = lines.len().saturating_sub(usize::from(body.height));
    app.help_scroll = app.help_scroll.min(most);
    let width = usize::from(body.width);
    let look = app.look(width);
    for (row, line) in (body.y..body.bottom()).zip(lines.into_iter().skip(app.help_scroll)) {
        put(frame, body, row, &line.cut(width, look.ellipsis()), app.settings.theme, Style::new());
    }
}

/// The width from which a key, its name and its description fit on one line.
const WIDE_HELP: usize = 64;

fn help_lines(app: &App, width: usize) -> Vec<Line> {
    let look = app.look(width);
    let mut lines = vec![
        Line::plain(" ").with(Tone::Strong, "Keys").with(Tone::Dim, "  j k scroll, any other key closes"),
        Line::new(),
    ];
    let groups: [(&str, IsOf); 4] = [
        ("The selected tasks, or the one under the cursor", |info| {
            matches!(info.subject, Subject::Task | Subject::Tasks)
        }),
        ("The list, jobs and messages", |info| {
            matches!(info.subject, Subject::List | Subject::Job | Subject::Message | Subject::Revision)
        }),
        ("Views", |info| info.subject == Subject::Board && info.keys[0].chars().all(|key| key.is_ascii_digit())),
        ("Moving and finding", |info| {
            info.subject == Subject::Board && !info.keys[0].chars().all(|key| key.is_ascii_digit())
        }),
    ];
    for (title, is_of) in groups {
        lines.extend(
            wrapped(title, width.saturating_sub(2)).iter().map(|text| Line::plain(" ").with(Tone::Strong, text)),
        );
        for info in actions().iter().filter(|info| is_of(info)) {
            let keys = app.settings.keymap.keys(info.action).join(" ");
            lines.extend(explained(Line::new().with(Tone::Hint, &keys), info.name, info.help, width));
        }
        lines.push(Line::new());
    }
    lines.push(Line::plain(" ").with(Tone::Strong, "Marks"));
    for (tone, mark, words) in [
        (Tone::Plain, look.either("◻", "[ ]"), "pending; dim with ‹ and numbers if it is blocked"),
        (Tone::Active, look.either("◼", "[>]"), "in progress, with its owner and for how long"),
        (Tone::Done, look.either("✔", "[x]"), "done"),
        (Tone::Dim, look.either("✘", "[-]"), "cancelled"),
        (Tone::Error, look.either("▲", "!"), "needs you: overdue, failed, abandoned, unread, unreadable, gone"),
    ] {
        let words = words.replace('‹', look.either("‹", "<"));
        lines.extend(explained(Line::new().with(tone, mark), "", &words, width));
    }
    lines
}

/// Returns the lines that explain a key or mark: on one line if there is room, otherwise with the description below.
/// Nothing is truncated.
fn explained(key: Line, name: &str, words: &str, width: usize) -> Vec<Line> {
    let (at, named) = if width >= WIDE_HELP { (17, 14) } else { (10, 0) };
    let mut first = Line::plain("  ");
    first.append(key.padded(at - 2));
    if first.width() > at {
        first.push(Tone::Plain, " ");
    }
    if named > 0 && !name.is_empty() {
        first.append(Line::plain(name).padded(named));
    }
    let indent = first.width();
    let mut lines: Vec<Line> = Vec::new();
    for text in wrapped(words, width.saturating_sub(indent + 1).max(12)) {
        let mut line = if lines.is_empty() { first.clone() } else { Line::plain(&" ".repeat(indent)) };
        line.push(Tone::Dim, &text);
        lines.push(line);
    }
    lines
}

/// The maximum number of visible choices.
const MOST_CHOICES: u16 = 12;

/// Draws the picker at the bottom of the view.
pub(super) fn draw_picker(frame: &mut Frame<'_>, app: &mut App, body: Rect) {
    let Some(picker) = app.picker() else { return };
    let count = picker.shown.len();
    let height =
        u16::try_from(count.max(1)).unwrap_or(MOST_CHOICES).min(MOST_CHOICES).min(body.height.saturating_sub(1).max(1));
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
        let words = if picker.is_filtering() { "  looking" } else { "  no match" };
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
                None => Line::new().with(Tone::Dim, &format!("#{id} does not exist")),
            }
        }
        Choice::List(list) => Line::plain(list.as_str()).padded(27).with(Tone::Dim, "list"),
        Choice::Agent(name) => {
            let mut line = Line::new().with(owner_tone(app, name), name).padded(27);
            line.push(Tone::Dim, "agent");
            line
        }
        Choice::Value(value, Ok(meaning)) => {
            let mut line = Line::plain(value).padded(14);
            line.push(Tone::Dim, meaning.as_deref().unwrap_or_default());
            line
        }
        Choice::Value(value, Err(why)) => Line::new().with(Tone::Dim, value).with(Tone::Warning, &format!("  {why}")),
        Choice::Name(name) => Line::new().with(owner_tone(app, name), name),
        Choice::NewName(name) => Line::new().with(Tone::Owner, name).with(Tone::Dim, "  (a new name)"),
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

/// The maximum height of a refusal in rows.
const MOST_LINES: usize = 6;

/// Draws a refusal below the cursor, or above it if there is no room.
pub(super) fn draw_refusal(frame: &mut Frame<'_>, app: &App, body: Rect, cursor: Option<u16>) {
    let Some(message) = app.message.as_ref().filter(|message| message.kind == MessageKind::Refused) else { return };
    let width = usize::from(body.width.saturating_sub(6)).max(8);
    let look = app.look(width);
    let mark = look.either("▲ ", "! ");
    let mut lines: Vec<Line> = Vec::new();
    for (place, text) in wrapped(&message.text, width).into_iter().enumerate() {
        let before = if place == 0 { mark } else { "  " };
        lines.push(Line::new().with(Tone::Error, before).with(Tone::Error, &text));
    }
    for text in message.hint.iter().flat_map(|hint| wrapped(hint, width)) {
        lines.push(Line::plain("  ").with(Tone::Hint, &text));
    }
    lines.truncate(MOST_LINES.min(usize::from(body.height)));
    let height = u16::try_from(lines.len()).unwrap_or(1);
    let at = cursor.map_or(body.y, |cursor| cursor + 1);
    let y = if at + height <= body.bottom() { at } else { cursor.unwrap_or(body.y).saturating_sub(height).max(body.y) };
    let area = Rect { y, height: height.min(body.bottom() - y), ..body };
    wipe(frame, area, app.settings.theme);
    for (row, line) in (area.y..area.bottom()).zip(&lines) {
        let indented = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
        put(frame, indented, row, line, app.settings.theme, Style::new());
    }
}

/// Draws the output of a typed command over the lower part of the view.
pub(super) fn draw_pane(frame: &mut Frame<'_>, app: &mut App, body: Rect) {
    let (theme, width) = (app.settings.theme, usize::from(body.width));
    let look = app.look(width);
    let Mode::Pane(pane) = &mut app.mode else { return };
    let wanted = u16::try_from(pane.lines.len()).unwrap_or(u16::MAX).saturating_add(1);
    let height = wanted.clamp(3, (body.height * 7 / 10).max(3)).min(body.height);
    let area = Rect { y: body.bottom() - height, height, ..body };
    wipe(frame, area, theme);
    let (tone, state) = match &pane.end {
        None => (Tone::Active, "running, esc stops it".to_owned()),
        Some(PaneEnd::Code(0)) => (Tone::Done, "done, esc closes".to_owned()),
        Some(PaneEnd::Code(code)) => (Tone::Error, format!("exit code {code}, esc closes")),
        Some(PaneEnd::Other(why)) => (Tone::Error, format!("{why}, esc closes")),
    };
    let mark = look.either("─", "-");
    let mut title = Line::new().with(Tone::Dim, mark).with(Tone::Strong, &format!(" taskyard {} ", pane.command));
    title.push(tone, &format!("{mark} {state} "));
    let title = title.cut(width, look.ellipsis());
    let rule = mark.repeat(width.saturating_sub(title.width()));
    put(frame, area, area.y, &title.with(Tone::Dim, &rule), theme, Style::new());
    let rows = usize::from(area.height - 1);
    pane.scroll = pane.scroll.min(pane.lines.len().saturating_sub(rows));
    let first = pane.lines.len().saturating_sub(rows + pane.scroll);
    for (row, text) in (area.y + 1..area.bottom()).zip(&pane.lines[first..]) {
        put(frame, area, row, &Line::plain(text).cut(width, look.ellipsis()), theme, Style::new());
    }
}

/// Draws the meaning of the attributes of a task being typed, above the typed line.
pub(super) fn draw_typed_task(frame: &mut Frame<'_>, app: &App, body: Rect) {
    let Mode::Typing(prompt) = &app.mode else { return };
    if !prompt.creates() || body.height < 3 {
        return;
    }
    let width = usize::from(body.width);
    let look = app.look(width);
    let mut line = Line::plain(" ");
    match InlineTask::of_line(prompt.line.text(), &app.clock()) {
        Err(bad) => line.push(Tone::Warning, &bad.to_string()),
        Ok(inline) => {
            let after = inline.after.clone();
            let owner = inline.owner.clone();
            let task =
                Task { metadata: inline.extras.metadata(app.settings.working_day), ..Task::new(TaskId::number(1), "") };
            let mut facts: Vec<String> = Vec::new();
            facts.extend(task.due().map(|due| format!("due {}", look.planned(due))));
            facts.extend(task.defer().map(|defer| format!("ready {}", look.planned(defer))));
            facts.extend(task.estimate().map(|estimate| format!("takes {}", work_in_words(estimate))));
            facts.extend(task.stated_priority().map(|priority| format!("priority {priority}")));
            facts.extend(task.tags().map(|tag| format!("+{tag}")));
            facts.extend(owner.map(|owner| format!("for {owner}")));
            facts.extend((!after.is_empty()).then(|| format!("after {}", numbered(&after))));
            let none = "attributes: due:fri pri:high +tag est:2h defer:mon parent:3 after:4 owner:ana";
            line.push(Tone::Dim, &if facts.is_empty() { none.to_owned() } else { facts.join(look.dot()) });
        }
    }
    let area = Rect { y: body.bottom() - 1, height: 1, ..body };
    wipe(frame, area, app.settings.theme);
    put(frame, area, area.y, &line.cut(width, look.ellipsis()), app.settings.theme, Style::new());
}
