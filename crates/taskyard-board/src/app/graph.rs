//! Moving through what waits for what.

use taskyard::core::TaskId;
use taskyard::core::view::{Action, GraphWindow, Neighbour};

use super::App;
use crate::deed::About;

/// As many ranks are seen at once at most.
const MOST_RANKS: usize = 12;

/// A rank has so many columns where the user does not say how many ranks are to be seen.
const RANK: usize = 30;

impl App {
    /// Asks for what waits for what.
    pub(super) fn ask_for_graph(&mut self) {
        let folded = self.graph.folded.iter().cloned().collect();
        self.ask(About::Graph(folded));
    }

    /// Moves the cursor from task to task.
    pub(super) fn step_in_graph(&mut self, action: Action) {
        let picture = &self.graph.picture;
        let Some(at) = self.at_task.as_ref().and_then(|id| picture.node(id)) else {
            self.graph_cursor(picture.nodes().first().map(|node| node.task.clone()));
            return;
        };
        let page = self.page_rows.saturating_sub(1).max(1);
        let in_rank = |row: usize| picture.nearest_in_rank(at.rank, row);
        let next = match action {
            Action::Up => picture.neighbour(&at.task, Neighbour::Above),
            Action::Down => picture.neighbour(&at.task, Neighbour::Below),
            Action::Left => picture
                .neighbour(&at.task, Neighbour::Before)
                .or_else(|| at.rank.checked_sub(1).and_then(|rank| picture.nearest_in_rank(rank, at.row))),
            Action::Right => {
                picture.neighbour(&at.task, Neighbour::Behind).or_else(|| picture.nearest_in_rank(at.rank + 1, at.row))
            }
            Action::PageUp => in_rank(at.row.saturating_sub(page)),
            Action::PageDown => in_rank(at.row + page),
            Action::Top => in_rank(0),
            _ => in_rank(usize::MAX),
        };
        let next = next.cloned();
        self.graph_cursor(next);
    }

    /// Puts the cursor on a task of the graph.
    pub(super) fn graph_cursor(&mut self, task: Option<TaskId>) {
        let Some(task) = task.filter(|task| self.graph.picture.node(task).is_some()) else { return };
        if self.at_task.as_ref() != Some(&task) {
            self.at_task = Some(task);
            self.page_scroll = 0;
            self.ask_for_page();
        }
        self.is_dirty = true;
    }

    /// Keeps the cursor on a task that is in the graph.
    pub(super) fn keep_the_cursor_in_graph(&mut self) {
        let is_there = self.at_task.as_ref().is_some_and(|id| self.graph.picture.node(id).is_some());
        if !is_there {
            self.graph_cursor(self.graph.picture.nodes().first().map(|node| node.task.clone()));
        }
    }

    /// Shows fewer ranks with more of each task, or more ranks.
    pub(super) fn zoom(&mut self, action: Action) {
        let now = self.graph.ranks.unwrap_or(self.graph.drawn_ranks).max(1);
        let ranks = if action == Action::ZoomIn { now.saturating_sub(1).max(1) } else { (now + 1).min(MOST_RANKS) };
        self.graph.ranks = Some(ranks);
        self.is_dirty = true;
    }

    /// Folds away what waits for the task under the cursor alone, or shows it.
    pub(super) fn fold_in_graph(&mut self) {
        let Some(id) = self.task_at_cursor() else { return };
        if !self.graph.folded.remove(&id) {
            self.graph.folded.insert(id);
        }
        self.ask_for_graph();
    }

    /// Returns the part of the graph that is seen in so many columns and rows, the cursor in it.
    pub(crate) fn graph_window(&mut self, width: usize, rows: usize) -> GraphWindow {
        let picture = &self.graph.picture;
        let ranks = self.graph.ranks.unwrap_or((width / RANK).clamp(1, MOST_RANKS)).min(picture.ranks().max(1));
        self.graph.drawn_ranks = ranks;
        if let Some(at) = self.at_task.as_ref().and_then(|id| picture.node(id)) {
            self.graph.first_rank = Self::scrolled(at.rank, self.graph.first_rank, ranks);
            self.graph.first_row = Self::scrolled(at.row, self.graph.first_row, rows);
        }
        self.graph.first_rank = self.graph.first_rank.min(picture.ranks().saturating_sub(ranks));
        self.graph.first_row = self.graph.first_row.min(picture.rows().saturating_sub(rows.min(picture.rows())));
        let (first_rank, first_row) = (self.graph.first_rank, self.graph.first_row);
        GraphWindow { first_rank, ranks, first_row, rows, width }
    }
}
