//! One task file, and what is carried for it beside.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::dialect::carrying::{ids, unsaid, with_carried, with_unsaid};
use crate::dialect::native::Unreadable;
use crate::json_text::{from_slice, print_over};
use crate::{Status, Task, TaskId};

/// The keys of a task file, in their order. There are no others.
pub const KEYS: [&str; 6] = ["id", "subject", "description", "status", "owner", "blockedBy"];
const VERSION: u64 = 1;

/// Reads a task from the contents of its file, and what is carried for it. `blocks` are the tasks that wait for it by their own
/// word.
pub fn read(
    id: &TaskId,
    bytes: &[u8],
    carried: Option<&Map<String, Value>>,
    blocks: &[TaskId],
) -> Result<Task, Unreadable> {
    let heard = heard(id, bytes, blocks)?;
    Ok(match carried {
        Some(carried) => with_unsaid(heard, carried),
        None => heard,
    })
}

/// Writes a task as its file.
pub fn write(task: &Task) -> String {
    write_over(None, task)
}

/// Writes a task over what its file holds now. Halves of surrogate pairs in what does not change stay.
pub fn write_over(over: Option<&[u8]>, task: &Task) -> String {
    let mut object = Map::new();
    let mut say = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    say("id", Value::String(task.id.as_str().to_owned()));
    say("subject", Value::String(task.subject.clone()));
    say("description", Value::String(task.description.clone()));
    say("status", task.status.as_str().into());
    say("owner", task.owner.clone().map_or(Value::Null, Value::String));
    say("blockedBy", ids(&task.blocked_by));
    let pretty = |object: &Value| serde_json::to_string_pretty(object).expect("a JSON value always has a text form");
    print_over(over, &Value::Object(object), pretty)
}

/// Returns what has to be carried beside a task's file; empty where the file says all of it.
pub fn carried_of(task: &Task, blocks: &[TaskId]) -> Map<String, Value> {
    match heard(&task.id, write(task).as_bytes(), blocks) {
        Ok(heard) => unsaid(&heard, task),
        Err(_) => Map::new(),
    }
}

/// Why `.taskyard.json` holds nothing that is carried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it holds nothing that taskyard wrote")]
pub struct BadCarried;

/// Reads what is carried for each task of a folder.
pub fn parse_carried(bytes: &[u8]) -> Result<BTreeMap<TaskId, Map<String, Value>>, BadCarried> {
    let value: Value = from_slice(bytes).map_err(|_| BadCarried)?;
    let tasks = value.get("tasks").and_then(Value::as_object).ok_or(BadCarried)?;
    let carried =
        tasks.iter().filter_map(|(id, carried)| Some((TaskId::stored(id.as_str()), carried.as_object()?.clone())));
    Ok(carried.collect())
}

/// Writes what is carried for each task of a folder; none where there is nothing.
pub fn print_carried(carried: &BTreeMap<TaskId, Map<String, Value>>) -> Option<String> {
    let tasks: Map<String, Value> =
        carried.iter().map(|(id, carried)| (id.to_string(), Value::Object(carried.clone()))).collect();
    if tasks.is_empty() {
        return None;
    }
    let root = serde_json::json!({ "version": VERSION, "tasks": tasks });
    Some(serde_json::to_string_pretty(&root).expect("a JSON value always has a text form"))
}

fn heard(id: &TaskId, bytes: &[u8], blocks: &[TaskId]) -> Result<Task, Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable::Empty);
    }
    let value: Value = from_slice(bytes).map_err(|error| Unreadable::NotJson { why: error.to_string() })?;
    let Value::Object(mut object) = value else {
        return Err(Unreadable::NotAnObject { found: "another value" });
    };
    let mut task = Task::new(id.clone(), required(&mut object, "subject")?);
    task.stated_id = Some(required(&mut object, "id")?).filter(|stated| stated != id.as_str());
    task.description = text(&mut object, "description")?.unwrap_or_default();
    let status = required(&mut object, "status")?;
    task.status = status.parse::<Status>().map_err(|_| Unreadable::BadStatus { found: status })?;
    task.owner = text(&mut object, "owner")?;
    let wrong = || Unreadable::WrongType { key: "blockedBy", expected: "an array of strings", found: "another value" };
    task.blocked_by = match object.shift_remove("blockedBy") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(TaskId::stored).ok_or_else(wrong)).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong()),
    };
    task.blocks = blocks.to_vec();
    for (key, value) in object {
        match (key.as_str(), value) {
            // What the client has words for is said in them.
            ("activeForm", Value::String(form)) => task.active_form = Some(form),
            ("metadata", Value::Object(metadata)) => task.metadata = Some(metadata),
            ("activeForm" | "metadata" | "blocks", value) => {
                let more = Map::from_iter([(key, value)]);
                let carried = Map::from_iter([("more".to_owned(), Value::Object(more))]);
                task = with_carried(task, "teaching", carried);
            }
            (_, value) => drop(task.extra.insert(key, value)),
        }
    }
    Ok(task)
}

fn required(object: &mut Map<String, Value>, key: &'static str) -> Result<String, Unreadable> {
    text(object, key)?.ok_or(Unreadable::Missing { key })
}

fn text(object: &mut Map<String, Value>, key: &'static str) -> Result<Option<String>, Unreadable> {
    match object.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unreadable::WrongType { key, expected: "a string", found: "another value" }),
    }
}
