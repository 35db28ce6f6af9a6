//! A document with changes made to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;
use taskyard_core::dialect::document::{self, Around, Document, Times};
use taskyard_core::{TaskId, Timestamp};

use crate::store::dialects::Changes;
use crate::store::journal::FileStamp;

/// A document as it was read.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) document: Document,
    /// Its text, to the letter.
    pub(super) bytes: Vec<u8>,
    /// What the file looked like; none for one that was not read.
    pub(super) stamp: Option<FileStamp>,
    /// Where each task stands. What has no id of its own is named by its place.
    pub(super) places: BTreeMap<TaskId, usize>,
    waiting: HashMap<TaskId, Vec<TaskId>>,
}

impl Raw {
    /// Takes a document and its text.
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

    /// Returns the tasks that wait for a task by their own word.
    pub(super) fn waiting(&self, id: &TaskId) -> &[TaskId] {
        self.waiting.get(id).map_or(&[], Vec::as_slice)
    }
}

/// Returns a document with changes made at a moment. Tasks that wait for a changed one are blocked or unblocked with it.
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

/// Writes a task over its element. When it last changed moves only where the element does.
fn write(over: Option<&Value>, task: &taskyard_core::Task, around: &Around, now: &str) -> Value {
    let (created, updated) = over.and_then(Value::as_object).map_or((None, None), document::times);
    let written = |updated: &str| {
        let times = Times { created: created.unwrap_or(now).to_owned(), updated: updated.to_owned() };
        Value::Object(document::write(over, task, around, &times))
    };
    // That other tasks wait for a task is written with them, and changes nothing about the task itself.
    let unchanged = updated.map(written).filter(|same| Some(same) == over);
    unchanged.unwrap_or_else(|| written(now))
}

/// The edges between tasks and the tasks that are not done, with the changes made.
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

/// Returns the name of what has no id of its own, which is never that of another task.
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
