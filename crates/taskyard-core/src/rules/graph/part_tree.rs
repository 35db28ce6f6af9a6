//! Which task is a part of which, as a tree without circles.
//!
//! Parts that lead back to themselves, which foreign files may hold, are parts of no task.

use super::positions::Positions;
use crate::{Task, TaskId};

/// Which task each task of a list is a part of, by their positions.
#[derive(Debug)]
pub(crate) struct Tree {
    above: Vec<Option<usize>>,
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
        Some(Self { above })
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
        let mut at = self.above[position];
        while let Some(above) = at {
            if above == other {
                return true;
            }
            at = self.above[above];
        }
        false
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
