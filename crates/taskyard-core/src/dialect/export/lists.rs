//! Whole lists from and to an export.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::element::{self, Around};
use crate::dialect::elements::{TasksRead, read_all};
use crate::json_text::from_slice;
use crate::{Task, TaskId};

/// Why a file is no export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an export is a JSON array of tasks, or one task: {why}")]
pub struct BadExport {
    /// What is wrong.
    pub why: String,
}

/// Reads the elements of a file: an array of tasks, or one task alone.
pub fn parse(bytes: &[u8]) -> Result<Vec<Value>, BadExport> {
    match from_slice(bytes) {
        Ok(Value::Array(elements)) => Ok(elements),
        Ok(task @ Value::Object(_)) => Ok(vec![task]),
        Ok(_) => Err(BadExport { why: "this is another value".to_owned() }),
        Err(error) => Err(BadExport { why: error.to_string() }),
    }
}

/// Writes elements as a file.
pub fn print(elements: &[Value]) -> String {
    serde_json::to_string_pretty(elements).expect("a JSON value always has a text form")
}

/// Reads every task of an array.
pub fn read_tasks(elements: &[Value]) -> TasksRead {
    let arounds = arounds(elements.iter().filter_map(edges));
    let nothing = Around::default();
    read_all(elements, |value, id| element::read(value, id.and_then(|id| arounds.get(id)).unwrap_or(&nothing)))
}

/// Writes tasks as the elements of an array.
pub fn write_tasks(tasks: &[Task]) -> Vec<Value> {
    let told = tasks.iter().map(|task| (task.id.clone(), task.blocked_by.clone(), task.status.is_open()));
    let arounds = arounds(told);
    tasks.iter().map(|task| Value::Object(element::write(task, &arounds[&task.id]))).collect()
}

/// Returns a task's id, what it waits for, and whether it is open.
fn edges(element: &Value) -> Option<(TaskId, Vec<TaskId>, bool)> {
    let id = TaskId::stored(element.get("id")?.as_str()?);
    let on = element.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    let is_open = !matches!(element.get("status").and_then(Value::as_str), Some("completed" | "cancelled"));
    Some((id, on.filter_map(Value::as_str).map(TaskId::stored).collect(), is_open))
}

fn arounds(told: impl Iterator<Item = (TaskId, Vec<TaskId>, bool)>) -> HashMap<TaskId, Around> {
    let told: Vec<_> = told.collect();
    let open: HashSet<&TaskId> = told.iter().filter(|(_, _, is_open)| *is_open).map(|(id, _, _)| id).collect();
    let mut arounds: HashMap<TaskId, Around> = HashMap::new();
    for (id, on, _) in &told {
        arounds.entry(id.clone()).or_default().open = on.iter().filter(|id| open.contains(id)).cloned().collect();
        for on in on {
            arounds.entry(on.clone()).or_default().blocks.push(id.clone());
        }
    }
    arounds
}
