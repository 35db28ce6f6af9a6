//! Tasks that stand side by side in one array.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::native::Unreadable;
use crate::{Task, TaskId};

/// What an array holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TasksRead {
    /// The tasks, in the array's order.
    pub tasks: Vec<Task>,
    /// What is no task: its place in the array, and why.
    pub problems: Vec<(usize, Unreadable)>,
}

/// Reads every element, each with its id where it states one. Of two with the same id the first is the task.
pub(super) fn read_all(
    elements: &[Value],
    read: impl Fn(&Value, Option<&TaskId>) -> Result<Task, Unreadable>,
) -> TasksRead {
    let mut found = TasksRead::default();
    let mut seen = HashSet::new();
    for (place, value) in elements.iter().enumerate() {
        let id = value.get("id").and_then(Value::as_str).map(TaskId::stored);
        match read(value, id.as_ref()) {
            Ok(task) if seen.insert(task.id.clone()) => found.tasks.push(task),
            Ok(_) => found.problems.push((
                place,
                Unreadable::WrongType { key: "id", expected: "an id of its own", found: "that of another task" },
            )),
            Err(why) => found.problems.push((place, why)),
        }
    }
    found
}

/// Returns a text, where the element has one.
pub(super) fn text<'a>(element: &'a Map<String, Value>, key: &'static str) -> Result<Option<&'a str>, Unreadable> {
    match element.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unreadable::WrongType { key, expected: "a string", found: "another value" }),
    }
}

/// Returns a text, where the element has one that is not null.
pub(super) fn text_or_null<'a>(
    element: &'a Map<String, Value>,
    key: &'static str,
) -> Result<Option<&'a str>, Unreadable> {
    if element.get(key) == Some(&Value::Null) { Ok(None) } else { text(element, key) }
}

/// Returns the ids an element has under a key.
pub(super) fn ids_under(element: &Map<String, Value>, key: &'static str) -> Result<Vec<TaskId>, Unreadable> {
    let wrong = || Unreadable::WrongType { key, expected: "an array of strings", found: "another value" };
    match element.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(TaskId::stored).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
