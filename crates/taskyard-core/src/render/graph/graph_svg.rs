//! The dependency graph as an SVG image.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use crate::render::escaping::one_line;
use crate::render::graph::graph_network::{Edge, Network, groups, order_layers};
use crate::render::{Look, cut_text, state_in_words};
use crate::rules::graph::chains::Chain;
use crate::{Priority, Rules, Status, Task};

/// The maximum width of a title, in tenths of the font size.
const TITLE_ROOM: usize = (BOX_WIDTH as usize - 34) * 10 / 14;

/// The same on a page, which uses a smaller font.
const PAGE_ROOM: usize = (BOX_WIDTH as usize - 30) * 10 / 11;

/// The colours for light and dark mode. Viewers ignore the parts they do not support; the attributes of the elements
/// provide the colours of a light page.
const STYLE: &str = "\
.taskyard{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;\
--card:#ffffff;--ink:#1f2328;--soft:#656d76;--line:#8c959f;--rim:#d0d7de;\
--pending:#8c959f;--progress:#d4a72c;--done:#2da44e;--off:#afb8c1;--alarm:#cf222e}\
@media (prefers-color-scheme:dark){.taskyard{--card:#161b22;--ink:#e6edf3;--soft:#8b949e;--line:#6e7681;--rim:#30363d;\
--pending:#6e7681;--progress:#d29922;--done:#3fb950;--off:#484f58;--alarm:#f85149}}\
.taskyard .card{fill:var(--card);stroke:var(--rim);stroke-width:1}\
.taskyard .stripe{fill:var(--tone)}\
.taskyard .id{font-size:11px;font-weight:600;fill:var(--tone)}\
.taskyard .note{font-size:11px;fill:var(--soft);text-anchor:end}\
.taskyard .title{font-size:14px;fill:var(--ink)}\
.taskyard .pending{--tone:var(--pending)}\
.taskyard .in_progress{--tone:var(--progress)}\
.taskyard .in_progress .card{stroke:var(--progress)}\
.taskyard .in_progress .title{font-weight:600}\
.taskyard .completed{--tone:var(--done)}\
.taskyard .completed .title{fill:var(--soft)}\
.taskyard .cancelled{--tone:var(--off)}\
.taskyard .cancelled .title{fill:var(--soft);text-decoration:line-through}\
.taskyard .edge{fill:none;stroke:var(--line);stroke-width:1.5}\
.taskyard .edge.past{stroke:var(--rim)}\
.taskyard .edge.part{stroke-dasharray:2 4}\
.taskyard .edge.circle{stroke:var(--alarm);stroke-dasharray:5 4}\
.taskyard .head{fill:context-stroke;stroke:none}";

/// Renders the graph as a complete SVG document: a box for every task, an arrow from each task to its dependents, and
/// a dotted line to its parts.
pub fn svg(tasks: &[Task], rules: Rules) -> String {
    drawn(tasks, None, rules)
}

/// Renders the graph for embedding in a page, which provides the colours. Each box links to `href`, and the links of
/// the longest chain, which may extend beyond the drawing, are marked.
pub fn svg_part(tasks: &[Task], longest: &Chain, href: &dyn Fn(&Task) -> String, rules: Rules) -> String {
    drawn(tasks, Some(&Part { href, longest }), rules)
}

/// What an embedded graph has in addition.
struct Part<'a> {
    href: &'a dyn Fn(&Task) -> String,
    longest: &'a Chain,
}

fn drawn(tasks: &[Task], part: Option<&Part<'_>>, rules: Rules) -> String {
    let network = Network::new(tasks, rules);
    let drawing = layout(&network);
    let (width, height) = (drawing.width, drawing.height);
    let mut text = String::with_capacity(1024 + tasks.len() * 640);
    // Screen readers cannot reach links inside an element with the role `img`.
    let role = if part.is_some() { "group" } else { "img" };
    let style = if part.is_some() { String::new() } else { format!("<style>{STYLE}</style>\n") };
    let _ = write!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"taskyard\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"{role}\" aria-label=\"{} tasks and what they wait for\">\n\
         {style}\
         <defs><marker id=\"taskyard-head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path class=\"head\" fill=\"#8c959f\" d=\"M0 0.5 L8 4 L0 7.5 Z\"/></marker></defs>\n\
         <g fill=\"none\" stroke=\"#8c959f\" stroke-width=\"1.5\">\n",
        tasks.len()
    );
    for (edge, lanes) in &drawing.routes {
        arrow(&mut text, edge, lanes, (tasks, &drawing.boxes), part);
    }
    text.push_str("</g>\n<g font-family=\"sans-serif\" font-size=\"14\" fill=\"#1f2328\">\n");
    for (task, place) in tasks.iter().zip(&drawing.boxes) {
        let link = part.map(|part| xml(&(part.href)(task)));
        if let Some(link) = &link {
            let _ = write!(text, "<a href=\"{link}\" data-task=\"{}\">", xml(task.id.as_str()));
        }
        card(&mut text, task, *place, part.is_some());
        text.push_str(if link.is_some() { "</a>\n" } else { "" });
    }
    text.push_str("</g>\n</svg>\n");
    text
}

fn arrow(
    text: &mut String,
    edge: &Edge,
    lanes: &[(i64, i64)],
    (tasks, boxes): (&[Task], &[(i64, i64)]),
    part: Option<&Part<'_>>,
) {
    let (from, to) = (boxes[edge.from], boxes[edge.to]);
    let start = (from.0 + BOX_WIDTH, from.1 + BOX_HEIGHT / 2);
    let end = (to.0 - 2, to.1 + BOX_HEIGHT / 2);
    let (before, behind) = (&tasks[edge.from].id, &tasks[edge.to].id);
    let is_critical = part.is_some_and(|part| part.longest.links.contains(&(before.clone(), behind.clone())));
    let class = match edge {
        _ if is_critical && edge.is_part => "edge part critical",
        _ if is_critical => "edge critical",
        Edge { closes_circle: true, .. } => "edge circle",
        Edge { is_part: true, .. } => "edge part",
        _ if tasks[edge.from].status.is_open() => "edge",
        _ => "edge past",
    };
    let _ = write!(
        text,
        "<path class=\"{class}\" data-from=\"{}\" data-to=\"{}\" d=\"M{} {}",
        xml(before.as_str()),
        xml(behind.as_str()),
        start.0,
        start.1
    );
    if edge.closes_circle {
        let above = from.1.min(to.1) - 14;
        let _ = write!(text, " C{} {above} {} {above} {} {}", start.0 + 60, end.0 - 60, end.0, end.1);
    } else {
        let mut last = start;
        for lane in lanes {
            curve(text, last, *lane);
            last = (lane.0 + BOX_WIDTH, lane.1);
            let _ = write!(text, " H{}", last.0);
        }
        curve(text, last, end);
    }
    // A part does not wait for its parent to be completed, so its line has no arrow.
    let end =
        if edge.is_part { "\" stroke-dasharray=\"2 4\"/>\n" } else { "\" marker-end=\"url(#taskyard-head)\"/>\n" };
    text.push_str(end);
}

fn curve(text: &mut String, from: (i64, i64), to: (i64, i64)) {
    let bend = ((to.0 - from.0) / 2).max(12);
    let _ = write!(text, " C{} {} {} {} {} {}", from.0 + bend, from.1, to.0 - bend, to.1, to.0, to.1);
}

fn card(text: &mut String, task: &Task, (x, y): (i64, i64), is_in_page: bool) {
    let class = if task.is_cancelled() { "cancelled" } else { task.status.as_str() };
    let subject = task.shown_subject();
    let title =
        cut_to_room(&subject, task.status == Status::InProgress, if is_in_page { PAGE_ROOM } else { TITLE_ROOM });
    let id = xml(task.id.as_str());
    let (mark, tone) = mark(task, is_in_page);
    let _ = write!(
        text,
        "<g class=\"task {class}\" data-id=\"{id}\" transform=\"translate({x} {y})\"><title>#{id} {} ({})</title>\
         <rect class=\"card\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"10\" fill=\"#fff\" stroke=\"#d0d7de\"/>\
         <rect class=\"stripe\" x=\"8\" y=\"11\" width=\"4\" height=\"{}\" rx=\"2\" fill=\"{tone}\"/>\
         <text class=\"id\" x=\"22\" y=\"21\" font-size=\"11\" fill=\"{tone}\">{mark} #{id}</text>",
        xml(&subject),
        state_in_words(task),
        BOX_HEIGHT - 22
    );
    let note = note(task);
    if !note.is_empty() {
        let _ = write!(
            text,
            "<text class=\"note\" x=\"{}\" y=\"21\" font-size=\"11\" text-anchor=\"end\">{}</text>",
            BOX_WIDTH - 12,
            xml(&note)
        );
    }
    // Bold is also set as an attribute, because not every viewer supports style sheets.
    let weight = if task.status == Status::InProgress { " font-weight=\"600\"" } else { "" };
    let _ = writeln!(text, "<text class=\"title\" x=\"22\" y=\"41\"{weight}>{}</text></g>", xml(&title));
}

/// Cuts a title to the width of its box. Uses the letter widths of a wide font, so it fits in any font.
fn cut_to_room(title: &str, is_bold: bool, room: usize) -> String {
    let breadth = |character: char| {
        let tenths = match character {
            'i' | 'j' | 'l' | 'I' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' => 4,
            ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 5,
            'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 11,
            'A'..='Z' | '0'..='9' => 8,
            character => match character.width().unwrap_or(0) {
                0 => 0,
                1 => 7,
                _ => 11,
            },
        };
        // Bold letters are slightly wider.
        if is_bold && tenths > 0 { tenths + 1 } else { tenths }
    };
    let ends_with = breadth('…');
    let (mut used, mut kept) = (0, 0);
    for (at, character) in title.char_indices() {
        if used + ends_with <= room {
            kept = at;
        }
        used += breadth(character);
        if used > room {
            return format!("{}…", title[..kept].trim_end());
        }
    }
    title.to_owned()
}

/// Returns the mark of a task's status and its colour on a light page. Embedded graphs use the marks of lists.
fn mark(task: &Task, is_in_page: bool) -> (&'static str, &'static str) {
    if is_in_page {
        return (Look::PIPE.mark(task).1, "#64748b");
    }
    match task.status {
        Status::Pending => ("○", "#8c959f"),
        Status::InProgress => ("●", "#d4a72c"),
        Status::Completed if task.is_cancelled() => ("✕", "#afb8c1"),
        Status::Completed => ("✓", "#2da44e"),
    }
}

/// Returns the owner and a mark for high priority.
fn note(task: &Task) -> String {
    let urgent = task.status.is_open() && task.stated_priority() == Some(Priority::High);
    let owner = task.owner().map(|owner| cut_text(&one_line(owner), 18, "…")).unwrap_or_default();
    format!("{}{owner}", if urgent { "▲ " } else { "" })
}

fn xml(text: &str) -> String {
    crate::render::escaping::xml(text)
}

pub(super) const BOX_WIDTH: i64 = 236;
pub(super) const BOX_HEIGHT: i64 = 54;

const COLUMN: i64 = BOX_WIDTH + 64;
const ROW: i64 = BOX_HEIGHT + 18;
const LANE: i64 = 18;
const MARGIN: i64 = 24;
const SWEEPS: usize = 6;
/// With more lane positions than this, long arrows run straight: the drawing would be unreadable either way.
const MOST_LANES: usize = 20_000;

/// A finished drawing.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) width: i64,
    pub(super) height: i64,
    /// The upper left corner of each box.
    pub(super) boxes: Vec<(i64, i64)>,
    /// Each edge, with the left ends of its lanes.
    pub(super) routes: Vec<(Edge, Vec<(i64, i64)>)>,
}

/// Lays out all tasks of a network.
pub(super) fn layout(network: &Network) -> Layout {
    let count = network.out.len();
    let mut boxes = vec![(MARGIN, MARGIN); count];
    let mut routes = Vec::new();
    let mut top = MARGIN;
    let mut right = MARGIN;
    for members in components(network) {
        let mut grid = Grid::new(network, &members);
        let (cells, layers) = (&grid.cells, &mut grid.layers);
        let before = |cell: usize| cells[cell].left.iter().copied();
        order_layers(layers, SWEEPS, before, |cell| cells[cell].right.iter().copied());
        grid.settle();
        let height = grid.write_positions(top, &mut boxes, &mut routes);
        right = right.max(members.iter().map(|position| boxes[*position].0 + BOX_WIDTH).max().unwrap_or(0));
        top += height + 36;
    }
    let connected = network.connected();
    let columns = (((right - MARGIN) / COLUMN) + 1).max(4);
    for (number, position) in (0..count).filter(|position| !connected[*position]).enumerate() {
        let number = i64::try_from(number).unwrap_or(0);
        boxes[position] = (MARGIN + number % columns * COLUMN, top + number / columns * ROW);
    }
    let width = boxes.iter().map(|(x, _)| x + BOX_WIDTH).max().unwrap_or(MARGIN) + MARGIN;
    let height = boxes.iter().map(|(_, y)| y + BOX_HEIGHT).max().unwrap_or(MARGIN) + MARGIN;
    Layout { width, height, boxes, routes }
}

/// Returns the connected groups of tasks, each in ascending order; tasks without edges are omitted.
fn components(network: &Network) -> Vec<Vec<usize>> {
    let neighbours = |position: usize| {
        let ahead = network.out[position].iter().map(|edge| network.edges[*edge].to);
        ahead.chain(network.into[position].iter().map(|edge| network.edges[*edge].from))
    };
    groups(network.out.len(), neighbours).into_iter().filter(|members| members.len() > 1).collect()
}

/// A connected group during layout: boxes and lanes in layers.
struct Grid {
    cells: Vec<Cell>,
    layers: Vec<Vec<usize>>,
    routes: Vec<(Edge, Vec<usize>)>,
}

struct Cell {
    /// The task; `None` for a lane.
    task: Option<usize>,
    layer: usize,
    y: i64,
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Grid {
    fn new(network: &Network, members: &[usize]) -> Self {
        let mut cells: Vec<Cell> = Vec::with_capacity(members.len());
        let mut cell_of = std::collections::HashMap::new();
        for position in members {
            cell_of.insert(*position, cells.len());
            let layer = network.layer[*position];
            cells.push(Cell { task: Some(*position), layer, y: 0, left: Vec::new(), right: Vec::new() });
        }
        let edges: Vec<Edge> =
            members.iter().flat_map(|position| &network.out[*position]).map(|number| network.edges[*number]).collect();
        let span = |edge: &Edge| network.layer[edge.to].saturating_sub(network.layer[edge.from] + 1);
        let lanes_fit = edges.iter().map(span).sum::<usize>() <= MOST_LANES;
        let mut routes = Vec::with_capacity(edges.len());
        for edge in edges {
            let mut lanes = Vec::new();
            if !edge.closes_circle {
                let mut last = cell_of[&edge.from];
                let between = if lanes_fit { span(&edge) } else { 0 };
                for step in 0..between {
                    let lane = cells.len();
                    let layer = network.layer[edge.from] + 1 + step;
                    cells.push(Cell { task: None, layer, y: 0, left: Vec::new(), right: Vec::new() });
                    connect(&mut cells, last, lane);
                    lanes.push(lane);
                    last = lane;
                }
                connect(&mut cells, last, cell_of[&edge.to]);
            }
            routes.push((edge, lanes));
        }
        let depth = cells.iter().map(|cell| cell.layer + 1).max().unwrap_or(0);
        let mut layers = vec![Vec::new(); depth];
        for (number, cell) in cells.iter().enumerate() {
            layers[cell.layer].push(number);
        }
        Self { cells, layers, routes }
    }

    /// Moves every cell towards its neighbours without changing the order.
    fn settle(&mut self) {
        for layer in &self.layers {
            let mut y = 0;
            for cell in layer {
                self.cells[*cell].y = y;
                y += room(&self.cells[*cell]);
            }
        }
        for sweep in 0..SWEEPS * 2 {
            let depth = self.layers.len();
            for step in 0..depth {
                let number = if sweep % 2 == 0 { step } else { depth - 1 - step };
                self.settle_layer(number);
            }
        }
    }

    fn settle_layer(&mut self, number: usize) {
        let layer = &self.layers[number];
        let wish: Vec<i64> = layer
            .iter()
            .map(|cell| {
                let cell = &self.cells[*cell];
                let neighbours = cell.left.iter().chain(&cell.right);
                mean(neighbours.map(|other| self.cells[*other].y)).unwrap_or(cell.y)
            })
            .collect();
        // Pushing down from the top and pushing up from the bottom both preserve order and distances, and so does
        // their mean.
        let mut down = wish.clone();
        for position in 1..layer.len() {
            down[position] = down[position].max(down[position - 1] + room(&self.cells[layer[position - 1]]));
        }
        let mut up = wish;
        for position in (1..layer.len()).rev() {
            up[position - 1] = up[position - 1].min(up[position] - room(&self.cells[layer[position - 1]]));
        }
        for (position, cell) in layer.iter().enumerate() {
            self.cells[*cell].y = (down[position] + up[position]).div_euclid(2);
        }
    }

    /// Stores the final positions with the highest cell at `top`, and returns the height used.
    fn write_positions(&self, top: i64, boxes: &mut [(i64, i64)], routes: &mut Vec<(Edge, Vec<(i64, i64)>)>) -> i64 {
        let highest = self.cells.iter().map(|cell| cell.y).min().unwrap_or(0);
        let x = |cell: &Cell| MARGIN + i64::try_from(cell.layer).unwrap_or(0) * COLUMN;
        let y = |cell: &Cell| top + cell.y - highest;
        for cell in &self.cells {
            if let Some(task) = cell.task {
                boxes[task] = (x(cell), y(cell));
            }
        }
        for (edge, lanes) in &self.routes {
            let points = lanes.iter().map(|lane| &self.cells[*lane]);
            routes.push((*edge, points.map(|lane| (x(lane), y(lane) + LANE / 2)).collect()));
        }
        self.cells.iter().map(|cell| cell.y - highest + room(cell)).max().unwrap_or(0)
    }
}

fn connect(cells: &mut [Cell], from: usize, to: usize) {
    cells[from].right.push(to);
    cells[to].left.push(from);
}

/// Returns the height of a cell, including the distance to the next.
fn room(cell: &Cell) -> i64 {
    if cell.task.is_some() { ROW } else { LANE }
}

fn mean(values: impl Iterator<Item = i64>) -> Option<i64> {
    let (sum, count) = values.fold((0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::{svg, svg_part};
    use crate::rules::graph::chains::Chains;
    use crate::{Rules, Status, Task, TaskId};

    #[test]
    fn what_a_task_says_cannot_become_markup() {
        let mut task = Task::new(TaskId::stored("\"><script>"), "</text><script>alert('x')</script>\x1b");
        task.owner = Some("a&b".into());
        let picture = svg(&[task], Rules::Strict);
        assert!(!picture.contains("<script"), "{picture}");
        assert!(picture.contains("a&amp;b"));
        assert!(!picture.contains('\x1b'));
    }

    #[test]
    fn every_task_has_a_box_and_every_edge_an_arrow() {
        let mut second = Task::new(TaskId::number(2), "b");
        second.blocked_by = vec![TaskId::number(1)];
        let mut first = Task::new(TaskId::number(1), "a");
        first.status = Status::Completed;
        let picture = svg(&[first, second, Task::new(TaskId::number(3), "c")], Rules::Strict);
        assert_eq!(picture.matches("class=\"task ").count(), 3);
        assert_eq!(picture.matches("<path class=\"edge").count(), 1);
        assert!(picture.contains("class=\"task completed\" data-id=\"1\""));
    }

    #[test]
    fn a_title_in_bold_is_cut_earlier_and_short_ones_are_whole() {
        let shown = |title: &str, status| {
            let task = Task { status, ..Task::new(TaskId::number(1), title) };
            let picture = svg(&[task], Rules::Strict);
            let text = picture.split_once("y=\"41\"").unwrap().1.split_once('>').unwrap().1;
            text.split_once('<').unwrap().0.chars().count()
        };
        let long = "Write the chapter on connections and transactions";
        assert!(shown(long, Status::InProgress) < shown(long, Status::Pending));
        assert!(shown(&"W".repeat(40), Status::InProgress) < shown(&"i".repeat(40), Status::InProgress));
        assert_eq!(shown("Write the parser", Status::InProgress), 16);
    }

    #[test]
    fn an_empty_list_is_an_empty_picture() {
        assert!(svg(&[], Rules::Strict).starts_with("<svg "));
    }

    #[test]
    fn page_part_links_marks_critical_path_and_has_no_style() {
        let after = |id: u64, blockers: &[u64]| {
            let blocked_by = blockers.iter().map(|id| TaskId::number(*id)).collect();
            Task { blocked_by, ..Task::new(TaskId::number(id), "\"><script>") }
        };
        let tasks = [after(1, &[]), after(2, &[1]), after(3, &[2, 1])];
        let longest = Chains::of(&tasks, Rules::Strict).longest();
        let picture = svg_part(&tasks, &longest, &|task| format!("?a=1&task={}", task.id), Rules::Strict);
        assert!(!picture.contains("<style") && !picture.contains("<script"), "{picture}");
        assert_eq!(picture.matches("<a href=\"?a=1&amp;task=").count(), 3);
        assert_eq!(picture.matches("class=\"edge critical\"").count(), 2, "{picture}");
        assert_eq!(picture.matches("class=\"edge\"").count(), 1);
    }

    #[test]
    fn a_part_hangs_on_its_parent_by_a_dotted_line() {
        let metadata = serde_json::json!({ "parent": "1" }).as_object().cloned();
        let part = Task { metadata, ..Task::new(TaskId::number(2), "b") };
        let picture = svg(&[Task::new(TaskId::number(1), "a"), part], Rules::Strict);
        assert_eq!(picture.matches("<path class=\"edge part\" data-from=\"1\" data-to=\"2\"").count(), 1, "{picture}");
        assert!(!picture.contains("marker-end"), "{picture}");
    }
}

#[cfg(test)]
mod layout_tests {
    use super::{BOX_HEIGHT, BOX_WIDTH, layout};
    use crate::render::graph::graph_network::Network;
    use crate::{Task, TaskId};

    #[test]
    fn no_two_boxes_touch_and_arrows_point_right() {
        // Every task depends on a few earlier ones, in a fixed but irregular pattern.
        let tasks: Vec<Task> = (1..=300u64)
            .map(|number| {
                let mut task = Task::new(TaskId::number(number), "x");
                let before = (1..number).filter(|other| (number * 7 + other * 13) % 97 == 0);
                task.blocked_by = before.map(TaskId::number).collect();
                task
            })
            .collect();
        let network = Network::new(&tasks, crate::Rules::Strict);
        let drawing = layout(&network);
        for (edge, _) in &drawing.routes {
            assert!(drawing.boxes[edge.from].0 + BOX_WIDTH < drawing.boxes[edge.to].0);
        }
        for (number, one) in drawing.boxes.iter().enumerate() {
            for two in &drawing.boxes[number + 1..] {
                let apart = (one.0 - two.0).abs() >= BOX_WIDTH || (one.1 - two.1).abs() >= BOX_HEIGHT;
                assert!(apart, "{one:?} {two:?}");
            }
        }
    }
}
