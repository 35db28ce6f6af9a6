//! Taking JSON objects of other programs apart.

use serde_json::{Map, Value};

use crate::{Priority, Task, Timestamp};

/// The keys of an object that were not taken yet.
pub(super) struct Rest(pub(super) Map<String, Value>);

impl Rest {
    /// Takes a text that is not empty.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        if !self.0.get(key)?.is_string() {
            return None;
        }
        match self.0.shift_remove(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Takes a text or a number as text.
    pub(super) fn word(&mut self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::Number(number) => {
                let text = number.to_string();
                self.0.shift_remove(key);
                Some(text)
            }
            _ => self.text(key),
        }
    }

    /// Takes an array.
    pub(super) fn array(&mut self, key: &str) -> Vec<Value> {
        if !self.0.get(key).is_some_and(Value::is_array) {
            return Vec::new();
        }
        match self.0.shift_remove(key) {
            Some(Value::Array(values)) => values,
            _ => Vec::new(),
        }
    }

    /// Sets a moment from a text that is one; what is none stays among what is left.
    pub(super) fn moment(&mut self, key: &str, task: &mut Task, name: &str, end_of_day: bool) {
        let Some(text) = self.0.get(key).and_then(Value::as_str) else { return };
        if let Some(moment) = moment(text, end_of_day) {
            set(task, name, moment.to_string());
            self.0.shift_remove(key);
        }
    }

    /// Puts what is left into the task's metadata, under the name of the format. Nothing is dropped but nulls.
    pub(super) fn carry(mut self, task: &mut Task, format: &str) {
        self.0.retain(|_, value| !value.is_null());
        if !self.0.is_empty() {
            set(task, format, Value::Object(self.0));
        }
    }
}

/// Reads a moment as other programs write it: in full, in the short form of ISO 8601, or a bare date, of which the end or the beginning
/// is meant.
fn moment(text: &str, end_of_day: bool) -> Option<Timestamp> {
    let part = if end_of_day { "T23:59:59.999Z" } else { "T00:00:00Z" };
    let spaced = text.trim().replacen(' ', "T", 1);
    [text.to_owned(), format!("{spaced}Z"), format!("{spaced}:00Z"), format!("{spaced}{part}")]
        .iter()
        .find_map(|text| Timestamp::parse(text))
}

/// Sets a metadata value.
pub(super) fn set(task: &mut Task, key: &str, value: impl Into<Value>) {
    task.metadata.get_or_insert_default().insert(key.to_owned(), value.into());
}

/// Sets the priority.
pub(super) fn set_priority(task: &mut Task, priority: Priority) {
    set(task, "priority", priority.as_str());
}

/// Adds a part with a heading to the description.
pub(super) fn add_part(task: &mut Task, heading: &str, text: &str) {
    if !task.description.is_empty() {
        task.description.push_str("\n\n");
    }
    task.description.push_str(&format!("## {heading}\n\n{text}"));
}
