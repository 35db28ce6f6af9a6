//! Drawing a list's graph: a parent is a frame around its subtasks, completed tasks are folded, and an arrow leads
//! from each task to its dependents, which are placed to its right. The layout is deterministic.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use maud::{Escaper, Markup, PreEscaped};
use taskyard::core::{Priority, Status, Task, TaskId};

use super::texts::{one_line, state};

const BOX_WIDTH: i64 = 236;
const BOX_HEIGHT: i64 = 54;
/// Space between layers, in which the arrows run.
const BETWEEN: i64 = 56;
/// Vertical space between boxes.
const GAP: i64 = 16;
const PADDING: i64 = 14;
/// The height of a frame's title.
const TITLE: i64 = 34;
const MARGIN: i64 = 24;
/// Height of the box for completed tasks.
const DONE_HEIGHT: i64 = 32;
/// Maximum nesting of frames. Deeper subtasks are placed in the innermost one.
const DEEPEST: usize = 5;
/// Number of unconnected boxes side by side.
const ABREAST: usize = 4;

/// Options of the drawing.
pub(super) struct Framing<'a> {
    /// Returns the URL of a task.
    pub(super) href: &'a dyn Fn(&TaskId) -> String,
    /// Returns the URL of the graph with the folding of a task's subtasks toggled.
    pub(super) fold_href: &'a dyn Fn(&TaskId) -> String,
    /// The URL of the graph with completed tasks.
    pub(super) done_href: &'a str,
    /// The longest chain, drawn with heavier arrows. May include tasks that are not drawn.
    pub(super) longest: &'a [TaskId],
    /// The tasks whose subtasks are folded.
    pub(super) folded: &'a HashSet<TaskId>,
    /// The blocked tasks.
    pub(super) blocked: &'a HashSet<TaskId>,
    /// Whether completed tasks are drawn individually.
    pub(super) shows_done: bool,
    /// The opened task.
    pub(super) open: Option<&'a TaskId>,
}

/// Renders the graph as part of a page, which supplies the colours.
pub(super) fn framed(tasks: &[Task], framing: &Framing<'_>) -> Markup {
    let plan = Plan::of(tasks, framing);
    let block = plan.block(None);
    let mut drawing = Drawing { plan: &plan, framing, text: String::new(), places: HashMap::new() };
    let mut boxes = String::new();
    drawing.write_block(&block, (MARGIN, MARGIN), &mut boxes);
    let (width, height) = (block.width + 2 * MARGIN, block.height + 2 * MARGIN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"taskyard framed\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"group\" aria-label=\"{} tasks and what they wait for\">\
         <defs><marker id=\"taskyard-head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path class=\"head\" d=\"M0 0.5 L8 4 L0 7.5 Z\"/></marker></defs>\n",
        tasks.len()
    );
    text.push_str(&drawing.text);
    drawing.write_edges(&mut text);
    text.push_str(&boxes);
    text.push_str("</svg>\n");
    PreEscaped(text)
}

/// Which tasks are drawn, and in which frames.
struct Plan<'a> {
    tasks: &'a [Task],
    /// Edges between two different tasks, from blocker to dependent.
    edges: BTreeSet<(usize, usize)>,
    /// For each task, the task whose frame contains it.
    within: Vec<Option<usize>>,
    /// For each task, the tasks in its frame.
    parts: Vec<Vec<usize>>,
    /// Whether the box for completed tasks stands for a task.
    is_done: Vec<bool>,
    /// Whether the subtasks of a task are folded.
    is_folded: Vec<bool>,
}

/// Placed boxes, relative to the upper left corner.
struct Block {
    items: Vec<(Item, (i64, i64))>,
    width: i64,
    height: i64,
}

enum Item {
    Card(usize),
    Frame(usize, Block),
    /// The number of completed tasks.
    Done(usize),
}

impl Item {
    fn size(&self) -> (i64, i64) {
        match self {
            Self::Card(_) => (BOX_WIDTH, BOX_HEIGHT),
            Self::Frame(_, block) => ((block.width + 2 * PADDING).max(BOX_WIDTH), block.height + TITLE + PADDING),
            Self::Done(_) => (BOX_WIDTH / 2, DONE_HEIGHT),
        }
    }

    const fn task(&self) -> Option<usize> {
        match self {
            Self::Card(task) | Self::Frame(task, _) => Some(*task),
            Self::Done(_) => None,
        }
    }
}

impl<'a> Plan<'a> {
    fn of(tasks: &'a [Task], framing: &Framing<'_>) -> Self {
        let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
        let place = |id: &TaskId| places.get(id).copied();
        let parent: Vec<Option<usize>> = tasks.iter().map(|task| place(&task.parent()?)).collect();
        // Files written by other programs may have cyclic parents. Such tasks are drawn without a frame.
        let mut parents = parent.clone();
        for task in 0..tasks.len() {
            let mut at = parent[task];
            for _ in 0..tasks.len() {
                let Some(next) = at else { break };
                if next == task {
                    parents[task] = None;
                    break;
                }
                at = parent[next];
            }
        }
        let above = |task: usize| std::iter::successors(parents[task], |parent| parents[*parent]).take(tasks.len());
        let mut edges = BTreeSet::new();
        for (at, task) in tasks.iter().enumerate() {
            edges.extend(task.blocked_by.iter().filter_map(|id| Some((place(id)?, at))));
            edges.extend(task.blocks.iter().filter_map(|id| Some((at, place(id)?))));
        }
        edges.retain(|(from, to)| from != to);
        let within: Vec<Option<usize>> = (0..tasks.len())
            .map(|task| {
                let depth = above(task).count();
                above(task).nth(depth.saturating_sub(DEEPEST))
            })
            .collect();
        let mut parts = vec![Vec::new(); tasks.len()];
        for (task, frame) in within.iter().enumerate() {
            if let Some(frame) = *frame {
                parts[frame].push(task);
            }
        }
        let mut is_needed: Vec<bool> = tasks.iter().map(|task| task.status.is_open() || framing.shows_done).collect();
        is_needed.clone().into_iter().enumerate().filter(|(_, is_needed)| *is_needed).for_each(|(task, _)| {
            above(task).for_each(|parent| is_needed[parent] = true);
        });
        let is_done = is_needed.into_iter().map(|is_needed| !is_needed).collect();
        let is_folded = tasks.iter().map(|task| framing.folded.contains(&task.id)).collect();
        Self { tasks, edges, within, parts, is_done, is_folded }
    }

    /// Returns the contents of a frame, or of the top level.
    fn block(&self, frame: Option<usize>) -> Block {
        let members: Vec<usize> = match frame {
            Some(frame) => self.parts[frame].clone(),
            None => (0..self.tasks.len()).filter(|task| self.within[*task].is_none()).collect(),
        };
        let done = members.iter().filter(|task| self.is_done[**task]).count();
        let mut items: Vec<Item> =
            members.into_iter().filter(|task| !self.is_done[*task]).map(|task| self.item(task)).collect();
        let layers = self.layers(frame, &items);
        if done > 0 {
            items.push(Item::Done(done));
        }
        arrange(items, &layers)
    }

    fn item(&self, task: usize) -> Item {
        let has_open_parts = self.parts[task].iter().any(|part| !self.is_done[*part]);
        match has_open_parts && !self.is_folded[task] {
            true => Item::Frame(task, self.block(Some(task))),
            false => Item::Card(task),
        }
    }

    /// Returns the task placed directly in a frame that is, or contains, another task.
    fn standing_in(&self, frame: Option<usize>, task: usize) -> Option<usize> {
        std::iter::successors(Some(task), |task| self.within[*task]).find(|task| self.within[*task] == frame)
    }

    /// Returns the edges between the items of a frame, by index.
    fn edges_between(&self, frame: Option<usize>, items: &[Item]) -> BTreeSet<(usize, usize)> {
        let places: HashMap<usize, usize> =
            items.iter().enumerate().filter_map(|(place, item)| Some((item.task()?, place))).collect();
        let place = |task: usize| places.get(&self.standing_in(frame, task)?).copied();
        let edges = self.edges.iter().filter_map(|(from, to)| Some((place(*from)?, place(*to)?)));
        edges.filter(|(from, to)| from != to).collect()
    }

    /// Returns the layer and the blockers of each item; `None` for an unconnected item.
    fn layers(&self, frame: Option<usize>, items: &[Item]) -> Vec<Option<(usize, Vec<usize>)>> {
        let edges = self.edges_between(frame, items);
        let mut layers: Vec<usize> = vec![0; items.len()];
        // Frames may depend on each other in a cycle through their subtasks; the number of rounds is limited.
        for _ in 0..items.len() {
            let before = layers.clone();
            for (from, to) in &edges {
                layers[*to] = layers[*to].max(layers[*from] + 1).min(items.len());
            }
            if before == layers {
                break;
            }
        }
        (0..items.len())
            .map(|item| {
                let is_connected = edges.iter().any(|(from, to)| *from == item || *to == item);
                let waits = edges.iter().filter(|(_, to)| *to == item).map(|(from, _)| *from).collect();
                is_connected.then(|| (layers[item], waits))
            })
            .collect()
    }
}

/// Places the items: connected ones in layers from left to right, the others below.
fn arrange(items: Vec<Item>, layers: &[Option<(usize, Vec<usize>)>]) -> Block {
    let sizes: Vec<(i64, i64)> = items.iter().map(Item::size).collect();
    let mut places = vec![(0, 0); items.len()];
    let depth = layers.iter().flatten().map(|(layer, _)| layer + 1).max().unwrap_or(0);
    let (mut x, mut bottom) = (0, 0);
    for layer in 0..depth {
        let mut members: Vec<usize> =
            (0..layers.len()).filter(|item| layers[*item].as_ref().is_some_and(|(its, _)| *its == layer)).collect();
        let wish = |item: usize, places: &[(i64, i64)]| {
            let waits = layers[item].as_ref().map(|(_, waits)| waits.as_slice()).unwrap_or_default();
            let middles = waits.iter().map(|other| places[*other].1 + sizes[*other].1 / 2);
            middles.sum::<i64>() / i64::try_from(waits.len().max(1)).unwrap_or(1)
        };
        members.sort_by_key(|item| (wish(*item, &places), *item));
        let mut y = 0;
        for item in &members {
            places[*item] = (x, y.max(wish(*item, &places) - sizes[*item].1 / 2));
            y = places[*item].1 + sizes[*item].1 + GAP;
        }
        bottom = bottom.max(y);
        x += members.iter().map(|item| sizes[*item].0).max().unwrap_or(0) + BETWEEN;
    }
    let width = (x - BETWEEN).max(0);
    let alone: Vec<usize> = (0..items.len()).filter(|item| layers.get(*item).is_none_or(Option::is_none)).collect();
    let abreast = alone.len().min(ABREAST);
    let room = width.max(i64::try_from(abreast).unwrap_or(1) * (BOX_WIDTH + GAP) - GAP);
    let (mut left, mut top, mut lowest) = (0, bottom, bottom);
    for item in alone {
        let (item_width, item_height) = sizes[item];
        if left > 0 && left + item_width > room {
            (left, top) = (0, lowest);
        }
        places[item] = (left, top);
        left += item_width + GAP;
        lowest = lowest.max(top + item_height + GAP);
    }
    let right = places.iter().zip(&sizes).map(|((x, _), (width, _))| x + width).max().unwrap_or(0);
    let items = items.into_iter().zip(places).collect();
    Block { items, width: right, height: (lowest - GAP).max(0) }
}

type CornerAndSize = ((i64, i64), (i64, i64));

struct Drawing<'a> {
    plan: &'a Plan<'a>,
    framing: &'a Framing<'a>,
    /// The frames, drawn behind everything else.
    text: String,
    /// The corner and size of each box and frame.
    places: HashMap<usize, CornerAndSize>,
}

impl Drawing<'_> {
    fn write_block(&mut self, block: &Block, (left, top): (i64, i64), boxes: &mut String) {
        for (item, (x, y)) in &block.items {
            let (x, y) = (left + x, top + y);
            if let Some(task) = item.task() {
                self.places.insert(task, ((x, y), item.size()));
            }
            match item {
                Item::Card(task) => self.write_card(*task, (x, y), boxes),
                Item::Frame(task, inner) => {
                    self.write_frame(*task, (x, y), item.size(), boxes);
                    self.write_block(inner, (x + PADDING, y + TITLE), boxes);
                }
                Item::Done(count) => {
                    let _ = writeln!(
                        boxes,
                        "<a class=\"folded-done\" href=\"{}\"><rect class=\"card\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{DONE_HEIGHT}\" rx=\"6\"/>\
                         <text class=\"note\" x=\"{}\" y=\"{}\">✔ {count} done</text></a>",
                        xml(self.framing.done_href),
                        BOX_WIDTH / 2,
                        x + 12,
                        y + 21
                    );
                }
            }
        }
    }

    fn classes(&self, task: &Task) -> String {
        let is_blocked = task.status == Status::Pending && self.framing.blocked.contains(&task.id);
        let is_open = self.framing.open == Some(&task.id);
        format!("{}{}", if is_blocked { "is-waiting" } else { "" }, if is_open { " is-open" } else { "" })
    }

    fn write_card(&self, task: usize, place: (i64, i64), boxes: &mut String) {
        let parts = self.plan.parts[task].len();
        let task = &self.plan.tasks[task];
        let (href, id) = (xml(&(self.framing.href)(&task.id)), xml(task.id.as_str()));
        let _ = write!(boxes, "<a href=\"{href}\" data-task=\"{id}\" class=\"{}\">", self.classes(task));
        write_task(boxes, task, place, self.framing.blocked.contains(&task.id));
        boxes.push_str("</a>\n");
        if parts > 0 {
            self.write_fold(&task.id, (place.0 + BOX_WIDTH - 22, place.1 + BOX_HEIGHT - 8), "▸", boxes);
        }
    }

    fn write_frame(&mut self, task: usize, (x, y): (i64, i64), (width, height): (i64, i64), boxes: &mut String) {
        let task = &self.plan.tasks[task];
        let id = xml(task.id.as_str());
        let state = if task.status == Status::InProgress { "in_progress" } else { "pending" };
        let _ = writeln!(
            self.text,
            "<rect class=\"frame {state}\" data-id=\"{id}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"10\"/>"
        );
        let subject = one_line(&task.shown_subject());
        let title = cut(&subject, usize::try_from((width - 110) / 8).unwrap_or(0));
        let _ = writeln!(
            boxes,
            "<a href=\"{}\" data-task=\"{id}\" class=\"frame-title {}\"><g class=\"task {state}\" data-id=\"{id}\"><title>#{id} {}</title>\
             <rect class=\"card\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/><text class=\"id\" x=\"{}\" y=\"{}\">#{id}</text>\
             <text class=\"title\" x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text></g></a>",
            xml(&(self.framing.href)(&task.id)),
            self.classes(task),
            xml(&subject),
            x + 4,
            y + 4,
            width - 8,
            TITLE - 8,
            x + 14,
            y + 22,
            x + 22 + 9 * i64::try_from(task.id.as_str().len()).unwrap_or(0) + 8,
            y + 22,
            xml(&title)
        );
        self.write_fold(&task.id, (x + width - 22, y + 22), "▾", boxes);
    }

    fn write_fold(&self, id: &TaskId, (x, y): (i64, i64), sign: &str, boxes: &mut String) {
        let _ = writeln!(
            boxes,
            "<a class=\"fold-parts\" href=\"{}\" aria-label=\"{sign} Parts of #{}\"><rect x=\"{}\" y=\"{}\" width=\"24\" height=\"24\"/>\
             <text x=\"{x}\" y=\"{y}\">{sign}</text></a>",
            xml(&(self.framing.fold_href)(id)),
            xml(id.as_str()),
            x - 7,
            y - 17
        );
    }

    /// Returns the task whose box or frame stands for a task; for a folded subtask, that of the nearest parent drawn.
    fn drawn(&self, task: usize) -> Option<usize> {
        std::iter::successors(Some(task), |task| self.plan.within[*task]).find(|task| self.places.contains_key(task))
    }

    fn write_edges(&self, text: &mut String) {
        let (plan, mut written) = (self.plan, HashSet::new());
        text.push_str("<g fill=\"none\">\n");
        let chain: HashSet<(&TaskId, &TaskId)> =
            self.framing.longest.windows(2).map(|pair| (&pair[0], &pair[1])).collect();
        for (first, second) in
            plan.edges.iter().copied().filter(|(from, to)| !plan.is_done[*from] && !plan.is_done[*to])
        {
            let Some((from, to)) = self.drawn(first).zip(self.drawn(second)) else { continue };
            let holds = |outer: usize, inner: usize| {
                std::iter::successors(plan.within[inner], |task| plan.within[*task]).any(|task| task == outer)
            };
            if from == to || holds(from, to) || holds(to, from) || !written.insert((from, to)) {
                continue;
            }
            let ids = (&plan.tasks[first].id, &plan.tasks[second].id);
            let class = match () {
                () if chain.contains(&ids) => "edge critical",
                () if !plan.tasks[first].status.is_open() => "edge past",
                () => "edge",
            };
            let (((x, y), (width, height)), ((end, other), (_, high))) = (self.places[&from], self.places[&to]);
            let middle = |y: i64, height: i64, task: usize| match plan.parts[task].is_empty() || plan.is_folded[task] {
                true => y + height / 2,
                // Arrows to and from a frame end at its title.
                false => y + (TITLE / 2).min(height / 2),
            };
            let start = (x + width, middle(y, height, from));
            let _ = write!(
                text,
                "<path class=\"{class}\" data-from=\"{}\" data-to=\"{}\" marker-end=\"url(#taskyard-head)\" d=\"M{} {}",
                xml(ids.0.as_str()),
                xml(ids.1.as_str()),
                start.0,
                start.1
            );
            let stop = (end - 2, middle(other, high, to));
            let bend = ((stop.0 - start.0) / 2).max(24);
            let _ = write!(text, " C{} {} {} {} {} {}", start.0 + bend, start.1, stop.0 - bend, stop.1, stop.0, stop.1);
            text.push_str("\"/>\n");
        }
        text.push_str("</g>\n");
    }
}

fn write_task(text: &mut String, task: &Task, (x, y): (i64, i64), is_blocked: bool) {
    let class = if task.is_cancelled() { "cancelled" } else { task.status.as_str() };
    let (subject, id) = (one_line(&task.shown_subject()), xml(task.id.as_str()));
    let (_, sign) = state(task, is_blocked);
    let _ = write!(
        text,
        "<g class=\"task {class}\" data-id=\"{id}\" transform=\"translate({x} {y})\"><title>#{id} {}</title>\
         <rect class=\"card\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"6\"/>\
         <rect class=\"stripe\" x=\"8\" y=\"11\" width=\"4\" height=\"{}\" rx=\"2\"/>\
         <text class=\"id\" x=\"22\" y=\"21\">{sign} #{id}</text>",
        xml(&subject),
        BOX_HEIGHT - 22
    );
    let urgent = task.status.is_open() && task.stated_priority() == Some(Priority::High);
    let owner = task.owner().map(|owner| cut(&one_line(owner), 18)).unwrap_or_default();
    if urgent || !owner.is_empty() {
        let sign = if urgent { "↑ " } else { "" };
        let _ = write!(
            text,
            "<text class=\"note\" x=\"{}\" y=\"21\" text-anchor=\"end\">{sign}{}</text>",
            BOX_WIDTH - 12,
            xml(&owner)
        );
    }
    let _ = write!(
        text,
        "<text class=\"title\" x=\"22\" y=\"41\">{}</text></g>",
        xml(&cut(&subject, if task.status == Status::InProgress { 23 } else { 26 }))
    );
}

/// Shortens a text to at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let _ = Escaper::new(&mut escaped).write_str(text);
    escaped
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use taskyard::core::rules::graph::chains::Chains;
    use taskyard::core::{Rules, Status, Task, TaskId};

    use super::{Framing, framed};

    fn drawn(tasks: &[Task], folded: &[u64], shows_done: bool) -> String {
        let (folded, blocked) = (folded.iter().copied().map(TaskId::number).collect(), HashSet::new());
        let longest = Chains::of(tasks, Rules::Strict).longest();
        let framing = Framing {
            href: &|id| format!("/{id}"),
            fold_href: &|id| format!("?fold={id}"),
            done_href: "?done=1",
            longest: &longest.tasks,
            folded: &folded,
            blocked: &blocked,
            shows_done,
            open: None,
        };
        framed(tasks, &framing).into_string()
    }

    fn storage() -> Vec<Task> {
        let task = |number: u64, parent: Option<u64>, on: &[u64]| {
            let mut task = Task::new(TaskId::number(number), format!("task {number}"));
            task.blocked_by = on.iter().copied().map(TaskId::number).collect();
            task.metadata =
                parent.map(|parent| [("parent".to_owned(), parent.to_string().into())].into_iter().collect());
            task
        };
        vec![task(1, None, &[]), task(2, Some(1), &[]), task(3, Some(1), &[2]), task(4, None, &[1]), task(5, None, &[])]
    }

    #[test]
    fn parts_stand_in_the_frame_of_their_parent() {
        let picture = drawn(&storage(), &[], false);
        assert_eq!(picture.matches("<rect class=\"frame ").count(), 1, "{picture}");
        assert_eq!(picture.matches("class=\"task ").count(), 5);
        assert_eq!(picture.matches("class=\"edge critical\"").count(), 2, "#2 to #3, and the frame to #4: {picture}");
    }

    #[test]
    fn folded_parts_have_their_edges_at_the_parent() {
        let mut tasks = storage();
        tasks[4].blocked_by = vec![TaskId::number(3)];
        let picture = drawn(&tasks, &[1], false);
        assert_eq!(picture.matches("class=\"task ").count(), 3, "{picture}");
        assert_eq!(picture.matches("class=\"edge").count(), 2, "{picture}");
    }

    #[test]
    fn what_is_done_is_one_box_in_each_frame() {
        let mut tasks = storage();
        tasks[1].status = Status::Completed;
        tasks[4].status = Status::Completed;
        let picture = drawn(&tasks, &[], false);
        assert_eq!((picture.matches("1 done").count(), picture.matches("class=\"task ").count()), (2, 3), "{picture}");
        assert_eq!(drawn(&tasks, &[], true).matches("class=\"task ").count(), 5);
    }

    #[test]
    fn frames_that_wait_for_each_other_are_drawn() {
        let mut tasks = storage();
        tasks[3].metadata = None;
        let mut part = Task::new(TaskId::number(6), "part of 4");
        part.metadata = Some([("parent".to_owned(), "4".into())].into_iter().collect());
        part.blocks = vec![TaskId::number(2)];
        tasks.push(part);
        let picture = drawn(&tasks, &[], false);
        assert!(picture.matches("class=\"edge").count() >= 2, "{picture}");
    }
}
