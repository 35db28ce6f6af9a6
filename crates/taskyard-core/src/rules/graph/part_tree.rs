//! Which task is a part of which, as a tree without circles.
//!
//! Parts that lead back to themselves, which foreign files may hold, are parts of no task.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;

use super::positions::Positions;
use crate::{Task, TaskId};

/// The lines from tasks up to those that are parts of nothing, each walked once, however many tasks are asked about.
#[derive(Clone, Debug)]
pub struct Lineage<K> {
    nodes: HashMap<K, Node<K>>,
}

/// A task in the tree.
#[derive(Clone, Debug)]
struct Node<K> {
    parent: Option<K>,
    /// How many tasks it is a part of.
    depth: usize,
    /// One of them further up, so that any other can be reached in few steps.
    jump: K,
}

impl<K> Default for Lineage<K> {
    fn default() -> Self {
        Self { nodes: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Lineage<K> {
    /// Learns the line of a task. `parent` says what a task is a part of, and is asked once for each task.
    pub fn see<E>(&mut self, task: &K, mut parent: impl FnMut(&K) -> Result<Option<K>, E>) -> Result<(), E> {
        let mut way: Vec<(K, Option<K>)> = Vec::new();
        let mut met: HashMap<K, usize> = HashMap::new();
        let mut next = Some(task.clone());
        while let Some(at) = next.take().filter(|at| !self.nodes.contains_key(at)) {
            if let Some(first) = met.get(&at) {
                // From the task that was met on, they are parts of each other, and so of nothing.
                way[*first..].iter_mut().for_each(|(_, above)| *above = None);
                break;
            }
            let above = parent(&at)?;
            met.insert(at.clone(), way.len());
            way.push((at, above.clone()));
            next = above;
        }
        for (at, above) in way.into_iter().rev() {
            let node = self.node_below(&at, above);
            self.nodes.insert(at, node);
        }
        Ok(())
    }

    /// Returns what a task is a part of. Its line is known.
    pub fn parent(&self, task: &K) -> Option<&K> {
        self.nodes.get(task)?.parent.as_ref()
    }

    /// Tells whether a task is a part of another, or of one of its parts. The lines of both are known.
    pub fn is_below(&self, task: &K, other: &K) -> bool {
        let (Some(mut at), Some(end)) = (self.nodes.get(task), self.nodes.get(other)) else { return false };
        let mut reached = task;
        while at.depth > end.depth {
            let Some(parent) = &at.parent else { return false };
            let is_too_far = self.nodes.get(&at.jump).is_none_or(|jump| jump.depth < end.depth);
            reached = if is_too_far { parent } else { &at.jump };
            match self.nodes.get(reached) {
                Some(node) => at = node,
                None => return false,
            }
        }
        reached == other && task != other
    }

    /// Returns the node of a task below one whose node is known. Jumps that went equally far join, so that they double.
    fn node_below(&self, task: &K, parent: Option<K>) -> Node<K> {
        let above = parent.as_ref().and_then(|parent| Some((parent, self.nodes.get(parent)?)));
        let Some((parent, node)) = above else { return Node { parent: None, depth: 0, jump: task.clone() } };
        let depth_of = |key: &K| self.nodes.get(key).map_or(0, |node| node.depth);
        let further = self.nodes.get(&node.jump).map_or(&node.jump, |jump| &jump.jump);
        let is_equally_far = node.depth - depth_of(&node.jump) == depth_of(&node.jump) - depth_of(further);
        let jump = if is_equally_far && node.depth > 0 { further } else { parent };
        Node { parent: Some(parent.clone()), depth: node.depth + 1, jump: jump.clone() }
    }
}

/// Which task each task of a list is a part of, by their positions.
#[derive(Debug)]
pub(crate) struct Tree {
    above: Vec<Option<usize>>,
    lineage: RefCell<Lineage<usize>>,
}

impl Tree {
    /// Reads the tree of a list; none where no task is a part of another.
    pub(crate) fn of(tasks: &[Task]) -> Option<Self> {
        let parents: Vec<Option<TaskId>> = tasks.iter().map(Task::parent).collect();
        if parents.iter().all(Option::is_none) {
            return None;
        }
        let positions = Positions::of(tasks, |_| true);
        let mut above: Vec<Option<usize>> = parents.iter().map(|parent| positions.get(parent.as_ref()?)).collect();
        forget_circles(&mut above);
        Some(Self { above, lineage: RefCell::default() })
    }

    /// Returns the position of the task that the one at this position is a part of.
    pub(crate) fn above(&self, position: usize) -> Option<usize> {
        self.above[position]
    }

    /// Calls `visit` with the position of every part and of what it is a part of; what that one is a part of comes first.
    pub(crate) fn walk_down(&self, mut visit: impl FnMut(usize, usize)) {
        let mut is_known = vec![false; self.above.len()];
        for start in 0..self.above.len() {
            let mut way = Vec::new();
            let mut at = start;
            // A stack of our own: a tree may be deeper than the thread's stack.
            while let Some(above) = self.above(at).filter(|_| !is_known[at]) {
                is_known[at] = true;
                way.push((at, above));
                at = above;
            }
            way.into_iter().rev().for_each(|(position, above)| visit(position, above));
        }
    }

    /// Tells whether a task is a part of another, or of one of its parts.
    pub(crate) fn is_below(&self, position: usize, other: usize) -> bool {
        let mut lineage = self.lineage.borrow_mut();
        for task in [position, other] {
            let Ok(()) = lineage.see(&task, |at| Ok::<_, Infallible>(self.above[*at]));
        }
        lineage.is_below(&position, &other)
    }
}

/// Makes every task that is in a circle the part of no task.
fn forget_circles(above: &mut [Option<usize>]) {
    // Which walk came by each position, counted from one.
    let mut walked = vec![0_usize; above.len()];
    let mut in_circles = Vec::new();
    for start in 0..above.len() {
        let mut at = Some(start);
        while let Some(position) = at.filter(|position| walked[*position] == 0) {
            walked[position] = start + 1;
            at = above[position];
        }
        // A walk that meets its own way has found a circle.
        let Some(met) = at.filter(|position| walked[*position] == start + 1) else { continue };
        let mut position = met;
        loop {
            in_circles.push(position);
            match above[position] {
                Some(next) if next != met => position = next,
                Some(_) | None => break,
            }
        }
    }
    for position in in_circles {
        above[position] = None;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::Lineage;

    #[test]
    fn lines_are_known_however_they_branch_and_circle() {
        // 0 is above all but the last six; 1, 2, 3 are in a line, 4 beside them; 6 and 7 are parts of each other, 8 is below; 9 of itself.
        let parents = [None, Some(0), Some(1), Some(2), Some(1), None, Some(7), Some(6), Some(7), Some(9), Some(5)];
        let mut lineage = Lineage::default();
        for task in [3, 4, 8, 9, 10, 0, 1, 2, 5, 6, 7_usize] {
            let Ok(()) = lineage.see(&task, |at| Ok::<_, Infallible>(parents[*at]));
        }
        let below: Vec<(usize, usize)> = (0..11)
            .flat_map(|task| (0..11).map(move |other| (task, other)))
            .filter(|(task, other)| lineage.is_below(task, other))
            .collect();
        let expected = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 0), (4, 1), (8, 7), (10, 5)];
        assert_eq!(below, expected);
        assert_eq!([6, 7, 8, 9].map(|task| lineage.parent(&task).copied()), [None, None, Some(7), None]);
    }

    #[test]
    fn each_parent_is_asked_for_once_and_long_lines_are_short_ways() {
        let (mut lineage, mut asked) = (Lineage::default(), 0);
        for task in 0..20_000_usize {
            let parent = |at: &usize| {
                asked += 1;
                Ok::<_, Infallible>(at.checked_sub(1))
            };
            let Ok(()) = lineage.see(&(19_999 - task), parent);
        }
        assert_eq!(asked, 20_000);
        for other in 0..19_999 {
            assert!(lineage.is_below(&19_999, &other) && !lineage.is_below(&other, &19_999));
        }
    }
}
