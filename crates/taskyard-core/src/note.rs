//! A remark on a task, and where a task keeps its remarks.

use std::borrow::Cow;

use serde_json::Value;

use crate::{AgentName, Task, Timestamp};

/// The metadata key of notes.
pub const NOTES: &str = "notes";

/// A remark on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it was made.
    pub at: Timestamp,
    /// The agent that made it.
    pub author: AgentName,
    /// What it says.
    pub text: String,
}

/// A note as it stands in a task, where other programs write, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRead<'a> {
    /// When it was made, where it says so.
    pub at: Option<&'a str>,
    /// Its author, where it names one.
    pub author: Option<&'a str>,
    /// What it says.
    pub text: Cow<'a, str>,
}

/// Returns the notes of a task, in their order. A value that is no list is one note.
pub fn notes_of(task: &Task) -> &[Value] {
    elements(task.meta(NOTES))
}

/// Returns the text of a note, of any author.
pub fn read_note(note: &Value) -> NoteRead<'_> {
    let field = |name: &str| note.get(name).and_then(Value::as_str);
    let text = match (note, field("text")) {
        (Value::String(text), _) => text.as_str().into(),
        (_, Some(text)) => text.into(),
        (other, None) => other.to_string().into(),
    };
    NoteRead { at: field("at"), author: field("author"), text }
}

/// Returns the elements of a `notes` value.
pub(crate) fn elements(notes: Option<&Value>) -> &[Value] {
    match notes {
        None | Some(Value::Null) => &[],
        Some(Value::Array(notes)) => notes,
        Some(other) => std::slice::from_ref(other),
    }
}
