//! One task in full: its description, notes, edges, jobs and journal.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::live::LiveList;
use taskyard::core::render::{Line, TaskPage, Tone, entry_line, task_page};
use taskyard::core::{Task, TaskId};

use super::canvas::put;
use crate::app::App;
use crate::news::PageFacts;

/// So many tasks of each kind are named around the one that is shown.
const NEIGHBOURS: usize = 40;

/// So much of a description is shown.
const LONGEST: usize = 64 * 1024;

/// Draws the task under the cursor.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    if area.width < 10 {
        return;
    }
    let lines = lines(app, usize::from(area.width));
    let most = lines.len().saturating_sub(usize::from(area.height).min(lines.len()));
    app.page_scroll = app.page_scroll.min(most);
    for (row, line) in (area.y..area.bottom()).zip(lines.iter().skip(app.page_scroll)) {
        put(frame, area, row, line, app.settings.theme, Style::new());
    }
}

fn lines(app: &App, width: usize) -> Vec<Line> {
    let Some((mut task, live)) = app.current().zip(app.watched.as_ref().map(|watched| watched.live())) else {
        return Vec::new();
    };
    if task.description.len() > LONGEST {
        task.description.truncate(task.description.floor_char_boundary(LONGEST));
    }
    let look = app.look(width);
    let facts = app.page.as_deref().filter(|page| page.task == task.id);
    let lease = app.lease(&task.id).map(|(lease, state)| (lease, state));
    let page = TaskPage {
        session: &[],
        open_blockers: &read(live, live.open_blockers(&task.id)),
        dependents: &read(live, live.waiting_for(&task.id)),
        subtasks: &read(live, live.parts_of(&task.id)),
        jobs: facts.map(|facts| &facts.jobs[..]).unwrap_or_default(),
        lease,
        made: facts.and_then(|facts| facts.made.as_ref()),
        changed: None,
        task: &task,
    };
    let mut lines = task_page(&page, &look);
    if let Some(PageFacts { journal, .. }) = facts.filter(|facts| !facts.journal.is_empty()) {
        lines.push(Line::new());
        lines.push(Line::new().with(Tone::Dim, "  Journal"));
        let narrower = app.look(width.saturating_sub(4));
        lines.extend(journal.iter().map(|entry| {
            let mut line = Line::plain("    ");
            line.append(entry_line(entry, &narrower));
            line
        }));
    }
    lines.into_iter().map(|line| line.cut(width, look.ellipsis())).collect()
}

fn read(live: &LiveList, ids: Vec<TaskId>) -> Vec<Task> {
    ids.iter().take(NEIGHBOURS).filter_map(|id| live.task(id)).collect()
}
