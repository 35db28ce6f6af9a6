//! Which row each task stands on, and through which rows the lines run that pass a rank.
//!
//! All lines that leave a task and go further than the next rank share one lane through each rank they pass.

use std::collections::{BTreeMap, HashMap};

use crate::render::graph::{Network, groups, order_layers};

use super::wiring::{Gap, Wire, WireEnd};

/// Beyond so many lanes, lines over several ranks are not drawn: no reader could follow them.
const MOST_LANES: usize = 20_000;
/// How often the order within the ranks is bettered.
const SWEEPS: usize = 4;

/// What stands in a place of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// A task.
    Task {
        /// Which one.
        place: usize,
        /// Whether lines leave it.
        goes_on: bool,
        /// Whether the critical path does.
        is_critical: bool,
    },
    /// A line that passes.
    Lane {
        /// Whether it belongs to the critical path.
        is_critical: bool,
    },
}

/// Everything in its place.
pub(super) struct Arranged {
    /// The row of each task.
    pub(super) row: Vec<usize>,
    pub(super) ranks: Vec<BTreeMap<usize, Cell>>,
    pub(super) gaps: Vec<Gap>,
    pub(super) rows: usize,
    /// For each edge, whether it is left out.
    left_out: Vec<bool>,
}

impl Arranged {
    pub(super) fn is_left_out(&self, edge: usize) -> bool {
        self.left_out[edge]
    }
}

/// A task or a lane while it is arranged.
struct Item {
    task: Option<usize>,
    rank: usize,
    left: Vec<usize>,
    /// What it leads to.
    right: Vec<Onward>,
    is_critical: bool,
    row: usize,
}

/// A line to the next item.
#[derive(Clone, Copy)]
struct Onward {
    to: usize,
    /// Whether it belongs to the critical path.
    is_critical: bool,
    /// Whether it only leads to a part.
    is_part: bool,
}

/// Arranges the tasks that are shown.
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
    // The lane of a task through each rank it passes.
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

/// Joins two items; several lines of a task may share a lane.
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

/// Gives every item its row, group by group, and returns how many rows there are.
fn place_rows(items: &mut [Item]) -> usize {
    let mut top = 0;
    let mut was_alone = true;
    for members in groups_of(items) {
        let is_alone = members.len() == 1;
        // A free row sets groups apart; tasks that stand alone need none among themselves.
        if top > 0 && !(is_alone && was_alone) {
            top += 1;
        }
        was_alone = is_alone;
        top = place_group(items, members, top);
    }
    top
}

/// Returns what hangs together, those that stand alone last.
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
