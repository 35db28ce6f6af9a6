//! Whole lists from and to a document.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::element::{self, Around};
use super::file::Document;
use crate::dialect::elements::{TasksRead, read_all};
use crate::{Task, TaskId};

/// Reads every task of a document.
pub fn read_tasks(document: &Document) -> TasksRead {
    let waiting = waiting(document.elements().iter());
    read_all(document.elements(), |value, id| {
        let blocks = id.and_then(|id| waiting.get(id)).map_or(&[][..], Vec::as_slice);
        element::read_with_times(value, blocks)
    })
}

/// Writes tasks as a document. A task that does not say when it was made or changed was made and changed now.
pub fn write_tasks(tasks: &[Task], now: &str) -> Document {
    let around = arounds(tasks);
    let elements = tasks.iter().map(|task| Value::Object(element::write_with_times(task, &around[&task.id], now)));
    Document::new().with_elements(elements.collect(), now)
}

/// Returns which tasks wait for each task, by what the waiting ones say.
fn waiting<'a>(elements: impl Iterator<Item = &'a Value>) -> HashMap<TaskId, Vec<TaskId>> {
    let mut waiting: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for element in elements {
        let Some(id) = element.get("id").and_then(Value::as_str) else { continue };
        let on = element.get("dependencies").and_then(Value::as_array);
        for on in on.into_iter().flatten().filter_map(Value::as_str) {
            waiting.entry(TaskId::stored(on)).or_default().push(TaskId::stored(id));
        }
    }
    waiting
}

fn arounds(tasks: &[Task]) -> HashMap<TaskId, Around> {
    let open: HashSet<&TaskId> = tasks.iter().filter(|task| task.status.is_open()).map(|task| &task.id).collect();
    let mut arounds: HashMap<TaskId, Around> = HashMap::new();
    for task in tasks {
        arounds.entry(task.id.clone()).or_default().is_blocked = task.blocked_by.iter().any(|id| open.contains(id));
        for on in &task.blocked_by {
            arounds.entry(on.clone()).or_default().blocks.push(task.id.clone());
        }
    }
    arounds
}
