//! Whole tasks from and to the conventions.

use serde_json::{Map, Value};

use crate::dialect::carrying::{
    difference, is_difference, native_object, restored, unsaid, unsaid_with_order, with_carried, with_unsaid,
    without_carried,
};
use crate::dialect::macf::macf_block::{Block, PARENT, SENTINEL, Subject, with_block};
use crate::dialect::macf::macf_renaming::{Kind, parent_value};
use crate::dialect::native;
use crate::{Task, json_text};

/// Under which name a task carries what its file said and it cannot.
pub const CARRIED: &str = "macf";
/// The fact of the block, or where none can be added the key of the metadata, that carries what a task said and the conventions
/// cannot.
const UNSAID: &str = "taskyard";
/// What stands there in the file of a task that was kept by the conventions before: the file is the task.
const AS_IT_IS: &str = "as it is";

/// Reads a task from what its file says by the conventions: the title alone is the subject, the prose alone the description,
/// and the facts of the block are metadata. A task of our own kinds is written by the conventions already.
pub fn read_task(file: &Task) -> Task {
    if is_of_own_kind(file) {
        return file.clone();
    }
    if file.meta(UNSAID).is_some_and(|marker| marker == AS_IT_IS) {
        return without_marker(file);
    }
    let (file, carried) = without_unsaid(file);
    let stated = stated(&file);
    let id = stated.id.clone();
    let task = Task { id, ..with_unsaid(stated, &carried) };
    let leftover = difference(&native_object(&said(&task)), &native_object(&file), &native::SCHEMA);
    with_carried(task, CARRIED, leftover)
}

/// Writes a task by the conventions, as the native task that its file holds.
pub fn write_task(task: &Task) -> Task {
    if is_of_own_kind(task) {
        return task.clone();
    }
    if is_marked(task) {
        let mut file = task.clone();
        file.metadata.get_or_insert_default().insert(UNSAID.to_owned(), AS_IT_IS.into());
        if without_marker(&file) == *task {
            return file;
        }
    }
    let (task, leftover) = without_carried(task, CARRIED);
    let object = restored(native_object(&said(&task)), &leftover, &native::SCHEMA);
    let bytes = serde_json::to_vec(&object).unwrap_or_default();
    let file = native::read(&task.id, &bytes).unwrap_or_else(|_| said(&task));
    let written = with_line(&file, unsaid(&stated(&file), &task));
    // Beside a block of its own the facts have to stand in the order of the metadata to be known again.
    match read_task(&written).meta(CARRIED) {
        Some(_) => with_line(&file, unsaid_with_order(&stated(&file), &task)),
        None => written,
    }
}

/// Returns a file with what it does not say, in its block where that can be edited.
fn with_line(file: &Task, carried: Map<String, Value>) -> Task {
    if carried.is_empty() && without_unsaid(file).1.is_empty() {
        return file.clone();
    }
    let carried = Value::Object(carried);
    let line = Block::set(&file.description, UNSAID, &carried);
    let with_line = line.ok().map(|description| Task { description, ..file.clone() });
    let is_told =
        |written: &Task| without_unsaid(written) == (file.clone(), carried.as_object().cloned().unwrap_or_default());
    with_line.filter(is_told).unwrap_or_else(|| {
        let mut written = file.clone();
        written.metadata.get_or_insert_default().insert(UNSAID.to_owned(), carried);
        written
    })
}

/// Returns whether a task of ours is kept by the conventions: it has a kind, and its number stands before its title.
fn is_of_own_kind(task: &Task) -> bool {
    let kind = task.meta("kind").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.parse::<Kind>().is_ok()) && is_marked(task)
}

/// Returns whether a task's own number stands before its title: its author kept to the conventions.
fn is_marked(task: &Task) -> bool {
    Subject::parse(&task.subject).id == Some(task.id.as_str())
}

/// Returns a task without the word that says that its file is the task as it is.
fn without_marker(file: &Task) -> Task {
    let mut task = file.clone();
    if let Some(metadata) = &mut task.metadata {
        metadata.shift_remove(UNSAID);
    }
    task.metadata = task.metadata.filter(|metadata| !metadata.is_empty());
    task
}

/// Returns what a file says beside what is carried in it, and that. A block that held nothing else goes with it.
fn without_unsaid(file: &Task) -> (Task, Map<String, Value>) {
    let (file, carried) = without_carried(file, UNSAID);
    if !carried.is_empty() {
        return (file, carried);
    }
    let line = Block::find(&file.description).and_then(|block| block.written(UNSAID));
    let carried = line.and_then(|line| json_text::from_str::<Value>(line).ok()).filter(is_difference);
    let (Some(Value::Object(carried)), Ok(kept)) = (carried, Block::without(&file.description, UNSAID)) else {
        return (file, Map::new());
    };
    let block = Block::find(&kept).filter(|block| block.facts().is_ok_and(|facts| facts.is_empty()));
    let alone = block.map(|block| {
        let (before, after) = block.around();
        format!("{}{after}", before.strip_suffix("\n\n").unwrap_or(before))
    });
    (Task { description: alone.unwrap_or(kept), ..file }, carried)
}

fn said(task: &Task) -> Task {
    let parent = task.meta("parent").and_then(Value::as_str);
    let parent = parent.filter(|parent| !parent.is_empty() && parent.bytes().all(crate::list::is_safe_byte));
    Task {
        subject: match is_marked(task) {
            true => task.subject.clone(),
            false => Subject::compose(task.id.as_str(), parent, &task.subject),
        },
        description: said_description(task, parent),
        metadata: None,
        ..task.clone()
    }
}

/// Returns the description with the facts that a task's metadata has, in the block that is there or in one of their own.
fn said_description(task: &Task, parent: Option<&str>) -> String {
    let is_new = Block::find(&task.description).is_none();
    let mut text = if is_new { with_block("", "") } else { task.description.clone() };
    let mut is_empty = true;
    for (key, value) in task.metadata.iter().flatten() {
        let written = match parent.filter(|_| key == "parent") {
            Some(parent) => Block::set(&text, PARENT, &parent_value(&parent.into(), None)).ok(),
            None if is_fact(key, value) => Block::set(&text, key, value).ok(),
            None => None,
        };
        if let Some(written) = written {
            text = written;
            is_empty = false;
        }
    }
    match (is_empty, is_new) {
        (true, _) => task.description.clone(),
        (false, true) if task.description.is_empty() => text,
        (false, true) => format!("{}\n\n{text}", task.description),
        (false, false) => text,
    }
}

fn stated(file: &Task) -> Task {
    let subject = Subject::parse(&file.subject);
    let mut metadata = file.metadata.clone().unwrap_or_default();
    let mut description = file.description.as_str();
    let mut parent = None;
    if let Some((block, facts)) = Block::find(description).and_then(|block| Some((block.clone(), block.facts().ok()?)))
    {
        for fact in facts {
            match (fact.key.as_str(), &fact.value) {
                (PARENT, Value::String(_) | Value::Number(_)) if fact.value != SENTINEL => {
                    let id = parent_value(&fact.value, Some(&Value::String(String::new())));
                    parent = id.as_str().filter(|id| !id.is_empty()).map(str::to_owned);
                    metadata.extend(parent.clone().map(|parent| ("parent".to_owned(), Value::String(parent))));
                }
                _ => drop(metadata.insert(fact.key, fact.value)),
            }
        }
        // Between or before the prose it stays where it is, and so does the prose.
        if let (before, "") = block.around() {
            description = before.strip_suffix("\n\n").unwrap_or(before);
        }
    }
    if let Some(before) = subject.parent.filter(|_| parent.is_none()) {
        metadata.insert("parent".to_owned(), before.into());
    }
    let is_own = subject.id.is_none_or(|id| id == file.id.as_str());
    Task {
        subject: if is_own { subject.title.to_owned() } else { file.subject.clone() },
        description: description.to_owned(),
        metadata: (!metadata.is_empty()).then_some(metadata),
        ..file.clone()
    }
}

/// Returns whether a line of the block says a metadata value.
fn is_fact(key: &str, value: &Value) -> bool {
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_line = match value {
        Value::String(text) => !text.contains(['\n', '\r']),
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    is_word && is_line && !["parent", PARENT, UNSAID].contains(&key)
}
