//! The picture itself: where each task stands, and which lines run where.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::render::graph::Network;
use crate::rules::graph::chains::Chains;
use crate::{Rules, Task, TaskId};

use super::folding::folded_away;
use super::ranks::{Cell, arrange};
use super::wiring::Gap;

/// The open tasks of a list by what waits for what. The same tasks give the same picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphPicture {
    pub(super) nodes: Vec<GraphNode>,
    /// For each rank, what stands on which row.
    pub(super) ranks: Vec<BTreeMap<usize, Cell>>,
    /// The lines between each rank and the next.
    pub(super) gaps: Vec<Gap>,
    by_task: HashMap<TaskId, usize>,
    rows: usize,
    critical: usize,
}

/// A task in the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// The task.
    pub task: TaskId,
    /// How many tasks stand before it in the longest chain that leads to it.
    pub rank: usize,
    /// The row it stands on.
    pub row: usize,
    /// Whether it is on the critical path: the longest chain of tasks that come after each other.
    pub(crate) is_critical: bool,
    /// Whether what waits for it alone is folded away.
    pub is_folded: bool,
    /// How many tasks are folded away behind it.
    pub folded_away: usize,
    /// What it waits for without a line to it: a circle, or a graph with too many lines to draw.
    pub waits_unseen_for: Vec<TaskId>,
    /// The tasks it waits for or is a part of, and the tasks that wait for it or are its parts, by their place among the nodes.
    before: Vec<usize>,
    behind: Vec<usize>,
}

/// Which neighbour of a task is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The one above it in its rank.
    Above,
    /// The one below it in its rank.
    Below,
    /// The nearest that it waits for.
    Before,
    /// The nearest that waits for it.
    Behind,
}

impl GraphNode {
    /// Tells whether anything that is shown waits for it.
    pub fn leads_on(&self) -> bool {
        !self.behind.is_empty()
    }
}

impl GraphPicture {
    /// Draws the open, visible ones of the tasks of a list. Behind those that are folded only what also waits for others is shown.
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

    /// Tells whether there is no task in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the tasks, by rank and then by row.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// Returns a task of the picture.
    pub fn node(&self, task: &TaskId) -> Option<&GraphNode> {
        self.by_task.get(task).map(|node| &self.nodes[*node])
    }

    /// Returns how many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns how many tasks the critical path has; none is critical where no task waits for another.
    pub fn critical_path(&self) -> usize {
        self.critical
    }

    /// Returns a neighbour of a task; none where there is none.
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

    /// Returns the task of a rank that stands nearest to a row.
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
    fn a_task_stands_behind_all_it_waits_for_and_the_longest_chain_is_critical() {
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
