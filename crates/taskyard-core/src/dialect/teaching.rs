//! The teaching dialect: a folder with one small file per task, specified in `docs/formats/teaching.md`.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::dialect::carrying::{NewerVersion, ids, stated_version, unsaid, with_carried, with_unsaid, without_carried};
use crate::dialect::native::Unreadable;
use crate::json_text::{from_slice, print_over};
use crate::{Status, Task, TaskId, Timestamp};

/// The keys of every task file, in order.
pub(crate) const KEYS: [&str; 6] = ["id", "subject", "description", "status", "owner", "blockedBy"];
/// A key written by the programs of later chapters. Those of earlier chapters fail on any other key.
const LATER_KEY: &str = "worktree";
/// The metadata key under which a task keeps what its file contained and a task cannot represent.
const CARRIED: &str = "teaching";
const VERSION: u64 = 1;

/// Parses a task from its file and its carried data. `blocks` are the tasks that name it as a blocker.
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

/// Serializes a task as a new file.
pub(crate) fn write(task: &Task) -> String {
    write_over(None, task)
}

/// Serializes a task over the current contents of its file: existing keys keep their places, and only keys that every
/// file has are added. Lone surrogates in unchanged values are preserved.
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

/// Returns the keys for a new file: those it had before if they were unusual, else those that every file has and
/// [`LATER_KEY`].
fn first_keys(task: &Task) -> Vec<String> {
    let order = without_carried(task, CARRIED).1;
    let order = order.get("order").and_then(Value::as_array).cloned().unwrap_or_default();
    if !order.is_empty() {
        return order.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    KEYS.into_iter().chain([LATER_KEY]).map(str::to_owned).collect()
}

/// Returns the data that must be carried beside the file; empty if the file represents the whole task.
pub fn carried_of(task: &Task, written: &[u8], blocks: &[TaskId]) -> Map<String, Value> {
    match stated(&task.id, written, blocks) {
        Ok(stated) => unsaid(&stated, task),
        Err(_) => Map::new(),
    }
}

/// Why `.taskyard.json` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCarried {
    /// It was not written by Taskyard.
    #[error("it was not written by taskyard")]
    NotOurs,
    /// It was written by a newer Taskyard.
    #[error(transparent)]
    TooNew(#[from] NewerVersion),
}

/// Parses the carried data of a folder, by task.
pub fn parse_carried(bytes: &[u8]) -> Result<BTreeMap<TaskId, Map<String, Value>>, BadCarried> {
    let value: Value = from_slice(bytes).map_err(|_| BadCarried::NotOurs)?;
    let root = value.as_object().ok_or(BadCarried::NotOurs)?;
    stated_version(root, VERSION)?;
    let tasks = root.get("tasks").and_then(Value::as_object).ok_or(BadCarried::NotOurs)?;
    let carried =
        tasks.iter().filter_map(|(id, carried)| Some((TaskId::stored(id.as_str()), carried.as_object()?.clone())));
    Ok(carried.collect())
}

/// Serializes the carried data of a folder; `None` if there is none.
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
        // Keeps the key order for a file that is removed and restored.
        carried.insert("order".to_owned(), Value::Array(keys.into_iter().map(Value::String).collect()));
    }
    let mut more = Map::new();
    for (key, value) in object {
        match (key.as_str(), value) {
            // Keys that the client knows become fields of the task.
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

/// A folder: the task files and the data carried beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folder {
    /// The contents of each task's file.
    pub files: BTreeMap<TaskId, Vec<u8>>,
    /// The carried data of each task.
    pub carried: BTreeMap<TaskId, Map<String, Value>>,
}

/// The contents of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TasksRead {
    /// The tasks, in ascending order of their names.
    pub tasks: Vec<Task>,
    /// The files that are not tasks, and why.
    pub problems: Vec<(TaskId, Unreadable)>,
}

/// Reads all tasks of a folder.
pub fn read_tasks(folder: &Folder) -> TasksRead {
    let waiting = waiting(folder);
    let mut found = TasksRead::default();
    for (id, bytes) in &folder.files {
        let blocks = waiting.get(id).map_or(&[][..], Vec::as_slice);
        match read(id, bytes, folder.carried.get(id), blocks) {
            Ok(task) => found.tasks.push(task),
            Err(why) => found.problems.push((id.clone(), why)),
        }
    }
    found
}

/// Writes tasks as a folder.
pub fn write_tasks(tasks: &[Task]) -> Folder {
    let mut folder = Folder::default();
    for task in tasks {
        folder.files.insert(task.id.clone(), write(task).into_bytes());
    }
    let waiting = waiting(&folder);
    for task in tasks {
        let written = folder.files.get(&task.id).map_or(&[][..], Vec::as_slice);
        let carried = carried_of(task, written, waiting.get(&task.id).map_or(&[][..], Vec::as_slice));
        if !carried.is_empty() {
            folder.carried.insert(task.id.clone(), carried);
        }
    }
    folder
}

/// Returns the dependents of each task, according to their `blockedBy`.
pub fn waiting(folder: &Folder) -> HashMap<TaskId, Vec<TaskId>> {
    let mut waiting: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for (id, bytes) in &folder.files {
        let Ok(task) = read(id, bytes, None, &[]) else { continue };
        for on in task.blocked_by {
            waiting.entry(on).or_default().push(id.clone());
        }
    }
    waiting
}

/// Returns the id of a task created at a moment: the seconds since 1970 and four random hexadecimal digits.
pub fn new_id(at: Timestamp, random: u16) -> TaskId {
    TaskId::stored(format!("task_{}_{random:04x}", at.0.div_euclid(1000)))
}

/// Returns the task of a file. Any valid task name is accepted, so that files created by hand are found, too.
pub fn task_of(file: &str) -> Option<TaskId> {
    let stem = file.strip_suffix(".json").filter(|stem| !stem.starts_with(['.', '#']))?;
    stem.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{new_id, task_of};
    use crate::Timestamp;

    #[test]
    fn an_id_is_the_second_and_four_digits() {
        let id = new_id(Timestamp(1_738_950_000_999), 0xa);
        assert_eq!(id.as_str(), "task_1738950000_000a");
        assert_eq!(task_of("task_1738950000_000a.json"), Some(id));
    }

    #[test]
    fn our_own_file_is_no_task() {
        assert_eq!(task_of(".taskyard.json"), None);
        assert_eq!(task_of("notes.txt"), None);
        assert_eq!(task_of("task_schema.json").unwrap().as_str(), "task_schema");
    }
}
