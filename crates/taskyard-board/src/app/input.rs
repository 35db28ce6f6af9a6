//! Keys, mouse events and typed lines.

use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::Position;
use taskyard::core::Timestamp;
use taskyard::core::forms::one_line::InlineTask;
use taskyard::core::view::Action;

use super::prompt::{Prompt, Purpose, type_key};
use super::{App, Effect, Hit, MessageKind, Mode, Pane, View};
use crate::messages::Operation;

impl App {
    /// Handles a key.
    pub(crate) fn on_key(&mut self, key: &KeyEvent, now: Timestamp) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.now = now;
        self.dismiss_finished_list();
        if self.message.as_ref().is_some_and(|message| message.kind == MessageKind::Refused) {
            self.message = None;
            self.is_dirty = true;
        }
        match self.mode {
            Mode::Typing(_) => self.on_prompt_key(key),
            Mode::Picking(_) => self.on_picker_key(key),
            Mode::Help => self.on_help_key(key),
            Mode::Pane(_) => self.on_pane_key(key),
            Mode::Browsing => {
                if let Some(action) = self.settings.keymap.action(key) {
                    self.perform(action);
                }
            }
        }
    }

    /// Scrolls the pane, or closes it. Closing stops a running command.
    fn on_pane_key(&mut self, key: &KeyEvent) {
        let (page, action) = (self.page_rows, self.settings.keymap.action(key));
        let Mode::Pane(pane) = &mut self.mode else { return };
        self.is_dirty = true;
        let most = pane.lines.len();
        match action {
            Some(Action::Up | Action::ScrollUp) => pane.scroll = (pane.scroll + 1).min(most),
            Some(Action::Down | Action::ScrollDown) => pane.scroll = pane.scroll.saturating_sub(1),
            Some(Action::PageUp) => pane.scroll = (pane.scroll + page).min(most),
            Some(Action::PageDown) => pane.scroll = pane.scroll.saturating_sub(page),
            Some(Action::Top) => pane.scroll = most,
            Some(Action::Bottom) => pane.scroll = 0,
            Some(Action::Back | Action::Quit | Action::Open) => self.close_pane(),
            Some(Action::Palette) => {
                self.close_pane();
                self.perform(Action::Palette);
            }
            _ => {}
        }
    }

    /// Opens the pane of a command that has been started.
    pub(crate) fn open_pane(&mut self, command: String) {
        self.mode = Mode::Pane(Pane { command, lines: Vec::new(), end: None, scroll: 0 });
        self.is_dirty = true;
    }

    fn close_pane(&mut self) {
        if let Mode::Pane(pane) = std::mem::take(&mut self.mode)
            && pane.end.is_none()
        {
            self.effects.push(Effect::StopCommand);
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

    /// Removes a finished list that was kept visible.
    pub(super) fn dismiss_finished_list(&mut self) {
        let now = self.now;
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.is_finished_and_gone()) {
            watched.let_go(now);
            self.disarrange();
        }
    }

    /// Updates the size of the screen.
    pub(crate) fn on_resize(&mut self, columns: u16, rows: u16) {
        if self.size != (columns, rows) {
            self.size = (columns, rows);
            self.is_dirty = true;
            self.request_page();
        }
    }
}

/// How many rows one step of the mouse wheel scrolls.
const WHEEL: usize = 3;

impl App {
    /// Handles a mouse event.
    pub(crate) fn on_mouse(&mut self, event: &MouseEvent, now: Timestamp) {
        self.now = now;
        let hit = self.hit(event.column, event.row);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.dismiss_finished_list();
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
            (_, Mode::Typing(_) | Mode::Picking(_) | Mode::Help | Mode::Pane(_)) => {}
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

    /// Moves a dragged card to the column where it was dropped.
    fn drop_on(&mut self, hit: Option<Hit>) {
        let Some(task) = self.dragged.take() else { return };
        let (Some(Hit::Card(to, _) | Hit::Column(to)), View::Columns) = (hit, self.view) else { return };
        let standing = self.watched.as_ref().and_then(|watched| watched.live().standing(&task));
        if standing.is_some_and(|(status, _)| status != to) {
            self.submit(Operation::Move { tasks: vec![task], to });
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

impl App {
    pub(super) fn prompt(&mut self, purpose: Purpose, text: &str) {
        self.mode = Mode::Typing(Prompt::new(purpose, text));
        self.is_dirty = true;
    }

    pub(super) fn on_prompt_key(&mut self, key: &KeyEvent) {
        let Mode::Typing(prompt) = &mut self.mode else { return };
        self.is_dirty = true;
        let is_filter = prompt.purpose == Purpose::Filter;
        match key.code {
            KeyCode::Esc => {
                self.mode = Mode::Browsing;
                if is_filter {
                    self.filter_by("");
                }
            }
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => self.mode = Mode::Browsing,
            KeyCode::Enter => self.finish_prompt(),
            _ => {
                if type_key(&mut prompt.line, key) && is_filter {
                    let text = prompt.line.text().to_owned();
                    self.filter_by(&text);
                }
            }
        }
    }

    fn finish_prompt(&mut self) {
        let Mode::Typing(Prompt { purpose, line }) = std::mem::take(&mut self.mode) else { return };
        let text = line.text().trim().to_owned();
        if purpose == Purpose::Filter {
            return;
        }
        if purpose == Purpose::Command && !text.is_empty() {
            self.effects.push(Effect::Run(text));
            return;
        }
        if text.is_empty() {
            self.show_message(MessageKind::Refused, "nothing was entered, so nothing was changed", None);
            return;
        }
        if let Purpose::Create { .. } = &purpose {
            let clock = self.clock();
            let why = match InlineTask::of_line(&text, &clock) {
                Ok(task) if task.title.trim().is_empty() => Some("a task needs a title".to_owned()),
                Ok(_) => None,
                Err(bad) => Some(bad.to_string()),
            };
            if let Some(why) = why {
                // The user continues typing at the mistake.
                self.mode = Mode::Typing(Prompt { purpose, line });
                let hint = "words after -- belong to the title".to_owned();
                self.show_message(MessageKind::Refused, why, Some(hint));
                return;
            }
        }
        self.submit(match purpose {
            Purpose::Create { parent } => Operation::Create { line: text, parent },
            Purpose::Rename(task) => {
                // The line to edit was shown with control characters escaped.
                let stored = self.watched.as_ref().and_then(|watched| watched.live().task(&task));
                Operation::Rename { subject: stored.map_or(text.clone(), |stored| stored.subject_typed(&text)), task }
            }
            Purpose::Note(tasks) => Operation::Note { tasks, text },
            Purpose::Send { to } => Operation::Send { to, text },
            Purpose::Filter | Purpose::Command => return,
        });
    }

    /// Handles pasted text.
    pub(crate) fn on_paste(&mut self, text: &str) {
        match &mut self.mode {
            Mode::Typing(prompt) => {
                prompt.line.insert(text);
                if prompt.purpose == Purpose::Filter {
                    let text = prompt.line.text().to_owned();
                    self.filter_by(&text);
                }
            }
            Mode::Picking(picker) => {
                picker.line.insert(text);
                self.refilter_picker();
            }
            Mode::Browsing | Mode::Help | Mode::Pane(_) => {}
        }
        self.is_dirty = true;
    }
}
