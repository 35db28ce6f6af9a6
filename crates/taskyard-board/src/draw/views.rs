//! The views other than tasks: agents, jobs, messages, history and lists.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};
use taskyard::core::view::{agent_line, job_row_line, letter_lines, list_line, step_line, thread_line};

use super::rows::{divide, draw_rows, draw_words, put};
use crate::app::{App, Hit};

/// The maximum length of a name.
const AGENT_NAME: usize = 24;

/// Draws the agents. Returns the screen row of the cursor.
pub(super) fn draw_agents(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.agents.is_empty() {
        let words = [
            "no agents are working on this list",
            "`taskyard claim --next --as NAME` claims a task, `taskyard team create NAME` creates a team",
        ];
        draw_words(frame, app, body, &words);
        return None;
    }
    let widest = app.agents.iter().map(|agent| Line::plain(&agent.name).width()).max().unwrap_or(0).min(AGENT_NAME);
    if app.is_open {
        draw_agent_output(frame, app, body);
        return Some(body.y);
    }
    let has_outputs = !app.agent_outputs.is_empty();
    let most = if has_outputs { (body.height / 2).max(1) } else { body.height };
    let listed = u16::try_from(app.agents.len()).unwrap_or(u16::MAX).min(most);
    let cursor = draw_rows(frame, app, Rect { height: listed, ..body }, app.agents.len(), |app, place, width| {
        app.agents.get(place).map(|agent| agent_line(agent, widest, &app.look(width))).unwrap_or_default()
    });
    draw_agent_output(frame, app, Rect { y: body.y + listed, height: body.height.saturating_sub(listed), ..body });
    cursor
}

/// Draws the jobs. Returns the screen row of the cursor.
pub(super) fn draw_jobs(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.jobs.is_empty() {
        draw_words(frame, app, body, &["no jobs on this list", "start one with `taskyard job run -- COMMAND`"]);
        return None;
    }
    if app.is_open {
        output(frame, app, body);
        return Some(body.y);
    }
    let most = body.height / 2;
    let listed = u16::try_from(app.jobs.len()).unwrap_or(u16::MAX).min(most).max(1);
    let cursor = draw_rows(frame, app, Rect { height: listed, ..body }, app.jobs.len(), |app, place, width| {
        app.jobs.get(place).map(|job| job_row_line(job, &app.look(width))).unwrap_or_default()
    });
    output(frame, app, Rect { y: body.y + listed, height: body.height.saturating_sub(listed), ..body });
    cursor
}

/// Draws the end of the output of the agent under the cursor.
fn draw_agent_output(frame: &mut Frame<'_>, app: &App, area: Rect) {
    if let Some(output) = app.output_of_agent() {
        let state = output.job.state.as_str();
        let title = format!("{} {} ({state}) {}", output.agent, output.job.id, output.job.command);
        draw_output(frame, app, area, &title, &output.lines);
    }
}

/// Draws the end of the output of the job under the cursor.
fn output(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let Some(job) = app.jobs.get(app.row) else { return };
    let told = app.output.as_ref().filter(|(id, _)| *id == job.id);
    let lines = told.map(|(_, lines)| &lines[..]).unwrap_or_default();
    draw_output(frame, app, area, &format!("{} {}", job.id, job.command), lines);
}

/// Draws the last lines of some output below a title.
fn draw_output(frame: &mut Frame<'_>, app: &App, area: Rect, title: &str, lines: &[String]) {
    let theme = app.settings.theme;
    let width = usize::from(area.width);
    let look = app.look(width);
    if area.height == 0 {
        return;
    }
    let mark = look.either("─", "-");
    let title = Line::new().with(Tone::Dim, &format!("{mark} {title} ")).cut(width, look.ellipsis());
    let rule = mark.repeat(width.saturating_sub(title.width()));
    put(frame, area, area.y, &title.with(Tone::Dim, &rule), theme, Style::new());
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let first = lines.len().saturating_sub(usize::from(below.height));
    for (row, text) in (below.y..below.bottom()).zip(&lines[first..]) {
        put(frame, below, row, &Line::plain(text).cut(width, look.ellipsis()), theme, Style::new());
    }
}

/// The width in columns from which the conversation is shown beside the list.
const WIDE: u16 = 100;

/// The maximum length of a name.
const SENDER_NAME: usize = 20;

/// Draws the messages. Returns the screen row of the cursor.
pub(super) fn draw_mail(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if let Some(problem) = &app.mail.problem {
        let words = format!("messages cannot be read: {problem}");
        draw_words(frame, app, body, &[&words]);
        return None;
    }
    if app.mail.name.is_none() {
        let words = format!("{} is not in a team of this list", app.actor);
        draw_words(frame, app, body, &[&words, "join one with `taskyard team join TEAM`"]);
        return None;
    }
    let count = app.rows();
    if count == 0 {
        draw_words(frame, app, body, &["no messages", "m writes one"]);
        return None;
    }
    if app.is_open {
        conversation(frame, app, body);
        return Some(body.y);
    }
    let unicode = app.settings.unicode;
    let (listed, below) = if body.width >= WIDE {
        let width = body.width * 2 / 5;
        let right = Rect { x: body.x + width + 2, width: body.width.saturating_sub(width + 2), ..body };
        divide(frame, body.x + width, right, app.settings.theme, if unicode { "│" } else { "|" });
        (Rect { width: width - 1, ..body }, right)
    } else {
        let height = u16::try_from(count).unwrap_or(u16::MAX).min(body.height / 3).max(1);
        let below = Rect { y: body.y + height, height: body.height.saturating_sub(height), ..body };
        let rule = if unicode { "─" } else { "-" }.repeat(usize::from(body.width));
        put(frame, below, below.y, &Line::new().with(Tone::Dim, &rule), app.settings.theme, Style::new());
        let below = Rect {
            x: below.x + 2,
            width: below.width.saturating_sub(2),
            y: below.y + 1,
            height: below.height.saturating_sub(1),
        };
        (Rect { height, ..body }, below)
    };
    let widest =
        app.mail.threads.iter().map(|thread| Line::plain(&thread.with).width()).max().unwrap_or(0).min(SENDER_NAME);
    let cursor = draw_rows(frame, app, listed, count, |app, place, width| {
        app.mail.threads.get(place).map(|thread| thread_line(thread, widest, &app.look(width))).unwrap_or_default()
    });
    app.hits.push((below, Hit::Detail));
    conversation(frame, app, below);
    cursor
}

/// Draws the end of the conversation under the cursor, or the part that is scrolled to.
fn conversation(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    let Some(thread) = app.mail.threads.get(app.row) else { return };
    let width = usize::from(area.width);
    let lines = letter_lines(thread, width, &app.look(width));
    let most = lines.len().saturating_sub(usize::from(area.height));
    app.page_scroll = app.page_scroll.min(most);
    for (row, line) in (area.y..area.bottom()).zip(lines.iter().skip(most - app.page_scroll)) {
        put(frame, area, row, line, app.settings.theme, Style::new());
    }
}

/// Draws the history. Returns the screen row of the cursor.
pub(super) fn draw_history(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.history.steps.is_empty() {
        let words = if app.history.is_asked { "reading the journal" } else { "nothing has happened yet" };
        draw_words(frame, app, body, &[words]);
        return None;
    }
    draw_rows(frame, app, body, app.history.steps.len(), |app, place, width| {
        app.history.steps.get(place).map(|step| step_line(step, &app.look(width))).unwrap_or_default()
    })
}

/// The maximum length of a name.
const LIST_NAME: usize = 40;

/// Draws the lists. Returns the screen row of the cursor.
pub(super) fn draw_lists(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    let Some(lists) = &app.lists else {
        draw_words(frame, app, body, &["looking for lists"]);
        return None;
    };
    if lists.is_empty() {
        draw_words(frame, app, body, &["no lists yet", "c creates a task, and with it the first list"]);
        return None;
    }
    let widest = lists.iter().map(|row| Line::plain(row.list.as_str()).width()).max().unwrap_or(0).min(LIST_NAME);
    draw_rows(frame, app, body, lists.len(), |app, place, width| {
        let shown = app.lists.as_ref().and_then(|lists| lists.get(place));
        shown.map(|row| list_line(row, row.list == app.list, widest, &app.look(width))).unwrap_or_default()
    })
}
