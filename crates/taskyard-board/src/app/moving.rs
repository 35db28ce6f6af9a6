//! Moving the cursor.

use taskyard::core::view::Action;
use taskyard::core::{Status, TaskId};

use super::{App, View};
use crate::deed::About;

impl App {
    /// Returns how many rows the view has that is shown.
    pub(crate) fn rows(&self) -> usize {
        match self.view {
            View::List => self.arrangement.len(),
            View::Columns => self.arrangement.column_length(self.column),
            View::Graph => self.graph.picture.nodes().len(),
            View::Agents => self.agents.len(),
            View::Jobs => self.jobs.len(),
            View::Mail => self.mail.threads.len(),
            View::History => self.past.steps.len(),
            View::Lists => self.lists.as_ref().map_or(0, Vec::len),
        }
    }

    /// Moves the cursor as an action says.
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

    /// Puts the cursor on a row.
    pub(super) fn go_to(&mut self, row: usize) {
        let row = row.min(self.rows().saturating_sub(1));
        let before = std::mem::replace(&mut self.row, row);
        self.note_task();
        self.is_dirty = true;
        if self.view == View::Mail && self.row != before {
            self.page_scroll = 0;
        }
        if self.view == View::History && self.row + self.page_rows >= self.past.steps.len() {
            self.ask_for_more_history();
        }
        if self.view == View::Jobs {
            self.ask_for_output();
        }
    }

    /// Puts the cursor on a task, where it is shown.
    pub(super) fn go_to_task(&mut self, id: &TaskId) {
        self.at_task = Some(id.clone());
        self.page_scroll = 0;
        self.keep_the_cursor();
        self.ask_for_page();
        self.is_dirty = true;
    }

    /// Moves the cursor to another column.
    pub(super) fn step_aside(&mut self, action: Action) {
        if self.view != View::Columns {
            return;
        }
        let place = Status::ALL.iter().position(|status| *status == self.column).unwrap_or(0);
        let place = if action == Action::Left { place.saturating_sub(1) } else { (place + 1).min(2) };
        self.column = Status::ALL[place];
        self.go_to(self.row);
    }

    /// Takes note which task the cursor stands on.
    pub(super) fn note_task(&mut self) {
        if !self.view.has_tasks() || self.view == View::Graph {
            return;
        }
        let Some(watched) = &self.watched else { return };
        let id = match self.view {
            View::List => self.arrangement.id(watched.live(), self.row),
            _ => self.arrangement.in_column(watched.live(), self.column, self.row),
        };
        if id != self.at_task {
            self.at_task = id;
            self.page_scroll = 0;
            self.ask_for_page();
        }
    }

    /// Finds the task under the cursor again after something has changed, and stays near its place where it is gone.
    pub(super) fn keep_the_cursor(&mut self) {
        let Some(watched) = &self.watched else { return };
        let live = watched.live();
        let found = self.at_task.as_ref().and_then(|id| match self.view {
            View::List => self.arrangement.place_of(live, id),
            View::Columns => {
                let (status, _) = live.standing(id)?;
                self.column = status;
                self.arrangement.place_in_column(live, status, id)
            }
            _ => None,
        });
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

    /// Scrolls so that the cursor is seen in so many rows, given the first one that is seen now.
    pub(crate) fn scrolled(row: usize, top: usize, rows: usize) -> usize {
        if row < top { row } else { top.max((row + 1).saturating_sub(rows.max(1))) }
    }

    /// Asks for what is known of the task under the cursor beside the task itself.
    pub(super) fn ask_for_page(&mut self) {
        let Some(task) = self.task_at_cursor() else { return };
        if self.is_open || self.shows_detail() {
            self.ask(About::Page(task));
        }
    }

    /// Tells whether the task under the cursor is shown beside the list.
    pub(crate) fn shows_detail(&self) -> bool {
        self.size.0 >= 80 && self.view == View::List && !self.is_open
    }

    pub(super) fn ask_for_output(&mut self) {
        if let Some(job) = self.jobs.get(self.row).filter(|_| self.view == View::Jobs) {
            let id = job.id.clone();
            self.ask(About::Output(id));
        }
    }

    pub(super) fn ask_for_more_history(&mut self) {
        if self.past.is_all || self.past.is_asked {
            return;
        }
        self.past.is_asked = true;
        let before = self.past.steps.last().map(|step| step.revision);
        self.ask(About::History(before));
    }

    /// Asks for what the view shows and the stream does not tell of.
    pub(super) fn ask_for_view(&mut self) {
        self.asked_at = self.now;
        match self.view {
            View::Graph => self.ask_for_graph(),
            View::Agents => self.ask(About::Team),
            View::Jobs => {
                self.ask(About::Jobs);
                self.ask_for_output();
            }
            View::Mail => self.ask(About::ShownMail),
            View::Lists => self.ask(About::Lists),
            View::History => self.ask_for_more_history(),
            View::List | View::Columns => {}
        }
    }

    /// Shows a view.
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
        self.ask_for_view();
        self.ask_for_page();
    }
}
