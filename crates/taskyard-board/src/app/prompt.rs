//! A line that the user types, and what it is for.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use taskyard::core::TaskId;
use taskyard::core::render::numbered;

use crate::line::TypedLine;

/// A line being typed, and its purpose.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) purpose: Purpose,
    pub(crate) line: TypedLine,
}

/// The purpose of a typed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Create {
        parent: Option<TaskId>,
    },
    Rename(TaskId),
    Note(Vec<TaskId>),
    Send {
        to: String,
    },
    Filter,
    /// A command of the CLI.
    Command,
}

impl Prompt {
    pub(crate) fn new(purpose: Purpose, text: &str) -> Self {
        Self { purpose, line: TypedLine::of(text) }
    }

    /// Returns whether a new task is being typed.
    pub(crate) fn creates(&self) -> bool {
        matches!(self.purpose, Purpose::Create { .. })
    }

    /// Returns the prompt.
    pub(crate) fn question(&self) -> String {
        match &self.purpose {
            Purpose::Create { parent: None } => "New task: ".to_owned(),
            Purpose::Create { parent: Some(parent) } => format!("New part of #{parent}: "),
            Purpose::Rename(task) => format!("Subject of #{task}: "),
            Purpose::Note(tasks) => format!("Note on {}: ", numbered(tasks)),
            Purpose::Send { to } if to == "*" => "To everybody: ".to_owned(),
            Purpose::Send { to } => format!("To {to}: "),
            Purpose::Filter => "/".to_owned(),
            Purpose::Command => "taskyard ".to_owned(),
        }
    }
}

/// Edits a line according to a key. Returns whether the text changed.
pub(super) fn type_key(line: &mut TypedLine, key: &KeyEvent) -> bool {
    let before = line.text().to_owned();
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('a') if is_control => line.home(),
        KeyCode::Char('e') if is_control => line.end(),
        KeyCode::Char('u') if is_control => line.delete_to_start(),
        KeyCode::Char('w') if is_control => line.delete_word(),
        KeyCode::Char(letter) if !is_control && !key.modifiers.contains(KeyModifiers::ALT) => {
            line.insert(letter.encode_utf8(&mut [0; 4]));
        }
        KeyCode::Backspace => line.backspace(),
        KeyCode::Delete => line.delete(),
        KeyCode::Left => line.left(),
        KeyCode::Right => line.right(),
        KeyCode::Home => line.home(),
        KeyCode::End => line.end(),
        _ => {}
    }
    line.text() != before
}
