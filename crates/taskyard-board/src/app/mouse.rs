//! What the mouse means.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use taskyard::core::Timestamp;
use taskyard::core::view::Action;

use super::{App, Hit, Mode, View};
use crate::deed::What;

/// So many rows one turn of the wheel moves.
const WHEEL: usize = 3;

impl App {
    /// Does what the mouse means.
    pub(crate) fn on_mouse(&mut self, event: &MouseEvent, now: Timestamp) {
        self.now = now;
        let hit = self.hit(event.column, event.row);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.see_what_is_finished();
                self.click(hit);
            }
            MouseEventKind::Up(MouseButton::Left) => self.drop_on(hit),
            MouseEventKind::ScrollDown => self.turn(hit, Action::Down),
            MouseEventKind::ScrollUp => self.turn(hit, Action::Up),
            _ => {}
        }
    }

    fn hit(&self, column: u16, row: u16) -> Option<Hit> {
        let at = Position::new(column, row);
        self.hits.iter().rev().find(|(place, _)| place.contains(at)).map(|(_, hit)| hit.clone())
    }

    fn click(&mut self, hit: Option<Hit>) {
        self.is_dirty = true;
        match (hit, &mut self.mode) {
            (Some(Hit::Choice(place)), Mode::Picking(picker)) => {
                picker.cursor = place;
                self.finish_picking();
            }
            (_, Mode::Typing(_) | Mode::Picking(_) | Mode::Help) => {}
            (Some(Hit::View(view)), Mode::Browsing) => self.perform(view.action()),
            (Some(Hit::Row(row)), Mode::Browsing) => {
                // A second click on the same row opens it.
                let is_again = self.row == row;
                self.go_to(row);
                if is_again {
                    self.perform(Action::Open);
                }
            }
            (Some(Hit::Node(task)), Mode::Browsing) => {
                // A second click on the same task opens it.
                let is_again = self.at_task.as_ref() == Some(&task);
                self.graph_cursor(Some(task));
                if is_again {
                    self.perform(Action::Open);
                }
            }
            (Some(Hit::Card(status, row)), Mode::Browsing) => {
                self.column = status;
                self.go_to(row);
                self.dragged = self.at_task.clone();
            }
            (Some(Hit::Column(status)), Mode::Browsing) => {
                self.column = status;
                self.go_to(0);
            }
            (Some(Hit::Detail | Hit::Choice(_)) | None, Mode::Browsing) => {}
        }
    }

    /// Puts a card that was dragged into the column where it was let go.
    fn drop_on(&mut self, hit: Option<Hit>) {
        let Some(task) = self.dragged.take() else { return };
        let (Some(Hit::Card(to, _) | Hit::Column(to)), View::Columns) = (hit, self.view) else { return };
        let standing = self.watched.as_ref().and_then(|watched| watched.live().standing(&task));
        if standing.is_some_and(|(status, _)| status != to) {
            self.have_done(What::Move { tasks: vec![task], to });
        }
    }

    fn turn(&mut self, hit: Option<Hit>, action: Action) {
        if matches!(self.mode, Mode::Help) {
            let down = self.help_scroll + WHEEL;
            self.help_scroll = if action == Action::Down { down } else { self.help_scroll.saturating_sub(WHEEL) };
            self.is_dirty = true;
            return;
        }
        let is_detail = hit == Some(Hit::Detail) || self.is_open;
        for _ in 0..WHEEL {
            match (is_detail, action) {
                (true, Action::Down) => self.perform(Action::ScrollDown),
                (true, _) => self.perform(Action::ScrollUp),
                (false, _) if self.view == View::Graph => self.step_in_graph(action),
                (false, _) => self.step(action),
            }
        }
    }
}
