//! The document dialect: one `tasks.json` per list, specified in `docs/formats/document.md`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

pub use crate::dialect::carrying::TasksRead;
use crate::dialect::carrying::{
    NewerVersion, arranged, arranged_like, ids, ids_under, leftover, read_all, restored, stated_version, text,
    text_or_null, unsaid, with_carried, with_unsaid, without_carried, without_usual,
};
use crate::dialect::native::Unreadable;
use crate::json_text::{is_more_than_read, print_over};
use crate::{Metadata, Priority, Status, Task, TaskId, json_text};

/// The keys of a task, in the order in which they are written.
const SCHEMA: [&str; 9] =
    ["id", "description", "status", "created_at", "updated_at", "assignee", "dependencies", "parent_id", "metadata"];
/// The metadata keys that have their own place in a document.
const PLACED: [&str; 3] = ["priority", "tags", "source"];
/// The metadata key under which a task keeps what its document contained and a task cannot represent.
pub(crate) const CARRIED: &str = "document";
/// The custom field in which a document keeps what a task contained and a document cannot represent.
const UNSAID: &str = "taskyard";
/// The carried key with which older releases recorded that the task itself states no times.
const UNTIMED: &str = "untimed";
const TIMES: [&str; 2] = ["created_at", "updated_at"];

/// Properties of a task that follow from the other tasks of its list.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Whether it has an open blocker.
    pub is_blocked: bool,
    /// The tasks that name it as a blocker.
    pub blocks: Vec<TaskId>,
}

/// When a task was created and last changed, as written in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// When it was created.
    pub created: String,
    /// When it last changed.
    pub updated: String,
}

/// Returns the creation and update times that an element states.
pub fn times(element: &Map<String, Value>) -> (Option<&str>, Option<&str>) {
    let text = |key: &str| element.get(key).and_then(Value::as_str);
    (text("created_at"), text("updated_at"))
}

/// Reads a task from an element of a document that is the task's store. Its times stay in the document. `blocks` are
/// the tasks that name it as a blocker.
pub fn read(element: &Value, blocks: &[TaskId]) -> Result<Task, Unreadable> {
    read_by(Clock::OfTheDocument, element, blocks)
}

/// Reads a task that is exported from its document: its times go with it as metadata.
pub(crate) fn read_with_times(element: &Value, blocks: &[TaskId]) -> Result<Task, Unreadable> {
    read_by(Clock::OfTheTask, element, blocks)
}

/// Writes a task as an element, preserving what `over`, the existing element, contains beyond it.
pub fn write(over: Option<&Value>, task: &Task, around: &Around, times: &Times) -> Map<String, Value> {
    write_by(Clock::OfTheDocument, over, task, around, times)
}

/// Writes a task that is imported into a document with its times in its metadata. A task without times gets the
/// current time, and keeps it when it is exported again.
pub(crate) fn write_with_times(task: &Task, around: &Around, now: &str) -> Map<String, Value> {
    write_by(Clock::OfTheTask, None, task, around, &stated_times(task, now))
}

/// Keys whose absence means the same as the given value.
fn usual() -> [(&'static str, Value); 2] {
    [("assignee", Value::Null), ("dependencies", Value::Array(Vec::new()))]
}

/// Returns an element as shown to agents, without the data it carries for the round trip.
pub(crate) fn for_agents(element: &Value) -> Value {
    match element {
        Value::Object(element) => Value::Object(without_unsaid(element.clone()).0),
        other => other.clone(),
    }
}

/// Where the times of a task are kept.
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
    // The status and the times follow the list and the clock, so they are not carried.
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
        // Keep the layout of the program that wrote the element, except for what changes.
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
    // If the times differ, a program has changed the element since.
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

/// Adds creation and update times to a task that does not state them.
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

/// Converts the part of a task that a document can represent.
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

/// Converts the part of an element that a task can represent.
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
                // A key with its own place in the format counts only there; custom fields hold only values that
                // cannot be stored there.
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

/// Returns whether a document has a place of its own for a metadata value.
fn has_place(key: &str, value: &Value) -> bool {
    match key {
        "priority" => value.as_str().is_some_and(|word| word.parse::<Priority>().is_ok()),
        "tags" => value.as_array().is_some_and(|tags| tags.iter().all(Value::is_string)),
        "source" => value.is_string(),
        _ => false,
    }
}

/// Joins title and description into the single text of a document, separated by an empty line.
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

/// Splits the text of a document into title and description.
pub(crate) fn parts_of(text: &str) -> (String, String) {
    match text.split_once('\n') {
        None => (text.to_owned(), String::new()),
        Some((first, rest)) => match rest.strip_prefix('\n') {
            Some(rest) => (first.to_owned(), rest.to_owned()),
            None => (first.to_owned(), text.to_owned()),
        },
    }
}

/// Applies the carried data. A carried status of in progress counts only while the document still says blocked.
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

/// The version written by this release.
pub const VERSION: u64 = 2;

/// Why a file is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    /// It is not a JSON object.
    #[error("{0}")]
    Unreadable(#[from] Unreadable),
    /// It has no array of tasks.
    #[error("`tasks` is missing or not an array")]
    NoTasks,
    /// A newer program wrote it.
    #[error(transparent)]
    TooNew(#[from] NewerVersion),
}

/// A file of tasks: the root object and all its contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    root: Map<String, Value>,
    version: u64,
    /// The original text, if it contains something that Rust strings or numbers cannot represent.
    read: Option<String>,
}

impl Document {
    /// Creates a document without tasks.
    pub fn new() -> Self {
        let mut root = Map::new();
        root.insert("tasks".to_owned(), Value::Array(Vec::new()));
        root.insert("version".to_owned(), VERSION.into());
        Self { root, version: VERSION, read: None }
    }

    /// Parses a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadDocument> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Unreadable::Empty.into());
        }
        let text = std::str::from_utf8(bytes).map_err(|error| Unreadable::NotUtf8 { at: error.valid_up_to() })?;
        // Some editors write a byte order mark, which is harmless here.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: Value = json_text::from_str(text).map_err(|error| Unreadable::NotJson { why: error.to_string() })?;
        let Value::Object(root) = value else {
            return Err(Unreadable::NotAnObject { found: "another value" }.into());
        };
        // Check the version first: a newer version may keep its tasks elsewhere.
        let version = stated_version(&root, VERSION)?;
        if !root.get("tasks").is_some_and(Value::is_array) {
            return Err(BadDocument::NoTasks);
        }
        let read = is_more_than_read(text.as_bytes()).then(|| text.to_owned());
        Ok(Self { root, version, read })
    }

    /// Returns the version of the parsed file; 1 if it states none.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the elements of the task array.
    pub fn elements(&self) -> &[Value] {
        self.root.get("tasks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Replaces the task array and sets the update time and the current version.
    #[must_use]
    pub fn with_elements(mut self, elements: Vec<Value>, last_updated: &str) -> Self {
        self.root.insert("tasks".to_owned(), Value::Array(elements));
        self.root.insert("version".to_owned(), VERSION.into());
        self.root.insert("last_updated".to_owned(), last_updated.into());
        self.version = VERSION;
        self
    }

    /// Serializes the document with an indentation of two spaces and no final newline. Lone surrogates and number
    /// spellings from the original are preserved unless the value was replaced.
    pub fn print(&self) -> String {
        let pretty = |root: &Value| serde_json::to_string_pretty(root).expect("a JSON value always has a text form");
        match &self.read {
            Some(read) => print_over(Some(read.as_bytes()), &Value::Object(self.root.clone()), pretty),
            None => serde_json::to_string_pretty(&self.root).expect("a JSON value always has a text form"),
        }
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads all tasks of a document.
pub fn read_tasks(document: &Document) -> TasksRead {
    let waiting = waiting(document.elements().iter());
    read_all(document.elements(), |value, id| {
        let blocks = id.and_then(|id| waiting.get(id)).map_or(&[][..], Vec::as_slice);
        read_with_times(value, blocks)
    })
}

/// Writes tasks as a document. A task that states no times gets the current time.
pub fn write_tasks(tasks: &[Task], now: &str) -> Document {
    let around = arounds(tasks);
    let elements = tasks.iter().map(|task| Value::Object(write_with_times(task, &around[&task.id], now)));
    Document::new().with_elements(elements.collect(), now)
}

/// Returns the dependents of each task, according to their `dependencies`.
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
