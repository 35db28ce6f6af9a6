//! What waits for what: ranks from left to right, the critical path in heavy lines.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::Status;
use taskyard::core::render::{Line, Look, Tone};
use taskyard::core::view::{GraphNode, graph_lines};

use super::canvas::put;
use super::rows;
use crate::app::{App, Hit};

/// Draws it. Returns the row of the screen on which the cursor stands.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.graph.picture.is_empty() {
        rows::say(frame, app, body, &["no open task", "c makes one; b on a task picks what it waits for"]);
        return None;
    }
    let theme = app.settings.theme;
    let width = usize::from(body.width);
    let look = app.look(width);
    let area = Rect { y: body.y + 1, height: body.height.saturating_sub(1), ..body };
    let window = app.graph_window(width, usize::from(area.height));
    put(frame, body, body.y, &look.fitted(sum(app, &look)), theme, Style::new());
    let lines = graph_lines(&app.graph.picture, &window, &look, |node, columns| label(app, node, columns, &look));
    let mut cursor = None;
    let mut hits = Vec::new();
    for (row, drawn) in (area.y..area.bottom()).zip(&lines) {
        put(frame, area, row, &drawn.line, theme, Style::new());
        for (columns, task) in &drawn.tasks {
            let x = area.x + u16::try_from(columns.start).unwrap_or(u16::MAX);
            let spot =
                Rect { x, y: row, width: u16::try_from(columns.len()).unwrap_or(0), height: 1 }.intersection(area);
            if app.flashes.contains_key(task) {
                frame.buffer_mut().set_style(spot, theme.flash());
            }
            if app.at_task.as_ref() == Some(task) {
                frame.buffer_mut().set_style(spot, theme.cursor());
                // Where a line leads to it, its point marks it already.
                let mark = if app.settings.unicode { "▸" } else { ">" };
                let is_pointed_at = spot.x >= area.x + 2 && frame.buffer_mut()[(spot.x - 2, row)].symbol() == mark;
                if !is_pointed_at {
                    frame.buffer_mut().set_stringn(spot.x.saturating_sub(1), row, mark, 1, Style::new());
                }
                cursor = Some(row);
            }
            hits.push((spot, Hit::Node(task.clone())));
        }
    }
    app.hits.append(&mut hits);
    cursor
}

/// Returns how large the graph is, and how much of it is seen.
fn sum(app: &App, look: &Look) -> Line {
    let picture = &app.graph.picture;
    let mut line = Line::plain(" ");
    match picture.critical_path() {
        0 => line.push(Tone::Dim, "no task waits for another"),
        tasks => {
            line.push(Tone::Warning, look.either("━━ ", "== "));
            line.push(Tone::Plain, &format!("critical path: {tasks} tasks"));
        }
    }
    if picture.ranks() > 1 {
        let first = app.graph.first_rank + 1;
        let last = (app.graph.first_rank + app.graph.drawn_ranks.max(1)).min(picture.ranks());
        line.push(Tone::Dim, &format!("{}ranks {first} to {last} of {}", look.dot(), picture.ranks()));
    }
    line
}

fn label(app: &App, node: &GraphNode, columns: usize, look: &Look) -> Line {
    let task = app.watched.as_ref().and_then(|watched| watched.live().task(&node.task));
    let Some(task) = task else { return Line::new().with(Tone::Dim, &format!("#{}", node.task)) };
    let (tone, mark) = look.mark(&task);
    let mut line = Line::new().with(tone, mark).with(Tone::Id, &format!(" #{}", task.id));
    if app.selected.contains(&task.id) {
        line.push(Tone::Hint, look.either(" ●", " *"));
    }
    let mut behind = Line::new();
    if node.folded_away > 0 {
        behind.push(Tone::Hint, &format!(" +{}", node.folded_away));
    }
    if !node.waits_unseen_for.is_empty() {
        let ids: Vec<String> = node.waits_unseen_for.iter().take(3).map(|id| format!("#{id}")).collect();
        behind.push(Tone::Dim, &format!(" {} {}", look.either("‹", "<"), ids.join(" ")));
    }
    // A line leaves a task with a space between, and the cursor stands before the next.
    let room = columns.saturating_sub(line.width() + behind.width() + 3);
    if room >= 4 {
        let tone = if task.status == Status::InProgress { Tone::Strong } else { Tone::Plain };
        line.push(Tone::Plain, " ");
        line.append(Line::new().with(tone, &task.shown_subject()).cut(room, look.ellipsis()));
    }
    line.append(behind);
    line
}
