//! The export dialect: a list as one array of objects, specified in `docs/formats/export.md`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

pub use crate::dialect::carrying::TasksRead;
use crate::dialect::carrying::{
    ids, ids_under, leftover, read_all, restored, text_or_null, unsaid, with_carried, with_unsaid, without_carried,
};
use crate::dialect::native::Unreadable;
use crate::json_text::from_slice;
use crate::{Metadata, Priority, Status, Task, TaskId};

/// The keys of a task, in the order in which they are written.
const SCHEMA: [&str; 8] =
    ["id", "subject", "description", "status", "priority", "dependencies", "blockedBy", "metadata"];
/// The metadata key under which a task keeps what an export contained and a task cannot represent.
pub(crate) const CARRIED: &str = "export";
/// The metadata key under which an export keeps what a task contained and an export cannot represent.
const UNSAID: &str = "taskyard";

/// Properties of a task that follow from the other tasks of its list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// Its open blockers.
    pub(crate) open: Vec<TaskId>,
    /// The tasks that name it as a blocker.
    pub(crate) blocks: Vec<TaskId>,
}

/// Parses a task from an element of the array.
pub(crate) fn read(element: &Value, around: &Around) -> Result<Task, Unreadable> {
    let Value::Object(element) = element else {
        return Err(Unreadable::NotAnObject { found: "another value" });
    };
    let (element, carried) = without_unsaid(element.clone());
    let stated = stated(&element, around)?;
    let id = stated.id.clone();
    let task = Task { id, ..with_unsaid(stated, &carried) };
    let leftover = leftover(said(&task, around), &element, &usual());
    Ok(with_carried(task, CARRIED, leftover))
}

/// Serializes a task as an element of the array.
pub(crate) fn write(task: &Task, around: &Around) -> Map<String, Value> {
    let (task, leftover) = without_carried(task, CARRIED);
    let mut element = restored(said(&task, around), &leftover, &SCHEMA);
    let Ok(stated) = stated(&element, around) else { return element };
    let carried = unsaid(&stated, &task);
    if !carried.is_empty() {
        let metadata = element.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            metadata.insert(UNSAID.to_owned(), Value::Object(carried));
        }
    }
    element
}

/// Keys whose absence means the same as the given value.
fn usual() -> [(&'static str, Value); 5] {
    [
        ("description", Value::String(String::new())),
        ("priority", Priority::default().as_str().into()),
        ("dependencies", Value::Array(Vec::new())),
        ("blockedBy", Value::Array(Vec::new())),
        ("metadata", Value::Object(Map::new())),
    ]
}

/// Returns an element as shown to agents, without the data it carries for the round trip.
pub(crate) fn for_agents(element: &Value) -> Value {
    match element {
        Value::Object(element) => Value::Object(without_unsaid(element.clone()).0),
        other => other.clone(),
    }
}

fn said(task: &Task, around: &Around) -> Map<String, Value> {
    let mut element = Map::new();
    let mut say = |key: &str, value: Value| drop(element.insert(key.to_owned(), value));
    say("id", Value::String(task.id.as_str().to_owned()));
    say("subject", Value::String(task.subject.clone()));
    say("description", Value::String(task.description.clone()));
    let is_cancelled = task.status == Status::Completed && task.meta("cancelled") == Some(&Value::Bool(true));
    let status = match task.status {
        Status::Completed if is_cancelled => "cancelled",
        Status::Completed => Status::Completed.as_str(),
        Status::Pending | Status::InProgress if !around.open.is_empty() => "blocked",
        status => status.as_str(),
    };
    say("status", status.into());
    say("priority", task.priority().as_str().into());
    say("dependencies", ids(&task.blocked_by));
    say("blockedBy", ids(&around.open));
    let mut metadata = Map::new();
    if let Some(owner) = &task.owner {
        metadata.insert("subagent_id".to_owned(), Value::String(owner.clone()));
    }
    for (key, value) in task.metadata.iter().flatten() {
        let is_said = match key.as_str() {
            // An explicit default priority is recorded as carried data.
            "priority" => task.stated_priority().is_some_and(|priority| priority != Priority::default()),
            "cancelled" => is_cancelled,
            "subagent_id" => task.owner.is_some(),
            _ => false,
        };
        if !is_said {
            metadata.insert(key.clone(), value.clone());
        }
    }
    say("metadata", Value::Object(metadata));
    element
}

fn stated(element: &Map<String, Value>, around: &Around) -> Result<Task, Unreadable> {
    let id = text_or_null(element, "id")?.filter(|id| !id.is_empty()).ok_or(Unreadable::Missing { key: "id" })?;
    let subject = text_or_null(element, "subject")?.ok_or(Unreadable::Missing { key: "subject" })?;
    let mut task = Task::new(TaskId::stored(id), subject);
    task.description = text_or_null(element, "description")?.unwrap_or_default().to_owned();
    task.blocked_by = ids_under(element, "dependencies")?;
    task.blocks.clone_from(&around.blocks);
    let status = text_or_null(element, "status")?.unwrap_or("pending");
    task.status = match status {
        "blocked" => Status::Pending,
        "cancelled" => Status::Completed,
        word => word.parse().map_err(|_| Unreadable::WrongType {
            key: "status",
            expected: "pending, in_progress, completed, blocked or cancelled",
            found: "another word",
        })?,
    };
    let mut metadata = Metadata::new();
    let is_unusual = |word: &&str| word.parse::<Priority>().is_ok_and(|priority| priority != Priority::default());
    if let Some(priority) = text_or_null(element, "priority")?.filter(is_unusual) {
        metadata.insert("priority".to_owned(), priority.into());
    }
    match element.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(stated)) => {
            for (key, value) in stated {
                match (key.as_str(), value) {
                    ("subagent_id", Value::String(owner)) => task.owner = Some(owner.clone()),
                    (key, value) => drop(metadata.insert(key.to_owned(), value.clone())),
                }
            }
        }
        Some(_) => {
            return Err(Unreadable::WrongType { key: "metadata", expected: "an object", found: "another value" });
        }
    }
    if status == "cancelled" {
        metadata.insert("cancelled".to_owned(), Value::Bool(true));
    }
    task.metadata = (!metadata.is_empty()).then_some(metadata);
    Ok(task)
}

fn without_unsaid(mut element: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    let Some(Value::Object(metadata)) = element.get_mut("metadata") else { return (element, Map::new()) };
    match metadata.shift_remove(UNSAID) {
        Some(Value::Object(carried)) => (element, carried),
        _ => (element, Map::new()),
    }
}

/// Why a file is not an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a JSON array of tasks or a single task: {why}")]
pub struct BadExport {
    /// What is wrong with it.
    pub why: String,
}

/// Parses a file: an array of tasks, or a single task.
pub fn parse(bytes: &[u8]) -> Result<Vec<Value>, BadExport> {
    match from_slice(bytes) {
        Ok(Value::Array(elements)) => Ok(elements),
        Ok(task @ Value::Object(_)) => Ok(vec![task]),
        Ok(_) => Err(BadExport { why: "this is another value".to_owned() }),
        Err(error) => Err(BadExport { why: error.to_string() }),
    }
}

/// Serializes elements as a file.
pub fn print(elements: &[Value]) -> String {
    serde_json::to_string_pretty(elements).expect("a JSON value always has a text form")
}

/// Reads all tasks of an array.
pub fn read_tasks(elements: &[Value]) -> TasksRead {
    let arounds = arounds(elements.iter().filter_map(edges));
    let nothing = Around::default();
    read_all(elements, |value, id| read(value, id.and_then(|id| arounds.get(id)).unwrap_or(&nothing)))
}

/// Writes tasks as the elements of an array.
pub fn write_tasks(tasks: &[Task]) -> Vec<Value> {
    let told = tasks.iter().map(|task| (task.id.clone(), task.blocked_by.clone(), task.status.is_open()));
    let arounds = arounds(told);
    tasks.iter().map(|task| Value::Object(write(task, &arounds[&task.id]))).collect()
}

/// Returns a task's id, its blockers, and whether it is open.
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
