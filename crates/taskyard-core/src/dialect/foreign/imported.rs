//! Tasks imported from another program's files, and helpers for taking its JSON objects apart.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::{Priority, Task, TaskId, Timestamp};

/// Imported tasks with the ids of the source, and a record of what was changed or lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The tasks. Ids, dependencies and parents are those of the source.
    pub tasks: Vec<Task>,
    /// The values that were translated, and how often.
    pub mapped: BTreeMap<Mapping, usize>,
    /// What could not be imported.
    pub losses: Vec<Loss>,
}

/// The translation of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    /// The field: `status` or `priority`.
    pub field: &'static str,
    /// The value in the source.
    pub from: String,
    /// The value in Taskyard.
    pub to: &'static str,
}

/// Something that could not be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The place in the source: a task id, a file or a line.
    pub of: String,
    /// What is missing, and why.
    pub what: String,
}

/// A source that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {format}: {why}")]
pub struct BadSource {
    /// What it should have been.
    pub format: &'static str,
    /// What is wrong with it.
    pub why: String,
}

impl Imported {
    /// Creates an import without translations or losses.
    pub fn of(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }

    /// Records a translated value, unless it is unchanged.
    pub(super) fn map(&mut self, field: &'static str, from: &str, to: &'static str) {
        if from != to {
            *self.mapped.entry(Mapping { field, from: from.to_owned(), to }).or_default() += 1;
        }
    }

    /// Records something that could not be imported.
    pub fn lose(&mut self, of: impl Into<String>, what: impl Into<String>) {
        self.losses.push(Loss { of: of.into(), what: what.into() });
    }

    /// Keeps only the first of several tasks with the same id and records the others as losses.
    #[must_use]
    pub(super) fn without_doubles(mut self) -> Self {
        let mut seen: HashSet<TaskId> = HashSet::new();
        let (first, again): (Vec<Task>, Vec<Task>) =
            std::mem::take(&mut self.tasks).into_iter().partition(|task| seen.insert(task.id.clone()));
        self.tasks = first;
        for task in again {
            self.lose(task.id.as_str(), format!("\"{}\" has the id of an earlier task", task.subject));
        }
        self
    }
}

/// The keys of an object that have not been taken yet.
pub(super) struct Rest(pub(super) Map<String, Value>);

impl Rest {
    /// Takes a non-empty string.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        if !self.0.get(key)?.is_string() {
            return None;
        }
        match self.0.shift_remove(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Takes a string, or a number as a string.
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

    /// Moves a moment into the task's metadata. A value that is not a moment is left in place.
    pub(super) fn moment(&mut self, key: &str, task: &mut Task, name: &str, end_of_day: bool) {
        let Some(text) = self.0.get(key).and_then(Value::as_str) else { return };
        if let Some(moment) = moment(text, end_of_day) {
            set(task, name, moment.to_string());
            self.0.shift_remove(key);
        }
    }

    /// Stores the remaining keys in the task's metadata under the name of the format. Only nulls are dropped.
    pub(super) fn carry(mut self, task: &mut Task, format: &str) {
        self.0.retain(|_, value| !value.is_null());
        if !self.0.is_empty() {
            set(task, format, Value::Object(self.0));
        }
    }
}

/// Parses a moment as other programs write it: a full timestamp, a short form of ISO 8601, or a bare date, which
/// means its start or end.
pub(super) fn moment(text: &str, end_of_day: bool) -> Option<Timestamp> {
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

/// Appends a section with a heading to the description.
pub(super) fn add_part(task: &mut Task, heading: &str, text: &str) {
    if !task.description.is_empty() {
        task.description.push_str("\n\n");
    }
    task.description.push_str(&format!("## {heading}\n\n{text}"));
}

/// Removes a section from the end of a description, as [`add_part`] added it.
pub(super) fn take_part(description: &mut String, heading: &str) -> Option<String> {
    let head = format!("## {heading}\n\n");
    let at = description.rfind(&head).filter(|at| *at == 0 || description[..*at].ends_with("\n\n"))?;
    let text = description[at + head.len()..].to_owned();
    description.truncate(at);
    description.truncate(description.trim_end_matches('\n').len());
    Some(text)
}

/// Returns the data a task carries for a format, so that it can be exported unchanged.
pub(super) fn carried(task: &Task, format: &str) -> Map<String, Value> {
    task.meta(format).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Sets a moment, unless the existing text already means the same moment.
pub(super) fn put_moment(
    object: &mut Map<String, Value>,
    key: &str,
    is: Option<Timestamp>,
    end_of_day: bool,
    written: impl Fn(Timestamp) -> String,
) {
    let was = object.get(key).and_then(Value::as_str).and_then(|text| moment(text, end_of_day));
    if was == is && is.is_some() {
        return;
    }
    object.shift_remove(key);
    if let Some(is) = is {
        object.insert(key.to_owned(), written(is).into());
    }
}
