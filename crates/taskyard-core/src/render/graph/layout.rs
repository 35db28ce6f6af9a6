//! Where each task of a drawing stands, and how its arrows run.
//!
//! Layers from left to right, each task behind everything it waits for. An arrow over several layers passes each through a
//! position of its own, so that it crosses no box. The order within a layer follows the mean of the neighbours; then everything
//! is drawn towards its neighbours as far as its position in the order allows. Whole numbers throughout: the same tasks give the
//! same drawing on every machine.

use super::layering::{groups, order_layers};
use super::network::{Edge, Network};

/// The width of a task's box.
pub(super) const BOX_WIDTH: i64 = 236;
/// The height of a task's box.
pub(super) const BOX_HEIGHT: i64 = 54;

const COLUMN: i64 = BOX_WIDTH + 64;
const ROW: i64 = BOX_HEIGHT + 18;
const LANE: i64 = 18;
const MARGIN: i64 = 24;
const SWEEPS: usize = 6;
/// Beyond so many positions for arrows, long arrows run straight: the drawing would be unreadable either way.
const MOST_LANES: usize = 20_000;

/// A finished drawing.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) width: i64,
    pub(super) height: i64,
    /// The upper left corner of each task's box.
    pub(super) boxes: Vec<(i64, i64)>,
    /// Each edge, with the left ends of the lanes it runs through.
    pub(super) routes: Vec<(Edge, Vec<(i64, i64)>)>,
}

/// Positions every task of a network.
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

/// Returns the tasks that hang together, each group by rising position; tasks without edges are in none.
fn components(network: &Network) -> Vec<Vec<usize>> {
    let neighbours = |position: usize| {
        let ahead = network.out[position].iter().map(|edge| network.edges[*edge].to);
        ahead.chain(network.into[position].iter().map(|edge| network.edges[*edge].from))
    };
    groups(network.out.len(), neighbours).into_iter().filter(|members| members.len() > 1).collect()
}

/// One group of tasks while it is laid out: boxes and lanes in layers.
struct Grid {
    cells: Vec<Cell>,
    layers: Vec<Vec<usize>>,
    routes: Vec<(Edge, Vec<usize>)>,
}

struct Cell {
    /// The task, or none for a lane an arrow runs through.
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

    /// Draws every cell towards its neighbours without changing the order.
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
        // Pushing down from the top and up from the bottom both keep the order and the distances, and so does their mean.
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

    /// Writes the positions down, the highest cell at `top`, and returns the height that was used.
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

/// Returns how much height a cell takes, its distance to the next included.
fn room(cell: &Cell) -> i64 {
    if cell.task.is_some() { ROW } else { LANE }
}

fn mean(values: impl Iterator<Item = i64>) -> Option<i64> {
    let (sum, count) = values.fold((0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::{BOX_HEIGHT, BOX_WIDTH, layout};
    use crate::render::graph::network::Network;
    use crate::{Task, TaskId};

    #[test]
    fn no_two_boxes_touch_and_arrows_point_right() {
        // Every task waits for a few earlier ones, in a fixed but irregular pattern.
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
