//! One task file, and what is carried for it beside.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::dialect::carrying::{ids, unsaid, with_carried, with_unsaid, without_carried};
use crate::dialect::native::Unreadable;
use crate::dialect::stated_version::{NewerVersion, stated_version};
use crate::json_text::{from_slice, print_over};
use crate::{Status, Task, TaskId};

/// The keys that every task file has, in their order.
pub(crate) const KEYS: [&str; 6] = ["id", "subject", "description", "status", "owner", "blockedBy"];
/// The key that the programs of later chapters put into their files. Those of earlier ones stumble over any other.
const LATER_KEY: &str = "worktree";
/// Under which name a task carries what its file said and it cannot.
const CARRIED: &str = "teaching";
const VERSION: u64 = 1;

/// Reads a task from the contents of its file, and what is carried for it. `blocks` are the tasks that wait for it by their own
/// word.
pub fn read(
    id: &TaskId,
    bytes: &[u8],
    carried: Option<&Map<String, Value>>,
    blocks: &[TaskId],
) -> Result<Task, Unreadable> {
    let stated = stated(id, bytes, blocks)?;
    Ok(match carried {
        Some(carried) => with_unsaid(stated, carried),
        None => stated,
    })
}

/// Writes a task as its file.
pub(crate) fn write(task: &Task) -> String {
    write_over(None, task)
}

/// Writes a task over what its file holds now: every key that stands there stays in its place, and none comes to it but those
/// that every file has. Halves of surrogate pairs in what does not change stay.
pub fn write_over(over: Option<&[u8]>, task: &Task) -> String {
    let there = over.and_then(|bytes| from_slice::<Value>(bytes).ok());
    let there: Vec<String> = match there.as_ref().and_then(Value::as_object) {
        Some(object) => object.keys().cloned().collect(),
        None => first_keys(task),
    };
    let missing = KEYS.iter().filter(|key| !there.iter().any(|other| other == *key)).map(|key| (*key).to_owned());
    let (plain, beside) = without_carried(task, CARRIED);
    let odd = beside.get("more").and_then(Value::as_object);
    let mut object = Map::new();
    for key in there.iter().cloned().chain(missing) {
        let value = match key.as_str() {
            "id" => Some(Value::String(task.id.as_str().to_owned())),
            "subject" => Some(Value::String(task.subject.clone())),
            "description" => Some(Value::String(task.description.clone())),
            "status" => Some(task.status.as_str().into()),
            "owner" => Some(task.owner.clone().map_or(Value::Null, Value::String)),
            "blockedBy" => Some(ids(&task.blocked_by)),
            key if odd.is_some_and(|odd| odd.contains_key(key)) => odd.and_then(|odd| odd.get(key)).cloned(),
            "activeForm" => task.active_form.clone().map(Value::String),
            "metadata" => plain.metadata.clone().map(Value::Object),
            key => task.extra.get(key).cloned(),
        };
        object.extend(value.map(|value| (key, value)));
    }
    let pretty = |object: &Value| serde_json::to_string_pretty(object).expect("a JSON value always has a text form");
    print_over(over, &Value::Object(object), pretty)
}

/// Returns the keys of a file that is not there yet: those it had before, where it had others than every file has, or else those
/// that every file has, and the one that later files have as well.
fn first_keys(task: &Task) -> Vec<String> {
    let order = without_carried(task, CARRIED).1;
    let order = order.get("order").and_then(Value::as_array).cloned().unwrap_or_default();
    if !order.is_empty() {
        return order.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    KEYS.into_iter().chain([LATER_KEY]).map(str::to_owned).collect()
}

/// Returns what has to be carried beside a task's file, written like this; empty where the file says all of it.
pub fn carried_of(task: &Task, written: &[u8], blocks: &[TaskId]) -> Map<String, Value> {
    match stated(&task.id, written, blocks) {
        Ok(stated) => unsaid(&stated, task),
        Err(_) => Map::new(),
    }
}

/// Why nothing that is carried can be read from `.taskyard.json`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCarried {
    /// Taskyard did not write it.
    #[error("it holds nothing that taskyard wrote")]
    NotOurs,
    /// A newer Taskyard wrote it.
    #[error(transparent)]
    TooNew(#[from] NewerVersion),
}

/// Reads what is carried for each task of a folder.
pub fn parse_carried(bytes: &[u8]) -> Result<BTreeMap<TaskId, Map<String, Value>>, BadCarried> {
    let value: Value = from_slice(bytes).map_err(|_| BadCarried::NotOurs)?;
    let root = value.as_object().ok_or(BadCarried::NotOurs)?;
    stated_version(root, VERSION)?;
    let tasks = root.get("tasks").and_then(Value::as_object).ok_or(BadCarried::NotOurs)?;
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

fn stated(id: &TaskId, bytes: &[u8], blocks: &[TaskId]) -> Result<Task, Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable::Empty);
    }
    let value: Value = from_slice(bytes).map_err(|error| Unreadable::NotJson { why: error.to_string() })?;
    let Value::Object(mut object) = value else {
        return Err(Unreadable::NotAnObject { found: "another value" });
    };
    let keys: Vec<String> = object.keys().cloned().collect();
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
    let mut carried = Map::new();
    if object.keys().any(|key| key != LATER_KEY) {
        // A file that is removed and comes back has its keys again, in their order.
        carried.insert("order".to_owned(), Value::Array(keys.into_iter().map(Value::String).collect()));
    }
    let mut more = Map::new();
    for (key, value) in object {
        match (key.as_str(), value) {
            // What the client has words for is said in them.
            ("activeForm", Value::String(form)) => task.active_form = Some(form),
            ("metadata", Value::Object(metadata)) => task.metadata = Some(metadata),
            ("activeForm" | "metadata" | "blocks", value) => drop(more.insert(key, value)),
            (_, value) => drop(task.extra.insert(key, value)),
        }
    }
    if !more.is_empty() {
        carried.insert("more".to_owned(), Value::Object(more));
    }
    Ok(with_carried(task, CARRIED, carried))
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
