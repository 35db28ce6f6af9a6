//! The file of a document, opened and read without its lock, and a document with changes made to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use taskyard_core::dialect::document::{self, Around, BadDocument, Document, Times};
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{TaskId, Timestamp};

use super::rewrite::{Progress, Rewrite};
use crate::clock;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::dialects::{Changes, Loaded};
use crate::store::journal::FileStamp;

/// A document larger than this is not read.
pub(super) const LARGEST: u64 = 256 * 1024 * 1024;
/// Other programs write in place, with the file locked: what may be half written is read again for so long.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);

/// Reads the file; none where there is none.
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

/// Reads the file while a writer of ours may be at it: with `rewrite`, or with one that began since where `is_quiet` denies it.
pub(super) fn look(
    path: &Path,
    rewrite: Option<&Rewrite>,
    is_quiet: &dyn Fn() -> Result<bool, StoreError>,
) -> Result<Loaded<Raw>, StoreError> {
    let began = clock::wall();
    let Some(Read { bytes, stamp, is_unmoved }) = read(path)? else { return Ok(Loaded::Absent) };
    // No program wrote while we read: it would have left a later time.
    let is_settled = is_unmoved && stamp.is_settled(began);
    let Some(rewrite) = rewrite else {
        return match is_settled || (is_unmoved && is_quiet()?) {
            true => whole(path, bytes, Some(stamp)),
            false => Ok(Loaded::Moving),
        };
    };
    if is_settled && rewrite.judge(&bytes, &clock::boot_id()) == Progress::Overwritten {
        return whole(path, bytes, Some(stamp));
    }
    match rewrite.completed(&bytes) {
        Some(bytes) => Ok(match whole(path, bytes, None)? {
            Loaded::Whole(raw) => Loaded::Completed(raw),
            torn => torn,
        }),
        None => Ok(Loaded::Moving),
    }
}

/// Returns what the file looks like now.
pub(super) fn stamp_of(path: &Path) -> Option<FileStamp> {
    fs::symlink_metadata(path).ok().map(|found| FileStamp::of(&found))
}

/// Returns what the names of our temporary files begin with.
pub(super) fn temporary_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}-taskyard-")
}

/// What was read of a file.
struct Read {
    bytes: Vec<u8>,
    stamp: FileStamp,
    /// Whether it looked the same afterwards.
    is_unmoved: bool,
}

fn read(path: &Path) -> Result<Option<Read>, StoreError> {
    let read = || -> Result<Read, NotRead> {
        let (file, _) = regular_file::open(path, LARGEST)?;
        // Before the contents: what is written while we read makes it another file.
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

fn whole(path: &Path, bytes: Vec<u8>, stamp: Option<FileStamp>) -> Result<Loaded<Raw>, StoreError> {
    let no_task = |why| StoreError::NoTask { path: path.to_owned(), why };
    match Document::parse(&bytes) {
        Ok(document) => Ok(Loaded::Whole(Raw::new(document, bytes, stamp))),
        Err(BadDocument::Unreadable(why)) if why.may_be_torn() => Ok(Loaded::Torn(Box::new(no_task(why)))),
        Err(BadDocument::Unreadable(why)) => Err(no_task(why)),
        Err(BadDocument::NoTasks) => Err(no_task(Unreadable::Missing { key: "tasks" })),
        Err(BadDocument::TooNew(source)) => Err(StoreError::NewerFile { path: path.to_owned(), source }),
    }
}

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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;
    use std::{fs, thread};

    use super::{look, stamp_of};
    use crate::clock;
    use crate::store::dialects::Loaded;
    use crate::store::document::rewrite::Rewrite;

    fn document(tasks: [&str; 2]) -> String {
        let [one, two] = tasks.map(|task| format!("{{\"id\":\"{task}\"}}"));
        format!("{{\"tasks\":[{one},{two}],\"version\":2}}")
    }

    fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
        let path = folder.path().join("tasks.json");
        fs::write(&path, text).unwrap();
        path
    }

    fn let_it_settle(path: &Path) {
        while !stamp_of(path).unwrap().is_settled(clock::wall()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_file_just_written_is_believed_only_where_no_commit_was_begun_since() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, &document(["1", "2"]));
        assert!(matches!(look(&path, None, &|| Ok(false)).unwrap(), Loaded::Moving));
        assert!(matches!(look(&path, None, &|| Ok(true)).unwrap(), Loaded::Whole(_)));
        let_it_settle(&path);
        assert!(matches!(look(&path, None, &|| panic!("nobody has written")).unwrap(), Loaded::Whole(_)));
    }

    #[test]
    fn a_mixture_of_old_and_new_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (document(["1", "3"]), document(["2", "4"]));
        let rewrite = Rewrite::between(before.as_bytes(), after.as_bytes(), crate::clock::boot_id());
        for found in [&before, &after, &document(["2", "3"]), &document(["1", "4"]), &format!("{after}\0")] {
            let path = file(&folder, found);
            let Loaded::Completed(raw) = look(&path, Some(&rewrite), &|| Ok(true)).unwrap() else { panic!("{found}") };
            assert_eq!(raw.bytes, after.as_bytes(), "{found}");
        }
    }

    #[test]
    fn what_another_program_wrote_after_a_crash_is_shown_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let rewrite = Rewrite::between(document(["1", "3"]).as_bytes(), document(["2", "4"]).as_bytes(), String::new());
        let theirs = document(["1", "theirs"]);
        let path = file(&folder, &theirs);
        let_it_settle(&path);
        let Loaded::Whole(raw) = look(&path, Some(&rewrite), &|| Ok(true)).unwrap() else { panic!("{theirs}") };
        assert_eq!(raw.bytes, theirs.as_bytes());
    }
}
