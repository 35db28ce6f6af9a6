//! Typing something that is then done.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::prompt::{Prompt, Purpose, type_key};
use super::{App, Effect, Mode, SaidKind};
use crate::deed::What;

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
            self.say(SaidKind::Refused, "nothing was typed, so nothing was done", None);
            return;
        }
        self.have_done(match purpose {
            Purpose::Create { parent } => What::Create { subject: text, parent },
            Purpose::Rename(task) => {
                // What was to be typed over was shown with control characters escaped.
                let stored = self.watched.as_ref().and_then(|watched| watched.live().task(&task));
                What::Rename { subject: stored.map_or(text.clone(), |stored| stored.subject_typed(&text)), task }
            }
            Purpose::Note(tasks) => What::Note { tasks, text },
            Purpose::Send { to } => What::Send { to, text },
            Purpose::Filter | Purpose::Command => return,
        });
    }

    /// Takes in a text that was pasted.
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
            Mode::Browsing | Mode::Help => {}
        }
        self.is_dirty = true;
    }
}
