//! What one look at a list saw: the tasks by its files and by what we know of them, what other programs did, and what of it may be
//! believed for longer.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::dialect::native;
use taskyard_core::{Image, Revision, Rules, Task, TaskId};

use super::dialect_files::DialectFiles;
use crate::store::journal::Formed;
use crate::store::kit::{Kept, ListState};

/// A list as it was seen.
#[derive(Debug)]
pub(super) struct SeenList<F: DialectFiles> {
    pub(super) state: ListState,
    pub(super) files: ReadFiles<F>,
    /// What other programs did and is not yet recorded.
    pub(super) outside: Vec<FoundChange>,
    /// Whether a commit of ours may not be in the files yet.
    pub(super) is_unsettled: bool,
}

impl<F: DialectFiles> SeenList<F> {
    /// Tells whether there is nothing to record.
    pub(super) fn is_quiet(&self) -> bool {
        self.outside.is_empty() && !self.is_unsettled
    }
}

/// The files of a list, read, and the form of everything in them.
#[derive(Debug)]
pub(super) struct ReadFiles<F: DialectFiles> {
    pub(super) raw: Option<Arc<F::Raw>>,
    pub(super) forms: Arc<BTreeMap<TaskId, Vec<u8>>>,
}

/// A list that was at rest when it was seen: as long as its files and our journal are the same, so are its tasks.
#[derive(Debug)]
pub(super) struct RestingList<F: DialectFiles> {
    pub(super) raw: Arc<F::Raw>,
    pub(super) forms: Arc<BTreeMap<TaskId, Vec<u8>>>,
    pub(super) newest: Revision,
    pub(super) applied: Revision,
    pub(super) tasks: BTreeMap<TaskId, Arc<Kept>>,
}

impl<F: DialectFiles> ReadFiles<F> {
    /// Returns what was read; none where there are no files.
    pub(super) fn raw(&self) -> Option<&F::Raw> {
        self.raw.as_deref()
    }
}

/// What the files and our memory say together.
#[derive(Debug, Default)]
pub(super) struct PresentTasks {
    pub(super) tasks: BTreeMap<TaskId, Arc<Kept>>,
    /// What other programs did since our memory was last written.
    pub(super) outside: Vec<FoundChange>,
}

/// What another program did to one task.
#[derive(Clone, Debug)]
pub(super) struct FoundChange {
    pub(super) task: TaskId,
    pub(super) before: Option<Image>,
    pub(super) after: Option<Formed>,
}

/// Puts together what is in the files with what is known of it.
pub(super) fn present<F: DialectFiles>(
    dialect: &F,
    raw: Option<&F::Raw>,
    forms: &BTreeMap<TaskId, Vec<u8>>,
    known: &BTreeMap<TaskId, Formed>,
) -> PresentTasks {
    let mut present = Draft::default();
    let mut edges = Vec::new();
    for (id, bytes) in forms {
        let formed = known.get(id);
        if let Some(formed) = formed.filter(|formed| formed.form.as_ref() == Some(bytes)) {
            let kept = Kept::new(id.clone(), formed.image.clone());
            let kept = match raw.filter(|_| kept.task.is_err()) {
                // Only the dialect can say what is wrong with it.
                Some(raw) => {
                    Arc::new(Kept { id: id.clone(), image: formed.image.clone(), task: dialect.read(raw, id) })
                }
                None => kept,
            };
            present.tasks.insert(id.clone(), kept);
            continue;
        }
        let Some(raw) = raw else { continue };
        let before = formed.map(|formed| formed.image.clone());
        let kept = read_anew(dialect, raw, id, bytes, before.as_ref());
        let was = before.as_ref().and_then(|image| image.task(id).ok());
        edges.push((id.clone(), waits_for(was.as_ref()), waits_for(kept.task.as_ref().ok())));
        let after = Some(Formed { form: Some(bytes.clone()), image: kept.image.clone() });
        present.outside.insert(id.clone(), FoundChange { task: id.clone(), before, after });
        present.tasks.insert(id.clone(), Arc::new(kept));
    }
    for (id, formed) in known.iter().filter(|(id, _)| !forms.contains_key(*id)) {
        match formed.form {
            None => drop(present.tasks.insert(id.clone(), Kept::new(id.clone(), formed.image.clone()))),
            Some(_) => {
                edges.push((id.clone(), waits_for(formed.image.task(id).ok().as_ref()), Vec::new()));
                let outside = FoundChange { task: id.clone(), before: Some(formed.image.clone()), after: None };
                present.outside.insert(id.clone(), outside);
            }
        }
    }
    for (id, before, after) in edges {
        for on in after.iter().filter(|on| !before.contains(on)) {
            mirror(&mut present, known, on, |blocks| {
                if !blocks.contains(&id) {
                    blocks.push(id.clone());
                }
            });
        }
        for on in before.iter().filter(|on| !after.contains(on)) {
            mirror(&mut present, known, on, |blocks| blocks.retain(|other| *other != id));
        }
    }
    PresentTasks { tasks: present.tasks, outside: present.outside.into_values().collect() }
}

/// What was put together so far; whatever is mirrored is looked up by its name.
#[derive(Default)]
struct Draft {
    tasks: BTreeMap<TaskId, Arc<Kept>>,
    outside: BTreeMap<TaskId, FoundChange>,
}

/// Reads a task that the files say otherwise than we know, and writes it down in our words.
pub(super) fn read_anew<F: DialectFiles>(
    dialect: &F,
    raw: &F::Raw,
    id: &TaskId,
    bytes: &[u8],
    before: Option<&Image>,
) -> Kept {
    let read = dialect.read(raw, id);
    let image = match &read {
        Ok(task) => native::write(before, task, Rules::Strict).unwrap_or_else(|_| Image::new(bytes)),
        Err(_) => Image::new(bytes),
    };
    Kept { id: id.clone(), image, task: read }
}

fn waits_for(task: Option<&Task>) -> Vec<TaskId> {
    task.map(|task| task.blocked_by.clone()).unwrap_or_default()
}

/// Other programs write one side of an edge only; the other side follows where the task itself was not touched.
fn mirror(present: &mut Draft, known: &BTreeMap<TaskId, Formed>, on: &TaskId, change: impl FnOnce(&mut Vec<TaskId>)) {
    let is_read_anew = present.outside.get(on).is_some_and(|outside| outside.after.is_some());
    let (Some(kept), Some(formed)) = (present.tasks.get(on), known.get(on)) else { return };
    let Ok(task) = &kept.task else { return };
    let mut after = task.clone();
    change(&mut after.blocks);
    let is_mirrored = is_read_anew && kept.image == formed.image;
    if after == *task || (is_read_anew && !is_mirrored) {
        return;
    }
    let Ok(image) = native::write(Some(&kept.image), &after, Rules::Strict) else { return };
    let after = Formed { form: formed.form.clone(), image: image.clone() };
    let outside = FoundChange { task: on.clone(), before: Some(formed.image.clone()), after: Some(after) };
    present.outside.insert(on.clone(), outside);
    present.tasks.insert(on.clone(), Kept::new(on.clone(), image));
}
