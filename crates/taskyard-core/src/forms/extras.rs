//! What people say of a task besides its texts, and the metadata it becomes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::timing::{Clock, PartOfDay, WorkSpan, parse_moment};
use crate::{DEFER, DUE, ESTIMATE, Metadata, Priority, TaskId, UnknownPriority};

/// The word that takes a time away.
const NONE: &str = "none";

/// What is said of a task besides its texts.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// What kind of task it is.
    pub kind: Option<String>,
    /// When it is due, of [`parse_due`].
    pub due: Option<Value>,
    /// Before when it is not ready, of [`parse_defer`].
    pub defer: Option<Value>,
    /// How long it is expected to take.
    pub estimate: Option<EstimateWord>,
    /// Anything else. It comes last and counts.
    pub metadata: Vec<(String, Value)>,
}

impl Extras {
    /// Returns the metadata, if anything was said, with working days of this length.
    pub fn metadata(self, working_day: Duration) -> Option<Metadata> {
        let mut metadata = Metadata::new();
        if let Some(priority) = self.priority {
            metadata.insert("priority".into(), json!(priority.as_str()));
        }
        if !self.tags.is_empty() {
            metadata.insert("tags".into(), json!(self.tags));
        }
        if let Some(parent) = self.parent {
            metadata.insert("parent".into(), json!(parent.as_str()));
        }
        if let Some(kind) = self.kind {
            metadata.insert("kind".into(), json!(kind));
        }
        let estimate = self.estimate.map(|estimate| estimate.value(working_day));
        for (key, value) in [(DUE, self.due), (DEFER, self.defer), (ESTIMATE, estimate)] {
            metadata.extend(value.map(|value| (key.to_owned(), value)));
        }
        metadata.extend(self.metadata);
        (!metadata.is_empty()).then_some(metadata)
    }

    /// Adds what was said in another way; names what both say. Tags and metadata add up.
    pub fn and(self, other: Self) -> Result<Self, &'static str> {
        fn one<T>(name: &'static str, one: Option<T>, other: Option<T>) -> Result<Option<T>, &'static str> {
            if one.is_some() && other.is_some() { Err(name) } else { Ok(one.or(other)) }
        }
        Ok(Self {
            priority: one("priority", self.priority, other.priority)?,
            tags: self.tags.into_iter().chain(other.tags).collect(),
            parent: one("parent", self.parent, other.parent)?,
            kind: one("kind", self.kind, other.kind)?,
            due: one(DUE, self.due, other.due)?,
            defer: one(DEFER, self.defer, other.defer)?,
            estimate: one(ESTIMATE, self.estimate, other.estimate)?,
            metadata: self.metadata.into_iter().chain(other.metadata).collect(),
        })
    }
}

/// Removes the times that are to be taken away: a new task has none.
pub fn without_taken_times(metadata: &mut Metadata) {
    metadata.retain(|key, value| !value.is_null() || ![DUE, DEFER, ESTIMATE].contains(&key.as_str()));
}

/// Reads a priority in any case, or its first letter.
pub fn parse_priority(text: &str) -> Result<Priority, String> {
    let word = text.trim().to_lowercase();
    let by_letter = Priority::ALL.into_iter().find(|priority| word.len() == 1 && priority.as_str().starts_with(&word));
    by_letter.map_or_else(|| word.parse().map_err(|error: UnknownPriority| error.to_string()), Ok)
}

/// Reads when a task is due: a bare day is its end. Null takes the time away.
pub fn parse_due(text: &str, clock: &Clock) -> Result<Value, String> {
    moment(text, PartOfDay::End, clock)
}

/// Reads when a task may start: a bare day is its beginning. Null takes the time away.
pub fn parse_defer(text: &str, clock: &Clock) -> Result<Value, String> {
    moment(text, PartOfDay::Start, clock)
}

fn moment(text: &str, part: PartOfDay, clock: &Clock) -> Result<Value, String> {
    if text.trim().eq_ignore_ascii_case(NONE) {
        return Ok(Value::Null);
    }
    let moment = parse_moment(text, part, clock).map_err(|error| error.to_string())?;
    Ok(Value::String(moment.to_string()))
}

/// How long a task is expected to take; without a span the estimate is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EstimateWord(Option<WorkSpan>);

impl EstimateWord {
    fn value(self, working_day: Duration) -> Value {
        self.0.map_or(Value::Null, |span| span.with_days_of(working_day).as_secs().into())
    }
}

impl std::str::FromStr for EstimateWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case(NONE) {
            return Ok(Self(None));
        }
        WorkSpan::parse(text).map(|span| Self(Some(span))).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Extras;
    use crate::timing::WORKING_DAY;

    #[test]
    fn nothing_said_is_no_metadata_and_the_rest_counts() {
        assert_eq!(Extras::default().metadata(WORKING_DAY), None);
        let extras = Extras { tags: vec!["a".into()], metadata: vec![("tags".into(), json!([]))], ..Extras::default() };
        assert_eq!(extras.metadata(WORKING_DAY), json!({"tags": []}).as_object().cloned());
    }
}
