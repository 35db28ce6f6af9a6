//! Whole tasks from and to the conventions.

use serde_json::{Map, Value};

use super::block::{Block, with_block};
use super::subject::Subject;
use crate::Task;
use crate::dialect::carrying::{
    difference, native_object, restored, unsaid, with_carried, with_unsaid, without_carried,
};
use crate::dialect::native;
use crate::json_text;

/// Under which name a task carries what its file said and it cannot.
pub const CARRIED: &str = "macf";
/// The line of the block that carries what a task said and the conventions cannot.
const UNSAID: &str = "taskyard";

/// Reads a task from what its file says by the conventions: the title alone is the subject, the prose alone the description,
/// and the facts of the block are metadata.
pub fn hear(file: &Task) -> Task {
    let block = Block::find(&file.description);
    let line = block.as_ref().and_then(|block| block.get(UNSAID));
    let carried = line.and_then(|line| json_text::from_str::<Map<String, Value>>(line).ok()).unwrap_or_default();
    let file = Task { description: without_line(&file.description), ..file.clone() };
    let heard = heard(&file);
    let id = heard.id.clone();
    let task = Task { id, ..with_unsaid(heard, &carried) };
    let leftover = difference(&native_object(&said(&task)), &native_object(&file), &native::SCHEMA);
    with_carried(task, CARRIED, leftover)
}

/// Writes a task by the conventions, as the native task that its file holds.
pub fn tell(task: &Task) -> Task {
    let (task, leftover) = without_carried(task, CARRIED);
    let object = restored(native_object(&said(&task)), &leftover, &native::SCHEMA);
    let bytes = serde_json::to_vec(&object).unwrap_or_default();
    let file = native::read(&task.id, &bytes).unwrap_or_else(|_| said(&task));
    let carried = unsaid(&heard(&file), &task);
    if carried.is_empty() {
        return file;
    }
    // What is carried may hold the words that end a block.
    let line = Value::Object(carried).to_string().replace('<', "\\u003c");
    Task { description: Block::set(&file.description, UNSAID, &line), ..file }
}

fn said(task: &Task) -> Task {
    let parent = task.meta("parent").and_then(Value::as_str);
    let parent = parent.filter(|parent| !parent.is_empty() && parent.bytes().all(crate::list::is_safe_byte));
    let mut lines = String::new();
    for (key, value) in task.metadata.iter().flatten() {
        if let Some(text) = fact(key, value) {
            lines.push_str(&format!("{key}: {text}\n"));
        }
    }
    let description = match lines.is_empty() {
        true => task.description.clone(),
        false => with_block(&task.description, &lines),
    };
    Task {
        subject: Subject::compose(task.id.as_str(), parent, &task.subject),
        description,
        metadata: None,
        ..task.clone()
    }
}

fn heard(file: &Task) -> Task {
    let subject = Subject::parse(&file.subject);
    let mut metadata = file.metadata.clone().unwrap_or_default();
    let mut description = file.description.as_str();
    if let Some(block) = Block::find(description) {
        metadata.extend(block.entries().map(|(key, text)| (key.to_owned(), meaning(text))));
        // Between or before the prose it stays where it is, and so does the prose.
        if let (before, "") = block.around() {
            description = before.strip_suffix("\n\n").unwrap_or(before);
        }
    }
    if let Some(parent) = subject.parent {
        metadata.insert("parent".to_owned(), parent.into());
    }
    let is_own = subject.id.is_none_or(|id| id == file.id.as_str());
    Task {
        subject: if is_own { subject.title.to_owned() } else { file.subject.clone() },
        description: description.to_owned(),
        metadata: (!metadata.is_empty()).then_some(metadata),
        ..file.clone()
    }
}

/// Returns a metadata value as a line of the block says it, where it can.
fn fact(key: &str, value: &Value) -> Option<String> {
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if !is_word || ["parent", UNSAID].contains(&key) {
        return None;
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let is_one_line = !text.contains(['\n', '\r']) && !text.contains("</macf") && text.trim() == text;
    (is_one_line && meaning(&text) == *value).then_some(text)
}

fn meaning(text: &str) -> Value {
    match json_text::from_str(text) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => Value::String(text.to_owned()),
    }
}

/// Returns a description without the line that carries something; a block that held nothing else goes with it.
fn without_line(description: &str) -> String {
    let Some(block) = Block::find(description) else { return description.to_owned() };
    if block.get(UNSAID).is_none() {
        return description.to_owned();
    }
    let (before, after) = block.around();
    let inner = &description[before.len()..description.len() - after.len()];
    let kept: String = inner.split_inclusive('\n').filter(|line| !line.starts_with(UNSAID)).collect();
    let is_empty = Block::find(&kept).is_none_or(|block| block.entries().next().is_none());
    match is_empty {
        true => format!("{}{after}", before.strip_suffix("\n\n").unwrap_or(before)),
        false => format!("{before}{kept}{after}"),
    }
}
