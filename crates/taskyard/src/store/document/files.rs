//! The file of a document: reading it without its lock, and applying changes to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use taskyard_core::dialect::document;
use taskyard_core::dialect::document::{Around, BadDocument, Document, Times};
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{TaskId, Timestamp};

use crate::regular_file;
use crate::regular_file::NotRead;
use crate::store::StoreError;
use crate::store::dialects::{Changes, Loaded};
use crate::store::journal::FileStamp;

/// Maximum size in bytes of a document.
pub(super) const LARGEST: u64 = 256 * 1024 * 1024;
/// How long to keep rereading a document that may be half written, since other programs write in place with the file
/// locked.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);

/// Reads the file; `None` if it does not exist.
pub(super) fn load(path: &Path) -> Result<Option<Raw>, StoreError> {
    let started = Instant::now();
    loop {
        let Some(Read { bytes, stamp, .. }) = read(path)? else { return Ok(None) };
        match whole(path, bytes, Some(stamp))? {
            Loaded::Torn(_) if started.elapsed() < LOOKING_AGAIN => thread::sleep(Duration::from_millis(5)),
            Loaded::Torn(error) => return Err(*error),
            Loaded::Whole(raw) | Loaded::Completed(raw) => return Ok(Some(raw)),
            Loaded::Absent | Loaded::Moving => return Ok(None),
        }
    }
}

/// Returns the current metadata of the file.
pub(super) fn stamp_of(path: &Path) -> Option<FileStamp> {
    fs::symlink_metadata(path).ok().map(|found| FileStamp::of(&found))
}

/// Returns the prefix of our temporary files.
pub(super) fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}-taskyard-")
}

pub(super) struct Read {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: FileStamp,
    /// Whether the metadata was the same afterwards.
    pub(super) is_unmoved: bool,
}

pub(super) fn read(path: &Path) -> Result<Option<Read>, StoreError> {
    let read = || -> Result<Read, NotRead> {
        let (file, _) = regular_file::open(path, LARGEST)?;
        // Query the metadata before reading: a write during the read then counts as a change.
        let found = file.metadata()?;
        let stamp = FileStamp::of(&found);
        let bytes = regular_file::read_open(file.try_clone()?, found.len(), LARGEST)?;
        Ok(Read { bytes, stamp, is_unmoved: FileStamp::of(&file.metadata()?) == stamp })
    };
    match read() {
        Ok(read) => Ok(Some(read)),
        Err(why) if why.is_missing() => Ok(None),
        Err(why) => Err(StoreError::not_read(path, why)),
    }
}

pub(super) fn whole(path: &Path, bytes: Vec<u8>, stamp: Option<FileStamp>) -> Result<Loaded<Raw>, StoreError> {
    let no_task = |why| StoreError::NoTask { path: path.to_owned(), why };
    match Document::parse(&bytes) {
        Ok(document) => Ok(Loaded::Whole(Raw::new(document, bytes, stamp))),
        Err(BadDocument::Unreadable(why)) if why.may_be_torn() => Ok(Loaded::Torn(Box::new(no_task(why)))),
        Err(BadDocument::Unreadable(why)) => Err(no_task(why)),
        Err(BadDocument::NoTasks) => Err(no_task(Unreadable::Missing { key: "tasks" })),
        Err(BadDocument::TooNew(source)) => Err(StoreError::NewerFile { path: path.to_owned(), source }),
    }
}

/// A document as read.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) document: Document,
    /// Its exact text.
    pub(super) bytes: Vec<u8>,
    /// The file's metadata; `None` for a document that was not read from a file.
    pub(super) stamp: Option<FileStamp>,
    /// The position of each task. An entry without an id of its own is named by its position.
    pub(super) places: BTreeMap<TaskId, usize>,
    waiting: HashMap<TaskId, Vec<TaskId>>,
}

impl Raw {
    pub(super) fn new(document: Document, bytes: Vec<u8>, stamp: Option<FileStamp>) -> Self {
        let mut places = BTreeMap::new();
        let mut waiting: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        let stated: HashSet<TaskId> = document.elements().iter().filter_map(id_of).collect();
        for (place, element) in document.elements().iter().enumerate() {
            let id = id_of(element).filter(|id| !places.contains_key(id));
            let id = id.unwrap_or_else(|| name_of(place, &stated));
            for on in dependencies(element) {
                waiting.entry(on).or_default().push(id.clone());
            }
            places.insert(id, place);
        }
        Self { document, bytes, stamp, places, waiting }
    }

    /// Returns the tasks that list a task among their dependencies.
    pub(super) fn waiting(&self, id: &TaskId) -> &[TaskId] {
        self.waiting.get(id).map_or(&[], Vec::as_slice)
    }
}

/// Returns a document with changes made at a given time. Dependents of a changed task are marked blocked or unblocked
/// accordingly.
pub(super) fn changed(raw: Option<&Raw>, changes: &Changes, at: Timestamp) -> Raw {
    let now = at.to_string();
    let document = raw.map(|raw| raw.document.clone()).unwrap_or_default();
    let places = raw.map(|raw| raw.places.clone()).unwrap_or_default();
    let mut elements: Vec<Option<Value>> = document.elements().iter().cloned().map(Some).collect();
    let surroundings = Surroundings::of(&elements, &places, changes);
    let mut affected = BTreeSet::new();
    for (id, task) in changes {
        affected.extend(surroundings.around(id).blocks.iter().cloned());
        let place = places.get(id).copied();
        let over = place.and_then(|place| elements[place].clone());
        let Some(task) = task else {
            if let Some(place) = place {
                elements[place] = None;
            }
            continue;
        };
        let written = write(over.as_ref(), task, &surroundings.around(id), &now);
        match place {
            Some(place) => elements[place] = Some(written),
            None => elements.push(Some(written)),
        }
    }
    for id in affected.iter().filter(|id| !changes.contains_key(*id)) {
        let Some(element) = places.get(id).and_then(|place| elements[*place].as_mut()) else { continue };
        let around = surroundings.around(id);
        let Ok(task) = document::read(element, &around.blocks) else { continue };
        let written = write(Some(element), &task, &around, &now);
        if written.get("status") != element.get("status") {
            *element = written;
        }
    }
    let elements = elements.into_iter().flatten().collect();
    let document = document.with_elements(elements, &now);
    let bytes = document.print().into_bytes();
    Raw::new(document, bytes, None)
}

/// Writes a task over its element. The update time changes only if the element does.
fn write(over: Option<&Value>, task: &taskyard_core::Task, around: &Around, now: &str) -> Value {
    let (created, updated) = over.and_then(Value::as_object).map_or((None, None), document::times);
    let written = |updated: &str| {
        let times = Times { created: created.unwrap_or(now).to_owned(), updated: updated.to_owned() };
        Value::Object(document::write(over, task, around, &times))
    };
    // The ids of dependents are part of the element, but do not change the task itself.
    let unchanged = updated.map(written).filter(|same| Some(same) == over);
    unchanged.unwrap_or_else(|| written(now))
}

/// The dependencies and open tasks after the changes.
struct Surroundings {
    waits_for: HashMap<TaskId, Vec<TaskId>>,
    waiting: HashMap<TaskId, Vec<TaskId>>,
    open: HashSet<TaskId>,
}

impl Surroundings {
    fn of(elements: &[Option<Value>], places: &BTreeMap<TaskId, usize>, changes: &Changes) -> Self {
        let mut told: Vec<(usize, TaskId, Vec<TaskId>, bool)> = Vec::new();
        for (id, place) in places.iter().filter(|(id, _)| !changes.contains_key(*id)) {
            let Some(element) = &elements[*place] else { continue };
            let is_open = element.get("status").is_none_or(|status| status != "completed");
            told.push((*place, id.clone(), dependencies(element), is_open));
        }
        for (id, task) in changes.iter().filter_map(|(id, task)| Some((id, task.as_ref()?))) {
            let place = places.get(id).copied().unwrap_or(usize::MAX);
            told.push((place, id.clone(), task.blocked_by.clone(), task.status.is_open()));
        }
        told.sort_by(|one, two| (one.0, &one.1).cmp(&(two.0, &two.1)));
        let mut surroundings = Self { waits_for: HashMap::new(), waiting: HashMap::new(), open: HashSet::new() };
        for (_, id, on, is_open) in told {
            for on in &on {
                surroundings.waiting.entry(on.clone()).or_default().push(id.clone());
            }
            if is_open {
                surroundings.open.insert(id.clone());
            }
            surroundings.waits_for.insert(id, on);
        }
        surroundings
    }

    fn around(&self, id: &TaskId) -> Around {
        let waits_for = self.waits_for.get(id).map_or(&[][..], Vec::as_slice);
        Around {
            is_blocked: waits_for.iter().any(|on| self.open.contains(on)),
            blocks: self.waiting.get(id).cloned().unwrap_or_default(),
        }
    }
}

/// Returns a unique name for an entry without an id of its own.
fn name_of(place: usize, stated: &HashSet<TaskId>) -> TaskId {
    let mut name = TaskId::stored(format!("tasks[{place}]"));
    while stated.contains(&name) {
        name = TaskId::stored(format!("{name}'"));
    }
    name
}

fn id_of(element: &Value) -> Option<TaskId> {
    element.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(TaskId::stored)
}

fn dependencies(element: &Value) -> Vec<TaskId> {
    let on = element.get("dependencies").and_then(Value::as_array);
    on.into_iter().flatten().filter_map(Value::as_str).map(TaskId::stored).collect()
}
