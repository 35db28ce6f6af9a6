//! What a key means.

use ratatui::crossterm::event::{KeyEvent, KeyEventKind};
use taskyard::core::Timestamp;
use taskyard::core::view::Action;

use super::{App, Mode, SaidKind};

impl App {
    /// Does what a key means.
    pub(crate) fn on_key(&mut self, key: &KeyEvent, now: Timestamp) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.now = now;
        self.see_what_is_finished();
        if self.said.as_ref().is_some_and(|said| said.kind == SaidKind::Refused) {
            self.said = None;
            self.is_dirty = true;
        }
        match self.mode {
            Mode::Typing(_) => self.on_prompt_key(key),
            Mode::Picking(_) => self.on_picker_key(key),
            Mode::Help => self.on_help_key(key),
            Mode::Browsing => {
                if let Some(action) = self.settings.keymap.action(key) {
                    self.perform(action);
                }
            }
        }
    }

    fn on_help_key(&mut self, key: &KeyEvent) {
        self.is_dirty = true;
        match self.settings.keymap.action(key) {
            Some(Action::Down | Action::ScrollDown) => self.help_scroll += 1,
            Some(Action::Up | Action::ScrollUp) => self.help_scroll = self.help_scroll.saturating_sub(1),
            Some(Action::PageDown) => self.help_scroll += self.page_rows,
            Some(Action::PageUp) => self.help_scroll = self.help_scroll.saturating_sub(self.page_rows),
            _ => self.mode = Mode::Browsing,
        }
    }

    /// Lets a finished list go that was kept in view.
    pub(super) fn see_what_is_finished(&mut self) {
        let now = self.now;
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.is_finished_and_gone()) {
            watched.let_go(now);
            self.disarrange();
        }
    }

    /// Takes in how large the screen is.
    pub(crate) fn on_resize(&mut self, columns: u16, rows: u16) {
        if self.size != (columns, rows) {
            self.size = (columns, rows);
            self.is_dirty = true;
            self.ask_for_page();
        }
    }
}
