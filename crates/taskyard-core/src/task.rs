//! What a task is.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::{Assignee, Status, TaskId};

/// What a task carries beside its fields. Keys keep their order.
pub type Metadata = Map<String, Value>;

/// No more keys than these are looked through for one of them.
const FEW: usize = 8;

/// One task of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The name by which the task is reached: its file's stem.
    pub id: TaskId,
    /// The id written inside the file, where it is another than the file's name.
    pub stated_id: Option<String>,
    /// The title.
    pub subject: String,
    /// What there is to do.
    pub description: String,
    /// What is being done, while it is being done ("Writing the parser").
    pub active_form: Option<String>,
    /// Its owner. The client can store an empty name; that is no owner.
    pub owner: Option<String>,
    /// Where in its life it is.
    pub status: Status,
    /// The tasks that wait for this one.
    pub blocks: Vec<TaskId>,
    /// The tasks this one waits for.
    pub blocked_by: Vec<TaskId>,
    /// What else is kept with it.
    pub metadata: Option<Metadata>,
    /// Keys of the file that the client does not know.
    pub extra: Map<String, Value>,
}

impl Task {
    /// Returns a pending task with nothing but its title.
    pub fn new(id: TaskId, subject: impl Into<String>) -> Self {
        Self {
            id,
            stated_id: None,
            subject: subject.into(),
            description: String::new(),
            active_form: None,
            owner: None,
            status: Status::Pending,
            blocks: Vec::new(),
            blocked_by: Vec::new(),
            metadata: None,
            extra: Map::new(),
        }
    }

    /// Returns the id that displays show: the one written in the file.
    pub fn shown_id(&self) -> &str {
        self.stated_id.as_deref().unwrap_or(self.id.as_str())
    }

    /// Returns the owner, where there is one.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref().filter(|name| !name.is_empty())
    }

    /// Returns one metadata value.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        let metadata = self.metadata.as_ref()?;
        if metadata.len() > FEW {
            return metadata.get(key);
        }
        // A few keys are compared in less time than one is hashed.
        metadata.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Tells whether the task is the client's own bookkeeping (`metadata._internal` is truthy).
    pub fn is_internal(&self) -> bool {
        self.meta("_internal").is_some_and(is_truthy)
    }

    /// Tells whether the task was cancelled rather than done.
    pub fn is_cancelled(&self) -> bool {
        self.status == Status::Completed && self.meta("cancelled").is_some_and(is_truthy)
    }

    /// Returns the priority, medium where none is given.
    pub fn priority(&self) -> Priority {
        self.stated_priority().unwrap_or_default()
    }

    /// Returns the priority that was given, if any.
    pub fn stated_priority(&self) -> Option<Priority> {
        self.meta("priority")?.as_str()?.parse().ok()
    }

    /// Returns the tags.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let tags = self.meta("tags").and_then(Value::as_array);
        tags.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the agents and roles that may take the task; where it names none, every agent may.
    pub(crate) fn assignable_to(&self) -> Vec<Assignee> {
        let words: &[Value] = match self.meta("assignable_to") {
            Some(Value::Array(words)) => words,
            Some(word) => std::slice::from_ref(word),
            None => &[],
        };
        words.iter().filter_map(Value::as_str).filter_map(Assignee::parse).collect()
    }
}

/// How urgent a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Can wait.
    Low,
    /// As it comes.
    #[default]
    Medium,
    /// First.
    High,
}

impl Priority {
    /// Every priority, rising.
    pub(crate) const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Returns the word in metadata and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that names no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no priority; use low, medium or high")]
pub struct UnknownPriority {
    /// What was given.
    pub(crate) word: String,
}

impl FromStr for Priority {
    type Err = UnknownPriority;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.as_str() == word)
            .ok_or_else(|| UnknownPriority { word: word.to_owned() })
    }
}

/// Tells whether JavaScript would take this value for true.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64().is_none_or(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Task;
    use crate::TaskId;

    #[test]
    fn internal_means_truthy_as_javascript_sees_it() {
        let mut task = Task::new(TaskId::number(1), "x");
        for (value, internal) in
            [(json!(true), true), (json!(false), false), (json!(0), false), (json!("no"), true), (json!({}), true)]
        {
            task.metadata = json!({ "_internal": value }).as_object().cloned();
            assert_eq!(task.is_internal(), internal, "{value}");
        }
    }
}
