//! A batch in JSON lines: one task per line, with the native keys.

use serde_json::{Map, Value};

use super::entry::{BatchEntry, BatchMistake, BatchParent};
use crate::json_text;
use crate::near_miss::nearest;
use crate::timing::{Clock, PartOfDay, WorkSpan, parse_moment};
use crate::{DEFER, DUE, ESTIMATE, Metadata, Priority, Task, TaskId};

/// The keys a line may have.
const KEYS: [&str; 17] = [
    "name",
    "id",
    "subject",
    "description",
    "activeForm",
    "owner",
    "status",
    "blocks",
    "blockedBy",
    "metadata",
    "priority",
    "tags",
    "parent",
    "kind",
    DUE,
    DEFER,
    ESTIMATE,
];

/// Reads the tasks, one per line.
pub(super) fn read(text: &str, clock: &Clock) -> Result<Vec<BatchEntry>, BatchMistake> {
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        match json_text::from_str(line) {
            Ok(Value::Object(object)) => entries.push(Line { number, object, clock }.entry()?),
            Ok(_) => return Err(BatchMistake::at(number, "this is no JSON object")),
            Err(error) => return Err(BatchMistake::at(number, error.to_string())),
        }
    }
    Ok(entries)
}

struct Line<'a> {
    number: usize,
    object: Map<String, Value>,
    clock: &'a Clock,
}

impl Line<'_> {
    fn mistake(&self, what: impl Into<String>) -> BatchMistake {
        BatchMistake::at(self.number, what)
    }

    fn entry(self) -> Result<BatchEntry, BatchMistake> {
        if let Some(key) = self.object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let meant = nearest(key, &KEYS).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            return Err(self.mistake(format!("`{}` is no key of a task{meant}", key.escape_debug())));
        }
        let subject = self.text("subject")?.filter(|subject| !subject.trim().is_empty());
        let Some(subject) = subject else { return Err(self.mistake("a task needs a `subject`")) };
        if self.text("status")?.is_some_and(|status| status != "pending") {
            return Err(self.mistake("a new task is pending"));
        }
        let task = Task {
            description: self.text("description")?.unwrap_or_default(),
            active_form: self.text("activeForm")?,
            owner: self.text("owner")?.filter(|owner| !owner.is_empty()),
            metadata: Some(self.metadata()?).filter(|metadata| !metadata.is_empty()),
            ..Task::new(TaskId::stored(""), subject)
        };
        let name = self.word("name")?.or(self.word("id")?);
        let (after, before) = (self.names("blockedBy")?, self.names("blocks")?);
        let parent = self.word("parent")?.or_else(|| {
            let beside = self.object.get("metadata")?.get("parent")?;
            beside.as_str().map(str::to_owned).or_else(|| beside.as_u64().map(|number| number.to_string()))
        });
        Ok(BatchEntry { line: self.number, name, task, after, before, parent: parent.map(BatchParent::Named) })
    }

    fn text(&self, key: &str) -> Result<Option<String>, BatchMistake> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.mistake(format!("`{key}` is a text"))),
        }
    }

    /// Returns a text, or a number as text.
    fn word(&self, key: &str) -> Result<Option<String>, BatchMistake> {
        match self.object.get(key) {
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            _ => self.text(key),
        }
    }

    /// Returns names: one, or an array of them.
    fn names(&self, key: &str) -> Result<Vec<String>, BatchMistake> {
        let name = |value: &Value| match value {
            Value::String(name) => Ok(name.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(self.mistake(format!("`{key}` is an array of names and numbers"))),
        };
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(name).collect(),
            Some(value) => name(value).map(|name| vec![name]),
        }
    }

    fn metadata(&self) -> Result<Metadata, BatchMistake> {
        let mut metadata = match self.object.get("metadata") {
            None | Some(Value::Null) => Metadata::new(),
            Some(Value::Object(metadata)) => metadata.clone(),
            Some(_) => return Err(self.mistake("`metadata` is an object")),
        };
        metadata.shift_remove("parent");
        if let Some(word) = self.text("priority")? {
            let priority: Priority =
                word.parse().map_err(|error: crate::UnknownPriority| self.mistake(error.to_string()))?;
            metadata.insert("priority".to_owned(), priority.as_str().into());
        }
        let tags = self.names("tags")?;
        if !tags.is_empty() {
            metadata.insert("tags".to_owned(), tags.into());
        }
        if let Some(kind) = self.text("kind")? {
            metadata.insert("kind".to_owned(), kind.into());
        }
        for (key, part) in [(DUE, PartOfDay::End), (DEFER, PartOfDay::Start)] {
            if let Some(text) = self.text(key)? {
                let moment = parse_moment(&text, part, self.clock).map_err(|error| self.mistake(error.to_string()))?;
                metadata.insert(key.to_owned(), moment.to_string().into());
            }
        }
        match self.object.get(ESTIMATE) {
            None | Some(Value::Null) => {}
            Some(Value::Number(seconds)) if seconds.is_u64() => {
                metadata.insert(ESTIMATE.to_owned(), Value::Number(seconds.clone()));
            }
            Some(Value::String(text)) => {
                let span = WorkSpan::parse(text).map_err(|error| self.mistake(error.to_string()))?;
                let span = span.with_days_of(self.clock.working_day);
                metadata.insert(ESTIMATE.to_owned(), span.as_secs().into());
            }
            Some(_) => return Err(self.mistake("`estimate` is a span (`2h`) or a number of seconds")),
        }
        Ok(metadata)
    }
}
