//! The views of tasks: list, columns, graph, and the details of one task.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use taskyard::core::live::LiveList;
use taskyard::core::render::{
    Line, Look, TaskPage, Tone, entry_line, historic_line, historic_mark_line, task_page, wrapped,
};
use taskyard::core::view::{Action, GraphNode, Row, TreeRow, card_lines, graph_lines, row_line};
use taskyard::core::{Status, Task, TaskId};

use super::rows::{divide, draw_words, lay, mark, put, put_at, with_facts};
use crate::app::{App, ClientStyle, Hit};
use crate::messages::PageFacts;

/// The columns before each row, for the cursor and the selection mark.
const GUTTER: u16 = 2;

/// Draws the list. Returns the screen row of the cursor.
pub(super) fn draw_list(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if !app.shows_detail() {
        return task_rows(frame, app, body);
    }
    let width = (body.width * 11 / 20).max(40);
    let left = Rect { width: width - 1, ..body };
    let right = Rect { x: body.x + width + 2, width: body.width.saturating_sub(width + 2), ..body };
    divide(frame, body.x + width, right, app.settings.theme, if app.settings.unicode { "│" } else { "|" });
    let cursor = task_rows(frame, app, left);
    app.hits.push((right, Hit::Detail));
    draw_detail(frame, app, right);
    cursor
}

fn task_rows(frame: &mut Frame<'_>, app: &mut App, area: Rect) -> Option<u16> {
    if app.rows() == 0 {
        empty(frame, app, area);
        return None;
    }
    let height = usize::from(area.height);
    app.top = App::scrolled(app.row, app.top.min(app.rows().saturating_sub(1)), height);
    let look = app.look(usize::from(area.width));
    let seen: Vec<(usize, Row, Option<Task>)> = {
        let live = app.watched.as_ref()?.live();
        let places = app.top..(app.top + height).min(app.arrangement.len());
        let row = |place: usize| {
            let row = app.arrangement.row(place)?;
            let task = if let Row::Task(row) = &row { row.task(live) } else { None };
            Some((place, row, task))
        };
        places.filter_map(row).collect()
    };
    let id_width = seen.iter().filter_map(|(.., task)| task.as_ref()).map(|task| task.id.as_str().len() + 1).max();
    let mut cursor = None;
    for (place, row, task) in &seen {
        let y = area.y + u16::try_from(place - app.top).unwrap_or(0);
        let is_at = *place == app.row;
        let line = match (row, task) {
            (Row::Task(row), Some(task)) => task_row(app, row, task, (id_width.unwrap_or(2), area), &look),
            (Row::Task(_), None) => Line::new().with(Tone::Error, "cannot be read"),
            (Row::Completed(hidden), _) => Line::new().with(Tone::Dim, &format!("+ {hidden} completed")),
        };
        let glows = task.as_ref().is_some_and(|task| app.flashes.contains_key(&task.id));
        let base = if glows { app.settings.theme.flash() } else { Style::new() };
        let is_selected = task.as_ref().is_some_and(|task| app.selected.contains(&task.id));
        mark(frame, app, area, y, (is_at, is_selected));
        put_at(frame, area, (area.x + GUTTER, y), &line, app.settings.theme, base);
        if is_at {
            lay(frame, area, y, app.settings.theme.cursor());
            cursor = Some(y);
        }
        app.hits.push((Rect { y, height: 1, ..area }, Hit::Row(*place)));
    }
    // An unreadable file has a row even if its task is unknown.
    let first = app.arrangement.len();
    for (place, (id, why)) in app.unreadable_rows().into_iter().enumerate().map(|(at, row)| (first + at, row)) {
        let Some(y) = place.checked_sub(app.top).filter(|row| *row < height) else { continue };
        let y = area.y + u16::try_from(y).unwrap_or(0);
        let is_at = place == app.row;
        let mut line = Line::new().with(Tone::Error, look.either("▲", "!"));
        line.push(Tone::Dim, &format!(" #{id} "));
        line.push(Tone::Error, &why);
        mark(frame, app, area, y, (is_at, false));
        let line = line.cut(usize::from(area.width.saturating_sub(GUTTER)), look.ellipsis());
        put_at(frame, area, (area.x + GUTTER, y), &line, app.settings.theme, Style::new());
        if is_at {
            lay(frame, area, y, app.settings.theme.cursor());
            cursor = Some(y);
        }
        app.hits.push((Rect { y, height: 1, ..area }, Hit::Row(place)));
    }
    cursor
}

fn task_row(app: &App, row: &TreeRow, task: &Task, (id_width, area): (usize, Rect), look: &Look) -> Line {
    let width = usize::from(area.width.saturating_sub(GUTTER));
    match app.settings.style {
        Some(ClientStyle::V2_1_19) => return historic_line(task).cut(width, look.ellipsis()),
        Some(ClientStyle::V2_1_20) => return historic_mark_line(task).cut(width, look.ellipsis()),
        None => {}
    }
    let parts = app.watched.as_ref().and_then(|watched| row.progress(watched.live()));
    let line = with_facts(app, task, (parts, row.is_folded()), |facts| {
        row_line(&row.guides(look), id_width, facts, width, look)
    });
    line.unwrap_or_default()
}

/// Says what to do first if there is nothing to show.
fn empty(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let key = |action| app.key(action).unwrap_or("?").to_owned();
    let mut lines: Vec<Line> = vec![Line::new()];
    let mut say = |text: String| lines.push(Line::new().with(Tone::Dim, &format!("  {text}")));
    if app.filter.is_some() {
        say("no matching tasks; esc shows all".to_owned());
    } else if let Some(gone) = &app.gone {
        let tasks = if gone.open == 1 { "1 open task is".to_owned() } else { format!("{} open tasks are", gone.open) };
        say(format!("{tasks} gone: another program removed the files"));
        say(format!("{} restores them, {} shows what happened", key(Action::Restore), key(Action::ShowHistory)));
    } else {
        say("no tasks yet".to_owned());
        say(format!("{} creates the first task, {} explains the keys", key(Action::Create), key(Action::Help)));
        say(format!("{} shows the other lists", key(Action::ShowLists)));
    }
    for (row, line) in (area.y..area.bottom()).zip(&lines) {
        let look = app.look(usize::from(area.width));
        put(
            frame,
            area,
            row,
            &line.clone().cut(usize::from(area.width), look.ellipsis()),
            app.settings.theme,
            Style::new(),
        );
    }
}

/// The height of a card in rows: one, two with its details, or three with an empty row below.
#[derive(Clone, Copy)]
struct CardRows(u16);

impl CardRows {
    /// Returns the largest height at which the longest column is completely visible, or one.
    fn fitting(cards: usize, rows: u16) -> Self {
        Self([3, 2].into_iter().find(|each| cards * usize::from(*each) <= usize::from(rows) + 1).unwrap_or(1))
    }
}

/// Draws the columns. Returns the screen row of the cursor.
pub(super) fn draw_columns(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    let width = body.width / 3;
    let longest = Status::ALL.into_iter().map(|status| app.arrangement.column_length(status)).max().unwrap_or(0);
    let card = CardRows::fitting(longest, body.height.saturating_sub(1));
    let mut cursor = None;
    for (place, status) in Status::ALL.into_iter().enumerate() {
        let x = body.x + width * u16::try_from(place).unwrap_or(0);
        let is_last = place == 2;
        let area = Rect { x, width: if is_last { body.right() - x } else { width.saturating_sub(1) }, ..body };
        if place > 0 {
            divide(frame, x - 1, area, app.settings.theme, if app.settings.unicode { "│" } else { "|" });
        }
        cursor = column(frame, app, area, (status, card)).or(cursor);
    }
    cursor
}

const fn column_name(status: Status) -> &'static str {
    match status {
        Status::Pending => "Pending",
        Status::InProgress => "In progress",
        Status::Completed => "Done",
    }
}

fn column(
    frame: &mut Frame<'_>,
    app: &mut App,
    area: Rect,
    (status, CardRows(each)): (Status, CardRows),
) -> Option<u16> {
    let theme = app.settings.theme;
    let count = app.arrangement.column_length(status);
    let base = if app.column == status { Style::new().add_modifier(Modifier::UNDERLINED) } else { Style::new() };
    let mut head = Line::plain(" ").with(Tone::Strong, column_name(status));
    head.push(Tone::Dim, &format!(" {count}"));
    put(frame, area, area.y, &head, theme, base);
    app.hits.push((area, Hit::Column(status)));
    let area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let fitting = usize::from(area.height.div_ceil(each)).max(1);
    let whole = usize::from((area.height + u16::from(each == 3)) / each).max(1);
    let top = &mut app.column_tops[status as usize];
    *top = (*top).min(count.saturating_sub(1));
    if app.column == status {
        *top = App::scrolled(app.row, *top, whole);
    }
    let top = *top;
    let mut cursor = None;
    for place in top..(top + fitting).min(count) {
        let y = area.y + u16::try_from(place - top).unwrap_or(0) * each;
        let live = app.watched.as_ref()?.live();
        let Some(id) = app.arrangement.in_column(live, status, place) else { continue };
        let Some(task) = live.task(&id) else { continue };
        let is_at = app.column == status && app.row == place;
        let is_selected = app.selected.contains(&id);
        let width = usize::from(area.width.saturating_sub(2));
        let look = app.look(width);
        let parts = live.progress(&id);
        let cards = with_facts(app, &task, (parts, false), |facts| match each {
            1 => vec![row_line("", 0, facts, width, &look)],
            _ => card_lines(facts, width, &look).into(),
        });
        let base = if app.flashes.contains_key(&id) { theme.flash() } else { Style::new() };
        mark(frame, app, area, y, (is_at, is_selected));
        for (row, line) in (y..area.bottom()).zip(cards.iter().flatten()) {
            put_at(frame, area, (area.x + 2, row), line, theme, base);
        }
        if is_at {
            lay(frame, area, y, theme.cursor());
            cursor = Some(y + u16::from(each > 1));
        }
        app.hits.push((Rect { y, height: each.min(area.bottom() - y), ..area }, Hit::Card(status, place)));
    }
    cursor
}

/// The maximum number of related tasks of each kind that are listed for a task.
const NEIGHBOURS: usize = 40;

/// The maximum length of a description that is shown, in bytes.
const LONGEST: usize = 64 * 1024;

/// Draws the task under the cursor.
pub(super) fn draw_detail(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    if area.width < 10 {
        return;
    }
    let lines = page_lines(app, usize::from(area.width));
    let most = lines.len().saturating_sub(usize::from(area.height).min(lines.len()));
    app.page_scroll = app.page_scroll.min(most);
    for (row, line) in (area.y..area.bottom()).zip(lines.iter().skip(app.page_scroll)) {
        put(frame, area, row, line, app.settings.theme, Style::new());
    }
}

fn page_lines(app: &App, width: usize) -> Vec<Line> {
    let look = app.look(width);
    let mut lines = unreadable_lines(app, &look);
    let Some((mut task, live)) = app.current().zip(app.watched.as_ref().map(|watched| watched.live())) else {
        return lines;
    };
    if task.description.len() > LONGEST {
        task.description.truncate(task.description.floor_char_boundary(LONGEST));
    }
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
    lines.extend(task_page(&page, &look));
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

/// Explains why the file of the task under the cursor cannot be read.
fn unreadable_lines(app: &App, look: &Look) -> Vec<Line> {
    let Some((id, why)) = app.at_task.as_ref().and_then(|id| Some((id, app.unreadable.get(id)?))) else {
        return Vec::new();
    };
    let width = look.width.unwrap_or(80);
    let is_known = app.watched.as_ref().is_some_and(|watched| watched.live().contains(id));
    let next = match is_known {
        true => "Below is its last known state. `:doctor --fix` repairs the file, `:history` shows earlier states.",
        false => "Its earlier content is unknown. `:doctor` shows what is wrong with it.",
    };
    let mut lines: Vec<Line> = Vec::new();
    for (tone, text) in [(Tone::Error, format!("{} {why}", look.either("▲", "!"))), (Tone::Dim, next.to_owned())] {
        lines.extend(wrapped(&text, width).into_iter().map(|text| Line::new().with(tone, &text)));
    }
    lines.push(Line::new());
    lines
}

fn read(live: &LiveList, ids: Vec<TaskId>) -> Vec<Task> {
    ids.iter().take(NEIGHBOURS).filter_map(|id| live.task(id)).collect()
}

/// Draws the graph. Returns the screen row of the cursor.
pub(super) fn draw_graph(frame: &mut Frame<'_>, app: &mut App, body: Rect) -> Option<u16> {
    if app.graph.picture.is_empty() {
        draw_words(frame, app, body, &["no open task", "c creates one; b on a task picks its blockers"]);
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
                // If a line leads to the task, its arrowhead already marks it.
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

/// Returns a summary of the graph: its size, and how much of it is visible.
fn sum(app: &App, look: &Look) -> Line {
    let picture = &app.graph.picture;
    let mut line = Line::plain(" ");
    match picture.critical_path() {
        0 => line.push(Tone::Dim, "no task depends on another"),
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
    // A line leaves a task after a space, and the cursor is drawn before the next task.
    let room = columns.saturating_sub(line.width() + behind.width() + 3);
    if room >= 4 {
        let tone = if task.status == Status::InProgress { Tone::Strong } else { Tone::Plain };
        line.push(Tone::Plain, " ");
        line.append(Line::new().with(tone, &task.shown_subject()).cut(room, look.ellipsis()));
    }
    line.append(behind);
    line
}
