//! Moving the cursor and changing the view, in lists of rows and in the graph.

use taskyard::core::view::{Action, GraphWindow, Neighbour};
use taskyard::core::{Status, TaskId};

use super::{App, View};
use crate::messages::Resource;

impl App {
    /// Returns how many rows the current view has.
    pub(crate) fn rows(&self) -> usize {
        match self.view {
            View::List => self.arrangement.len() + self.unreadable_rows().len(),
            View::Columns => self.arrangement.column_length(self.column),
            View::Graph => self.graph.picture.nodes().len(),
            View::Agents => self.agents.len(),
            View::Jobs => self.jobs.len(),
            View::Mail => self.mail.threads.len(),
            View::History => self.history.steps.len(),
            View::Lists => self.lists.as_ref().map_or(0, Vec::len),
        }
    }

    /// Returns the task files that cannot be read, with the reason, if their last contents are not known.
    pub(crate) fn unreadable_rows(&self) -> Vec<(TaskId, String)> {
        let Some(live) = self.watched.as_ref().map(|watched| watched.live()) else { return Vec::new() };
        let unknown = self.unreadable.iter().filter(|(id, _)| self.filter.is_none() && !live.contains(id));
        unknown.map(|(id, why)| (id.clone(), why.clone())).collect()
    }

    /// Moves the cursor according to an action.
    pub(super) fn step(&mut self, action: Action) {
        let page = self.page_rows.saturating_sub(1).max(1);
        let row = match action {
            Action::Up => self.row.saturating_sub(1),
            Action::Down => self.row + 1,
            Action::PageUp => self.row.saturating_sub(page),
            Action::PageDown => self.row + page,
            Action::Top => 0,
            _ => usize::MAX,
        };
        self.go_to(row);
    }

    pub(super) fn go_to(&mut self, row: usize) {
        let row = row.min(self.rows().saturating_sub(1));
        let before = std::mem::replace(&mut self.row, row);
        self.note_task();
        self.is_dirty = true;
        if self.view == View::Mail && self.row != before {
            self.page_scroll = 0;
        }
        if self.view == View::History && self.row + self.page_rows >= self.history.steps.len() {
            self.request_more_history();
        }
        if self.view == View::Jobs {
            self.request_output();
        }
    }

    /// Moves the cursor to a task if it is shown.
    pub(super) fn go_to_task(&mut self, id: &TaskId) {
        self.at_task = Some(id.clone());
        self.page_scroll = 0;
        self.keep_the_cursor();
        self.request_page();
        self.is_dirty = true;
    }

    /// Moves the cursor to the next column.
    pub(super) fn step_aside(&mut self, action: Action) {
        if self.view != View::Columns {
            return;
        }
        let place = Status::ALL.iter().position(|status| *status == self.column).unwrap_or(0);
        let place = if action == Action::Left { place.saturating_sub(1) } else { (place + 1).min(2) };
        self.column = Status::ALL[place];
        self.go_to(self.row);
    }

    /// Updates the task under the cursor from its row.
    pub(super) fn note_task(&mut self) {
        if !self.view.has_tasks() || self.view == View::Graph {
            return;
        }
        let Some(watched) = &self.watched else { return };
        let id = match self.view {
            View::List => {
                let beyond = self.row.checked_sub(self.arrangement.len());
                let unreadable = beyond.and_then(|place| Some(self.unreadable_rows().get(place)?.0.clone()));
                unreadable.or_else(|| self.arrangement.id(watched.live(), self.row))
            }
            _ => self.arrangement.in_column(watched.live(), self.column, self.row),
        };
        if id != self.at_task {
            self.at_task = id;
            self.page_scroll = 0;
            self.request_page();
        }
    }

    /// Finds the task under the cursor again after a change; if the task is gone, the cursor stays near its place.
    pub(super) fn keep_the_cursor(&mut self) {
        let Some(watched) = &self.watched else { return };
        let live = watched.live();
        // When the user undoes a creation, the cursor returns to where it was before.
        if let Some(creation) = &mut self.before_creation {
            if live.contains(&creation.created) {
                creation.is_shown = true;
            } else if creation.is_shown {
                if self.at_task.as_ref() == Some(&creation.created) {
                    self.at_task = creation.at_task.take();
                }
                self.before_creation = None;
            }
        }
        let (at, mut column) = (self.at_task.clone(), self.column);
        let found = at.as_ref().and_then(|id| match self.view {
            View::List => self.arrangement.place_of(live, id).or_else(|| {
                let place = self.unreadable_rows().iter().position(|(unreadable, _)| unreadable == id)?;
                Some(self.arrangement.len() + place)
            }),
            View::Columns => {
                let (status, _) = live.standing(id)?;
                column = status;
                self.arrangement.place_in_column(live, status, id)
            }
            _ => None,
        });
        self.column = column;
        match found {
            _ if self.view == View::Graph => self.keep_the_cursor_in_graph(),
            Some(row) => self.row = row,
            None if self.view.has_tasks() => {
                self.row = self.row.min(self.rows().saturating_sub(1));
                self.note_task();
            }
            None => self.row = self.row.min(self.rows().saturating_sub(1)),
        }
        if let Some(watched) = &self.watched {
            self.selected.retain(|id| watched.live().contains(id));
        }
    }

    /// Returns the first visible row for which the cursor is visible, given the current one.
    pub(crate) fn scrolled(row: usize, top: usize, rows: usize) -> usize {
        if row < top { row } else { top.max((row + 1).saturating_sub(rows.max(1))) }
    }

    /// Requests the details of the task under the cursor.
    pub(super) fn request_page(&mut self) {
        let Some(task) = self.task_at_cursor() else { return };
        if self.is_open || self.shows_detail() {
            self.request(Resource::Page(task));
        }
    }

    /// Returns whether the task under the cursor is shown beside the list.
    pub(crate) fn shows_detail(&self) -> bool {
        self.size.0 >= 80 && self.view == View::List && !self.is_open
    }

    pub(super) fn request_output(&mut self) {
        if let Some(job) = self.jobs.get(self.row).filter(|_| self.view == View::Jobs) {
            let id = job.id.clone();
            self.request(Resource::Output(id));
        }
    }

    pub(super) fn request_more_history(&mut self) {
        if self.history.is_all || self.history.is_asked {
            return;
        }
        self.history.is_asked = true;
        let before = self.history.steps.last().map(|step| step.revision);
        self.request(Resource::History(before));
    }

    /// Requests what the view shows and the stream does not report.
    pub(super) fn request_view(&mut self) {
        self.asked_at = self.now;
        match self.view {
            View::Graph => self.request_graph(),
            View::Agents => {
                self.request(Resource::Team);
                self.request(Resource::AgentOutputs);
            }
            View::Jobs => {
                self.request(Resource::Jobs);
                self.request_output();
            }
            View::Mail => self.request(Resource::ShownMail),
            View::Lists => self.request(Resource::Lists),
            View::History => self.request_more_history(),
            View::List | View::Columns => {}
        }
    }

    pub(super) fn show(&mut self, view: View) {
        self.is_dirty = true;
        self.is_open = false;
        if self.view == view {
            return;
        }
        self.view = view;
        (self.row, self.top) = (0, 0);
        if let Some(status) = self.at_task.as_ref().and_then(|id| self.watched.as_ref()?.live().standing(id)) {
            self.column = status.0;
        }
        if view == View::Agents {
            self.note_agents();
        }
        self.keep_the_cursor();
        self.request_view();
        self.request_page();
    }
}

/// The maximum number of visible ranks.
const MOST_RANKS: usize = 12;

/// The width of a rank in columns, unless the user chose the number of ranks.
const RANK: usize = 30;

impl App {
    /// Requests the dependency graph.
    pub(super) fn request_graph(&mut self) {
        let folded = self.graph.folded.iter().cloned().collect();
        self.request(Resource::Graph(folded));
    }

    /// Moves the cursor between tasks.
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

    /// Moves the cursor to a task of the graph.
    pub(super) fn graph_cursor(&mut self, task: Option<TaskId>) {
        let Some(task) = task.filter(|task| self.graph.picture.node(task).is_some()) else { return };
        if self.at_task.as_ref() != Some(&task) {
            self.at_task = Some(task);
            self.page_scroll = 0;
            self.request_page();
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

    /// Shows fewer ranks with more detail per task, or more ranks.
    pub(super) fn zoom(&mut self, action: Action) {
        let now = self.graph.ranks.unwrap_or(self.graph.drawn_ranks).max(1);
        let ranks = if action == Action::ZoomIn { now.saturating_sub(1).max(1) } else { (now + 1).min(MOST_RANKS) };
        self.graph.ranks = Some(ranks);
        self.is_dirty = true;
    }

    /// Folds or unfolds the tasks that only depend on the task under the cursor.
    pub(super) fn fold_in_graph(&mut self) {
        let Some(id) = self.task_at_cursor() else { return };
        if !self.graph.folded.remove(&id) {
            self.graph.folded.insert(id);
        }
        self.request_graph();
    }

    /// Returns the visible part of the graph, including the cursor, for this many columns and rows.
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
