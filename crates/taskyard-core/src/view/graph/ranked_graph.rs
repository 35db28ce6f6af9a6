//! Layered layout of the dependency graph: the rank and row of each task, and how the lines run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::render::graph::{Network, groups, order_layers};
use crate::rules::graph::chains::Chains;
use crate::{Rules, Task, TaskId};

/// The dependency graph of the open tasks of a list. The layout is deterministic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphPicture {
    pub(super) nodes: Vec<GraphNode>,
    /// For each rank, the cell on each row.
    pub(super) ranks: Vec<BTreeMap<usize, Cell>>,
    /// The lines between each rank and the next.
    pub(super) gaps: Vec<Gap>,
    by_task: HashMap<TaskId, usize>,
    rows: usize,
    critical: usize,
}

/// A task in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// The task.
    pub task: TaskId,
    /// The length of the longest chain of tasks before it.
    pub rank: usize,
    /// The row it is on.
    pub row: usize,
    /// Whether it is on the critical path, the longest chain of dependent tasks.
    pub(crate) is_critical: bool,
    /// Whether the tasks that depend only on it are folded away.
    pub is_folded: bool,
    /// The number of tasks folded away behind it.
    pub folded_away: usize,
    /// Blockers to which no line is drawn: the link closes a cycle, or there are too many lines to draw.
    pub waits_unseen_for: Vec<TaskId>,
    /// The blockers and parents of this task, and its dependents and parts, as indexes into the nodes.
    before: Vec<usize>,
    behind: Vec<usize>,
}

/// A direction in which to look for a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The task above it in its rank.
    Above,
    /// The task below it in its rank.
    Below,
    /// The nearest blocker or parent.
    Before,
    /// The nearest dependent or part.
    Behind,
}

impl GraphNode {
    /// Returns whether any displayed task depends on it or is a part of it.
    pub fn leads_on(&self) -> bool {
        !self.behind.is_empty()
    }
}

impl GraphPicture {
    /// Lays out the open, visible tasks of a list. Behind folded tasks, only tasks that also depend on others are
    /// shown.
    pub fn of(tasks: &[Task], folded: &HashSet<TaskId>, rules: Rules) -> Self {
        let open: Vec<Task> =
            tasks.iter().filter(|task| task.status.is_open() && !task.is_internal()).cloned().collect();
        let network = Network::new(&open, rules);
        let chain = Chains::of(tasks, rules).longest();
        let critical: HashSet<&TaskId> = chain.tasks.iter().collect();
        let is_folded: Vec<bool> = open.iter().map(|task| folded.contains(&task.id)).collect();
        let away = folded_away(&network, &is_folded);
        let is_shown: Vec<bool> = away.is_hidden.iter().map(|hidden| !hidden).collect();
        let is_critical = |from: usize, to: usize| chain.links.contains(&(open[from].id.clone(), open[to].id.clone()));
        let arranged = arrange(&network, &is_shown, &is_critical);

        let mut places: Vec<usize> = (0..open.len()).filter(|place| is_shown[*place]).collect();
        places.sort_by_key(|place| (network.layer[*place], arranged.row[*place]));
        let mut node_of = vec![usize::MAX; open.len()];
        places.iter().enumerate().for_each(|(node, place)| node_of[*place] = node);
        let mut nodes: Vec<GraphNode> = places
            .iter()
            .map(|place| GraphNode {
                task: open[*place].id.clone(),
                rank: network.layer[*place],
                row: arranged.row[*place],
                is_critical: critical.contains(&open[*place].id),
                is_folded: is_folded[*place] && away.behind[*place] > 0,
                folded_away: away.behind[*place],
                waits_unseen_for: Vec::new(),
                before: Vec::new(),
                behind: Vec::new(),
            })
            .collect();
        for (number, edge) in network.edges.iter().enumerate() {
            let (from, to) = (node_of[edge.from], node_of[edge.to]);
            if from == usize::MAX || to == usize::MAX {
                continue;
            }
            if !edge.is_part && (edge.closes_circle || arranged.is_left_out(number)) {
                nodes[to].waits_unseen_for.push(open[edge.from].id.clone());
            }
            nodes[from].behind.push(to);
            nodes[to].before.push(from);
        }
        let ranks = arranged.ranks.into_iter().map(|rank| named_by_node(rank, &node_of)).collect();
        let by_task = nodes.iter().enumerate().map(|(node, shown)| (shown.task.clone(), node)).collect();
        Self { nodes, ranks, gaps: arranged.gaps, by_task, rows: arranged.rows, critical: chain.tasks.len() }
    }

    /// Returns whether the graph has no tasks.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the tasks, ordered by rank and row.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// Returns the node of a task, or `None` if the task is not shown.
    pub fn node(&self, task: &TaskId) -> Option<&GraphNode> {
        self.by_task.get(task).map(|node| &self.nodes[*node])
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of tasks on the critical path; 0 if no task depends on another.
    pub fn critical_path(&self) -> usize {
        self.critical
    }

    /// Returns a neighbour of a task, or `None` if it has none in this direction.
    pub fn neighbour(&self, task: &TaskId, which: Neighbour) -> Option<&TaskId> {
        let at = *self.by_task.get(task)?;
        let node = &self.nodes[at];
        let nearest =
            |others: &[usize]| others.iter().copied().min_by_key(|other| self.nodes[*other].row.abs_diff(node.row));
        let is_beside = |other: &usize| self.nodes.get(*other).is_some_and(|beside| beside.rank == node.rank);
        let found = match which {
            Neighbour::Above => at.checked_sub(1).filter(is_beside),
            Neighbour::Below => Some(at + 1).filter(is_beside),
            Neighbour::Before => nearest(&node.before),
            Neighbour::Behind => nearest(&node.behind),
        };
        found.map(|other| &self.nodes[other].task)
    }

    /// Returns the task of a rank that is nearest to a row.
    pub fn nearest_in_rank(&self, rank: usize, row: usize) -> Option<&TaskId> {
        let first = self.nodes.partition_point(|node| node.rank < rank);
        let rank = self.nodes[first..].iter().take_while(|node| node.rank == rank);
        rank.min_by_key(|node| node.row.abs_diff(row)).map(|node| &node.task)
    }
}

fn named_by_node(rank: BTreeMap<usize, Cell>, node_of: &[usize]) -> BTreeMap<usize, Cell> {
    let named = |cell| match cell {
        Cell::Task { place, goes_on, is_critical } => Cell::Task { place: node_of[place], goes_on, is_critical },
        lane @ Cell::Lane { .. } => lane,
    };
    rank.into_iter().map(|(row, cell)| (row, named(cell))).collect()
}

/// With more lanes than this, lines across several ranks are not drawn: nobody could follow them.
const MOST_LANES: usize = 20_000;
/// Number of sweeps that improve the order within the ranks.
const SWEEPS: usize = 4;

/// The content of one cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// A task.
    Task {
        /// The index of the task.
        place: usize,
        /// Whether lines leave it.
        goes_on: bool,
        /// Whether the critical path leaves it.
        is_critical: bool,
    },
    /// A line passing through.
    Lane {
        /// Whether the line is on the critical path.
        is_critical: bool,
    },
}

/// The finished layout.
pub(super) struct Arranged {
    /// The row of each task.
    pub(super) row: Vec<usize>,
    pub(super) ranks: Vec<BTreeMap<usize, Cell>>,
    pub(super) gaps: Vec<Gap>,
    pub(super) rows: usize,
    /// For each edge, whether it is not drawn.
    left_out: Vec<bool>,
}

impl Arranged {
    pub(super) fn is_left_out(&self, edge: usize) -> bool {
        self.left_out[edge]
    }
}

/// A task or a lane during layout.
struct Item {
    task: Option<usize>,
    rank: usize,
    left: Vec<usize>,
    /// The lines that leave it.
    right: Vec<Onward>,
    is_critical: bool,
    row: usize,
}

/// A line to the next item.
#[derive(Clone, Copy)]
struct Onward {
    to: usize,
    /// Whether it is on the critical path.
    is_critical: bool,
    /// Whether it only leads to parts.
    is_part: bool,
}

/// Lays out the tasks that are shown.
pub(super) fn arrange(network: &Network, is_shown: &[bool], is_critical: &dyn Fn(usize, usize) -> bool) -> Arranged {
    let shown_edges: Vec<usize> = (0..network.edges.len())
        .filter(|number| {
            let edge = network.edges[*number];
            !edge.closes_circle && is_shown[edge.from] && is_shown[edge.to]
        })
        .collect();
    let mut left_out = vec![false; network.edges.len()];
    let mut furthest: HashMap<usize, usize> = HashMap::new();
    for edge in shown_edges.iter().map(|number| network.edges[*number]) {
        let rank = furthest.entry(edge.from).or_default();
        *rank = (*rank).max(network.layer[edge.to]);
    }
    let lanes: usize = furthest.iter().map(|(from, rank)| rank.saturating_sub(network.layer[*from] + 1)).sum();
    let has_lanes = lanes <= MOST_LANES;

    let mut items: Vec<Item> = Vec::new();
    let mut item_of = vec![usize::MAX; is_shown.len()];
    for place in (0..is_shown.len()).filter(|place| is_shown[*place]) {
        item_of[place] = items.len();
        items.push(Item::new(Some(place), network.layer[place]));
    }
    // The lane of a task in each rank it passes.
    let mut lane_of: HashMap<(usize, usize), usize> = HashMap::new();
    let mut joined: HashMap<(usize, usize), usize> = HashMap::new();
    for number in shown_edges {
        let edge = network.edges[number];
        let (first, last) = (network.layer[edge.from], network.layer[edge.to]);
        if !has_lanes && last > first + 1 {
            left_out[number] = true;
            continue;
        }
        let heavy = is_critical(edge.from, edge.to);
        let mut at = item_of[edge.from];
        for rank in first + 1..last {
            let lane = *lane_of.entry((edge.from, rank)).or_insert_with(|| {
                items.push(Item::new(None, rank));
                items.len() - 1
            });
            items[lane].is_critical |= heavy;
            let onward = Onward { to: lane, is_critical: heavy, is_part: edge.is_part };
            connect(&mut items, &mut joined, at, onward);
            at = lane;
        }
        let onward = Onward { to: item_of[edge.to], is_critical: heavy, is_part: edge.is_part };
        connect(&mut items, &mut joined, at, onward);
    }
    let rows = place_rows(&mut items);
    let mut row = vec![0; is_shown.len()];
    let depth = items.iter().map(|item| item.rank + 1).max().unwrap_or(0);
    let mut ranks: Vec<BTreeMap<usize, Cell>> = vec![BTreeMap::new(); depth];
    let mut wires: Vec<Vec<Wire>> = vec![Vec::new(); depth.saturating_sub(1)];
    for item in &items {
        let cell = match item.task {
            Some(place) => {
                row[place] = item.row;
                let is_critical = item.right.iter().any(|onward| onward.is_critical);
                Cell::Task { place, goes_on: !item.right.is_empty(), is_critical }
            }
            None => Cell::Lane { is_critical: item.is_critical },
        };
        ranks[item.rank].insert(item.row, cell);
        if !item.right.is_empty() {
            let end = |onward: &Onward| WireEnd {
                row: items[onward.to].row,
                is_critical: onward.is_critical,
                is_task: items[onward.to].task.is_some(),
                is_part: onward.is_part,
            };
            wires[item.rank].push(Wire::new(item.row, item.right.iter().map(end).collect()));
        }
    }
    let gaps = wires.into_iter().map(Gap::of).collect();
    Arranged { row, ranks, gaps, rows, left_out }
}

impl Item {
    fn new(task: Option<usize>, rank: usize) -> Self {
        Self { task, rank, left: Vec::new(), right: Vec::new(), is_critical: false, row: 0 }
    }

    fn right_items(&self) -> impl Iterator<Item = usize> {
        self.right.iter().map(|onward| onward.to)
    }
}

/// Connects two items; several lines of a task may share a lane.
fn connect(items: &mut [Item], joined: &mut HashMap<(usize, usize), usize>, from: usize, onward: Onward) {
    let next = items[from].right.len();
    let place = *joined.entry((from, onward.to)).or_insert(next);
    match items[from].right.get_mut(place) {
        Some(known) => {
            known.is_critical |= onward.is_critical;
            known.is_part &= onward.is_part;
        }
        None => {
            items[from].right.push(onward);
            items[onward.to].left.push(from);
        }
    }
}

/// Assigns a row to every item, group by group, and returns the number of rows.
fn place_rows(items: &mut [Item]) -> usize {
    let mut top = 0;
    let mut was_alone = true;
    for members in groups_of(items) {
        let is_alone = members.len() == 1;
        // Groups are separated by an empty row; isolated tasks are not.
        if top > 0 && !(is_alone && was_alone) {
            top += 1;
        }
        was_alone = is_alone;
        top = place_group(items, members, top);
    }
    top
}

/// Returns the connected groups, single items last.
fn groups_of(items: &[Item]) -> Vec<Vec<usize>> {
    let neighbours = |item: usize| items[item].left.iter().copied().chain(items[item].right_items());
    let mut groups = groups(items.len(), neighbours);
    groups.sort_by_key(|members| members.len() == 1);
    groups
}

fn place_group(items: &mut [Item], members: Vec<usize>, top: usize) -> usize {
    let depth = members.iter().map(|item| items[*item].rank).max().unwrap_or(0) + 1;
    let mut ranks: Vec<Vec<usize>> = vec![Vec::new(); depth];
    members.iter().for_each(|item| ranks[items[*item].rank].push(*item));
    let before = |item: usize| items[item].left.iter().copied();
    order_layers(&mut ranks, SWEEPS, before, |item| items[item].right_items());
    let mut bottom = top;
    for rank in &ranks {
        let mut free = top;
        for item in rank {
            let mut before: Vec<usize> = items[*item].left.iter().map(|other| items[*other].row).collect();
            before.sort_unstable();
            let wanted = before.get(before.len().saturating_sub(1) / 2).copied().unwrap_or(top);
            items[*item].row = wanted.max(free);
            free = items[*item].row + 1;
        }
        bottom = bottom.max(free);
    }
    bottom
}

/// The tasks hidden by folding.
pub(super) struct FoldedAway {
    /// For each task, whether it is hidden.
    pub(super) is_hidden: Vec<bool>,
    /// For each folded task, how many are hidden behind it.
    pub(super) behind: Vec<usize>,
}

/// Hides every task all of whose blockers and parents are folded or hidden.
pub(super) fn folded_away(network: &Network, is_folded: &[bool]) -> FoldedAway {
    let count = is_folded.len();
    let mut by_layer: Vec<usize> = (0..count).collect();
    by_layer.sort_by_key(|place| network.layer[*place]);
    let mut is_hidden = vec![false; count];
    let onward = |number: &&usize| !network.edges[**number].closes_circle;
    for place in by_layer {
        let mut before = network.into[place].iter().filter(onward).map(|number| network.edges[*number].from).peekable();
        let has_any = before.peek().is_some();
        is_hidden[place] = has_any && before.all(|from| is_folded[from] || is_hidden[from]);
    }
    let mut behind = vec![0; count];
    for place in (0..count).filter(|place| is_folded[*place] && !is_hidden[*place]) {
        let mut seen = vec![false; count];
        let mut next = vec![place];
        while let Some(at) = next.pop() {
            for number in network.out[at].iter().filter(onward) {
                let to = network.edges[*number].to;
                if is_hidden[to] && !std::mem::replace(&mut seen[to], true) {
                    behind[place] += 1;
                    next.push(to);
                }
            }
        }
    }
    FoldedAway { is_hidden, behind }
}

/// The maximum number of slots between two ranks; lines beyond that share the last slot.
const MOST_SLOTS: usize = 8;

/// All lines between a rank and the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) wires: Vec<Wire>,
    /// The number of slots.
    pub(super) slots: usize,
}

/// The lines that leave one cell of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    /// The row on which it begins.
    pub(super) from: usize,
    pub(super) ends: Vec<WireEnd>,
    /// The slot of its vertical part; `None` if it runs straight.
    pub(super) slot: Option<usize>,
}

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireEnd {
    pub(super) row: usize,
    pub(super) is_critical: bool,
    /// Whether it ends at a task; otherwise it continues in a lane.
    pub(super) is_task: bool,
    /// Whether it leads from a parent to its part.
    pub(super) is_part: bool,
}

impl Wire {
    pub(super) fn new(from: usize, mut ends: Vec<WireEnd>) -> Self {
        ends.sort_by_key(|end| end.row);
        Self { from, ends, slot: None }
    }

    /// Returns the first and the last row it touches.
    pub(super) fn span(&self) -> (usize, usize) {
        let rows = || self.ends.iter().map(|end| end.row).chain([self.from]);
        (rows().min().unwrap_or(self.from), rows().max().unwrap_or(self.from))
    }
}

impl Gap {
    /// Assigns a slot to each line with a vertical part. Lines whose vertical parts overlap get different slots. A
    /// line that begins on the row on which another ends bends before that end; otherwise the two would look
    /// connected.
    pub(super) fn of(mut wires: Vec<Wire>) -> Self {
        wires.sort_by_key(Wire::span);
        let mut slots: Vec<BTreeMap<usize, usize>> = Vec::new();
        let begins: HashMap<usize, usize> =
            wires.iter().enumerate().map(|(number, wire)| (wire.from, number)).collect();
        for number in in_turn(&wires, &begins) {
            let (first, last) = wires[number].span();
            let ends = wires[number].ends.iter().filter_map(|end| wires[*begins.get(&end.row)?].slot);
            let least = ends.map(|slot| slot + 1).max().unwrap_or(0).min(MOST_SLOTS - 1);
            let slot = (least..MOST_SLOTS).find(|slot| is_free(slots.get(*slot), first, last));
            let slot = slot.unwrap_or(MOST_SLOTS - 1);
            slots.resize_with(slots.len().max(slot + 1), BTreeMap::new);
            slots[slot].insert(first, last);
            wires[number].slot = Some(slot);
        }
        Self { wires, slots: slots.len() }
    }
}

/// Returns the lines that bend, in the order in which they get slots: each after the lines that begin on the rows on
/// which it ends. If these constraints form a cycle, the first line goes ahead and may cross another.
fn in_turn(wires: &[Wire], begins: &HashMap<usize, usize>) -> Vec<usize> {
    let bends = |number: usize| wires[number].span().0 != wires[number].span().1;
    let mut waiting: BTreeSet<usize> = (0..wires.len()).filter(|number| bends(*number)).collect();
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); wires.len()];
    let mut missing = vec![0_usize; wires.len()];
    for number in &waiting {
        for other in wires[*number].ends.iter().filter_map(|end| begins.get(&end.row)) {
            if other != number && bends(*other) {
                behind[*other].push(*number);
                missing[*number] += 1;
            }
        }
    }
    let mut free: BTreeSet<usize> = waiting.iter().copied().filter(|number| missing[*number] == 0).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(next) = free.pop_first().or_else(|| waiting.first().copied()) {
        if !waiting.remove(&next) {
            continue;
        }
        order.push(next);
        for later in &behind[next] {
            missing[*later] = missing[*later].saturating_sub(1);
            if missing[*later] == 0 {
                free.insert(*later);
            }
        }
    }
    order
}

fn is_free(slot: Option<&BTreeMap<usize, usize>>, first: usize, last: usize) -> bool {
    let Some(slot) = slot else { return true };
    slot.range(..=last).next_back().is_none_or(|(_, end)| *end < first)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{GraphPicture, Neighbour};
    use crate::{Rules, Status, Task, TaskId};

    pub(super) fn waiting(number: u64, on: &[u64]) -> Task {
        let mut task = Task::new(TaskId::number(number), format!("t{number}"));
        task.blocked_by = on.iter().copied().map(TaskId::number).collect();
        task
    }

    fn id(number: u64) -> TaskId {
        TaskId::number(number)
    }

    #[test]
    fn task_is_drawn_behind_blockers_and_longest_chain_marked() {
        let tasks = [waiting(1, &[]), waiting(2, &[1]), waiting(3, &[1]), waiting(4, &[2, 1]), waiting(5, &[])];
        let picture = GraphPicture::of(&tasks, &HashSet::new(), Rules::Strict);
        let ranks: Vec<usize> = (1..=5).map(|number| picture.node(&id(number)).unwrap().rank).collect();
        assert_eq!(ranks, [0, 1, 1, 2, 0]);
        let critical: Vec<u64> = (1..=5).filter(|number| picture.node(&id(*number)).unwrap().is_critical).collect();
        assert_eq!((critical, picture.critical_path()), (vec![1, 2, 4], 3));
    }

    #[test]
    fn what_is_done_or_internal_is_not_shown() {
        let mut done = waiting(1, &[]);
        done.status = Status::Completed;
        let picture = GraphPicture::of(&[done, waiting(2, &[1])], &HashSet::new(), Rules::Strict);
        assert_eq!(picture.nodes().len(), 1);
        assert_eq!(picture.node(&id(2)).unwrap().rank, 0);
    }

    #[test]
    fn a_fold_hides_what_waits_for_nothing_else() {
        let tasks = [waiting(1, &[]), waiting(2, &[1]), waiting(3, &[2]), waiting(4, &[2, 5]), waiting(5, &[])];
        let picture = GraphPicture::of(&tasks, &HashSet::from([id(1)]), Rules::Strict);
        let shown: Vec<&str> = picture.nodes().iter().map(|node| node.task.as_str()).collect();
        assert_eq!(shown, ["5", "1", "4"]);
        let folded = picture.node(&id(1)).unwrap();
        assert!(folded.is_folded && folded.folded_away == 2);
    }

    #[test]
    fn neighbours_are_found_along_the_lines() {
        let tasks = [waiting(1, &[]), waiting(2, &[1]), waiting(3, &[1]), waiting(4, &[3])];
        let picture = GraphPicture::of(&tasks, &HashSet::new(), Rules::Strict);
        let step = |from, which| picture.neighbour(&id(from), which).map(TaskId::as_str);
        assert_eq!(step(1, Neighbour::Behind), Some("2"));
        assert_eq!(step(2, Neighbour::Below), Some("3"));
        assert_eq!(step(3, Neighbour::Behind), Some("4"));
        assert_eq!(step(4, Neighbour::Before), Some("3"));
        assert_eq!(step(4, Neighbour::Below), None);
        assert_eq!(picture.nearest_in_rank(1, 9).map(TaskId::as_str), Some("3"));
    }

    #[test]
    fn a_circle_is_named_where_no_line_can_show_it() {
        let picture = GraphPicture::of(&[waiting(1, &[2]), waiting(2, &[1])], &HashSet::new(), Rules::Strict);
        assert_eq!(picture.node(&id(1)).unwrap().waits_unseen_for, [id(2)]);
    }
}

#[cfg(test)]
mod wiring_tests {
    use super::{Gap, Wire, WireEnd};

    fn wire(from: usize, to: &[usize]) -> Wire {
        let end = |row: &usize| WireEnd { row: *row, is_critical: false, is_task: true, is_part: false };
        Wire::new(from, to.iter().map(end).collect())
    }

    #[test]
    fn lines_beside_each_other_have_slots_of_their_own() {
        let gap = Gap::of(vec![wire(0, &[0]), wire(1, &[4]), wire(2, &[5]), wire(8, &[9])]);
        let slots: Vec<Option<usize>> = gap.wires.iter().map(|wire| wire.slot).collect();
        assert_eq!((slots, gap.slots), (vec![None, Some(0), Some(1), Some(0)], 2));
    }

    #[test]
    fn a_line_turns_before_another_ends_on_its_row() {
        // The second line begins on row 2, where the first ends.
        let gap = Gap::of(vec![wire(0, &[2]), wire(2, &[3])]);
        assert!(gap.wires[0].slot > gap.wires[1].slot);
    }

    #[test]
    fn ten_thousand_lines_have_their_slots_at_once() {
        let gap = Gap::of((0..10_000).map(|row| wire(row, &[row + 1])).collect());
        assert!(gap.wires.iter().all(|wire| wire.slot.is_some()));
    }

    #[test]
    fn lines_that_change_places_are_drawn_all_the_same() {
        let gap = Gap::of(vec![wire(0, &[1]), wire(1, &[0])]);
        assert!(gap.wires.iter().all(|wire| wire.slot.is_some()));
    }
}
