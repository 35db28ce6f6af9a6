//! One task of a document, and what is carried for it in either direction.

use serde_json::{Map, Value};

use crate::dialect::carrying::{
    arranged, arranged_like, ids, leftover, restored, unsaid, with_carried, with_unsaid, without_carried, without_usual,
};
use crate::dialect::elements::{ids_under, text, text_or_null};
use crate::dialect::native::Unreadable;
use crate::{Metadata, Priority, Status, Task, TaskId};

/// The keys of a task, in the order they are written.
const SCHEMA: [&str; 9] =
    ["id", "description", "status", "created_at", "updated_at", "assignee", "dependencies", "parent_id", "metadata"];
/// The metadata keys a document has a place for.
const PLACED: [&str; 3] = ["priority", "tags", "source"];
/// Under which name a task carries what its document said and it cannot.
pub(crate) const CARRIED: &str = "document";
/// Under which of the custom fields a document carries what a task said and it cannot.
const UNSAID: &str = "taskyard";
/// By which older releases said, among what is carried, that the task itself knows no times.
const UNTIMED: &str = "untimed";
const TIMES: [&str; 2] = ["created_at", "updated_at"];

/// What the other tasks of the list mean for one.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Whether a task it waits for is not completed.
    pub is_blocked: bool,
    /// The tasks that wait for it by their own word.
    pub blocks: Vec<TaskId>,
}

/// When a task was made and when it last changed, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// When it was made.
    pub created: String,
    /// When it last changed.
    pub updated: String,
}

/// Returns the times an element states.
pub fn times(element: &Map<String, Value>) -> (Option<&str>, Option<&str>) {
    let text = |key: &str| element.get(key).and_then(Value::as_str);
    (text("created_at"), text("updated_at"))
}

/// Reads a task from an element of a document that is its home: when it changed is the document's to say. `blocks` are the tasks
/// that wait for it by their own word.
pub fn read(element: &Value, blocks: &[TaskId]) -> Result<Task, Unreadable> {
    read_by(Clock::OfTheDocument, element, blocks)
}

/// Reads a task that leaves its document: when it was made and changed goes with it, as metadata.
pub(crate) fn read_with_times(element: &Value, blocks: &[TaskId]) -> Result<Task, Unreadable> {
    read_by(Clock::OfTheTask, element, blocks)
}

/// Writes a task as an element, over the one that is there.
pub fn write(over: Option<&Value>, task: &Task, around: &Around, times: &Times) -> Map<String, Value> {
    write_by(Clock::OfTheDocument, over, task, around, times)
}

/// Writes a task that comes to a document with its times in its metadata; one without was made and changed now, and has those times
/// when it comes back.
pub(crate) fn write_with_times(task: &Task, around: &Around, now: &str) -> Map<String, Value> {
    write_by(Clock::OfTheTask, None, task, around, &stated_times(task, now))
}

/// The values that a key left out means as well.
fn usual() -> [(&'static str, Value); 2] {
    [("assignee", Value::Null), ("dependencies", Value::Array(Vec::new()))]
}

/// Returns an element as agents are shown it: without what it carries for others.
pub(crate) fn for_agents(element: &Value) -> Value {
    match element {
        Value::Object(element) => Value::Object(without_unsaid(element.clone()).0),
        other => other.clone(),
    }
}

/// Whose the times of an element are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    OfTheDocument,
    OfTheTask,
}

fn read_by(clock: Clock, element: &Value, blocks: &[TaskId]) -> Result<Task, Unreadable> {
    let (element, carried) = without_unsaid(object(element)?);
    let stated = stated_by(clock, &element, blocks, carried.contains_key(UNTIMED))?;
    let task = with_unsaid_status(stated, &carried, &element);
    let mut said = said_by(clock, &task, false);
    // These follow the list and the clock; nothing of them is kept.
    for key in ["status", "created_at", "updated_at"] {
        match element.get(key) {
            Some(value) => drop(said.insert(key.to_owned(), value.clone())),
            None => drop(said.shift_remove(key)),
        }
    }
    Ok(with_carried(task, CARRIED, leftover(said, &element, &usual())))
}

fn write_by(clock: Clock, over: Option<&Value>, task: &Task, around: &Around, times: &Times) -> Map<String, Value> {
    let (task, mut leftover) = without_carried(task, CARRIED);
    if leftover.is_empty()
        && let Some(before) = over.and_then(|over| read(over, &around.blocks).ok())
    {
        leftover = without_carried(&before, CARRIED).1;
    }
    let mut element = said_by(clock, &task, around.is_blocked);
    element.insert("created_at".to_owned(), Value::String(times.created.clone()));
    element.insert("updated_at".to_owned(), Value::String(times.updated.clone()));
    let mut element = restored(arranged(element, &SCHEMA), &leftover, &SCHEMA);
    if let Some(over) = over.and_then(Value::as_object) {
        // The program that wrote it finds it again as it was, but for what changes.
        element = without_usual(element, over, &usual());
        element = arranged_like(element, over);
    }
    let Ok(stated) = stated_by(clock, &element, &around.blocks, false) else { return element };
    let carried = match clock {
        Clock::OfTheDocument => unsaid(&stated, &task),
        Clock::OfTheTask => unsaid(&stated, &timed(task, times)),
    };
    if !carried.is_empty() {
        let metadata = entry(&mut element, "metadata");
        entry(metadata, "custom_fields").insert(UNSAID.to_owned(), Value::Object(carried));
    }
    element
}

fn said_by(clock: Clock, task: &Task, is_blocked: bool) -> Map<String, Value> {
    match clock {
        Clock::OfTheDocument => said(task, is_blocked),
        Clock::OfTheTask => {
            let mut task = task.clone();
            if let Some(metadata) = &mut task.metadata {
                metadata.retain(|key, value| !(TIMES.contains(&key.as_str()) && value.is_string()));
            }
            said(&task, is_blocked)
        }
    }
}

fn stated_by(
    clock: Clock,
    element: &Map<String, Value>,
    blocks: &[TaskId],
    is_untimed: bool,
) -> Result<Task, Unreadable> {
    let mut task = stated(element, blocks)?;
    // A program that changed it since has given it times.
    let is_untimed = is_untimed && element.get("created_at") == element.get("updated_at");
    if clock == Clock::OfTheTask && !is_untimed {
        for key in TIMES {
            if let Some(time) = element.get(key).filter(|time| time.is_string()) {
                task.metadata.get_or_insert_default().insert(key.to_owned(), time.clone());
            }
        }
    }
    Ok(task)
}

/// Returns a task that says when it was made and changed, where it does not say so itself.
fn timed(mut task: Task, times: &Times) -> Task {
    let metadata = task.metadata.get_or_insert_default();
    for (key, time) in TIMES.into_iter().zip([&times.created, &times.updated]) {
        metadata.entry(key).or_insert_with(|| Value::String(time.clone()));
    }
    task
}

fn stated_times(task: &Task, now: &str) -> Times {
    let stated = |key: &str| task.meta(key).and_then(Value::as_str).map(str::to_owned);
    let (created, updated) = (stated("created_at"), stated("updated_at"));
    let created = created.or_else(|| updated.clone()).unwrap_or_else(|| now.to_owned());
    Times { updated: updated.unwrap_or_else(|| created.clone()), created }
}

/// Says of a task what a document has words for.
fn said(task: &Task, is_blocked: bool) -> Map<String, Value> {
    let mut element = Map::new();
    let mut say = |key: &str, value: Value| drop(element.insert(key.to_owned(), value));
    say("id", Value::String(task.id.as_str().to_owned()));
    say("description", Value::String(text_of(&task.subject, &task.description)));
    let status = match task.status {
        Status::Completed => Status::Completed.as_str(),
        Status::Pending | Status::InProgress if is_blocked => "blocked",
        status => status.as_str(),
    };
    say("status", status.into());
    say("assignee", task.owner.clone().map_or(Value::Null, Value::String));
    say("dependencies", ids(&task.blocked_by));
    let (mut metadata, mut custom) = (Map::new(), Map::new());
    for (key, value) in task.metadata.iter().flatten() {
        match key.as_str() {
            "parent" if value.as_str().is_some_and(|id| !id.is_empty()) => say("parent_id", value.clone()),
            key if has_place(key, value) => drop(metadata.insert(key.to_owned(), value.clone())),
            key => drop(custom.insert(key.to_owned(), value.clone())),
        }
    }
    if !custom.is_empty() {
        metadata.insert("custom_fields".to_owned(), Value::Object(custom));
    }
    if !metadata.is_empty() {
        say("metadata", Value::Object(arranged(metadata, &PLACED)));
    }
    element
}

/// Hears from an element what a task has words for.
fn stated(element: &Map<String, Value>, blocks: &[TaskId]) -> Result<Task, Unreadable> {
    let id = text(element, "id")?.filter(|id| !id.is_empty()).ok_or(Unreadable::Missing { key: "id" })?;
    let description = text(element, "description")?.ok_or(Unreadable::Missing { key: "description" })?;
    let status = text(element, "status")?.ok_or(Unreadable::Missing { key: "status" })?;
    let (subject, description) = parts_of(description);
    let mut task = Task::new(TaskId::stored(id), subject);
    task.description = description;
    task.status = match status {
        "blocked" => Status::Pending,
        word => word.parse().map_err(|_| Unreadable::WrongType {
            key: "status",
            expected: "pending, in_progress, completed or blocked",
            found: "another word",
        })?,
    };
    task.owner = text_or_null(element, "assignee")?.map(str::to_owned);
    task.blocked_by = ids_under(element, "dependencies")?;
    task.blocks = blocks.to_vec();
    task.metadata = metadata(element)?;
    Ok(task)
}

fn metadata(element: &Map<String, Value>) -> Result<Option<Metadata>, Unreadable> {
    let mut metadata = Metadata::new();
    match element.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(stated)) => {
            let placed = stated.iter().filter(|(key, value)| has_place(key, value));
            metadata.extend(placed.map(|(key, value)| (key.clone(), value.clone())));
            let custom = stated.get("custom_fields").and_then(Value::as_object);
            for (key, value) in custom.into_iter().flatten() {
                // What the format has another place for counts there; only what cannot stand there is meant here.
                let is_misplaced = has_place(key, value) || PLACED.contains(&key.as_str()) && stated.contains_key(key);
                if !is_misplaced {
                    metadata.insert(key.clone(), value.clone());
                }
            }
        }
        Some(_) => {
            return Err(Unreadable::WrongType { key: "metadata", expected: "an object", found: "another value" });
        }
    }
    if let Some(parent) = text_or_null(element, "parent_id")?.filter(|parent| !parent.is_empty()) {
        metadata.insert("parent".to_owned(), Value::String(parent.to_owned()));
    }
    Ok((!metadata.is_empty()).then_some(metadata))
}

/// Tells whether a document has a place of its own for a metadata value.
fn has_place(key: &str, value: &Value) -> bool {
    match key {
        "priority" => value.as_str().is_some_and(|word| word.parse::<Priority>().is_ok()),
        "tags" => value.as_array().is_some_and(|tags| tags.iter().all(Value::is_string)),
        "source" => value.is_string(),
        _ => false,
    }
}

/// A document has one text: the title, and after an empty line what there is to do.
fn text_of(subject: &str, description: &str) -> String {
    let is_continued = description
        .strip_prefix(subject)
        .is_some_and(|rest| rest.starts_with('\n') && !rest.starts_with("\n\n") && !subject.contains('\n'));
    match description {
        "" => subject.to_owned(),
        whole if is_continued => whole.to_owned(),
        rest => format!("{subject}\n\n{rest}"),
    }
}

/// Takes the text of a document apart into a title and what there is to do.
pub(crate) fn parts_of(text: &str) -> (String, String) {
    match text.split_once('\n') {
        None => (text.to_owned(), String::new()),
        Some((first, rest)) => match rest.strip_prefix('\n') {
            Some(rest) => (first.to_owned(), rest.to_owned()),
            None => (first.to_owned(), text.to_owned()),
        },
    }
}

/// Applies what is carried; that a task is being worked on only while the document still calls it blocked.
fn with_unsaid_status(stated: Task, carried: &Map<String, Value>, element: &Map<String, Value>) -> Task {
    let (id, status) = (stated.id.clone(), stated.status);
    let task = with_unsaid(stated, carried);
    let is_blocked = element.get("status").is_some_and(|word| word == "blocked");
    let status = if is_blocked { task.status } else { status };
    Task { id, status, ..task }
}

fn without_unsaid(mut element: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    let Some(Value::Object(metadata)) = element.get_mut("metadata") else { return (element, Map::new()) };
    let Some(Value::Object(custom)) = metadata.get_mut("custom_fields") else { return (element, Map::new()) };
    let Some(Value::Object(carried)) = custom.shift_remove(UNSAID) else { return (element, Map::new()) };
    if custom.is_empty() {
        metadata.shift_remove("custom_fields");
    }
    if metadata.is_empty() {
        element.shift_remove("metadata");
    }
    (element, carried)
}

fn entry<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was just made one")
}

fn object(element: &Value) -> Result<Map<String, Value>, Unreadable> {
    element.as_object().cloned().ok_or(Unreadable::NotAnObject { found: "another value" })
}
