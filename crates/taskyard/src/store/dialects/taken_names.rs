//! A new task whose name another program took between our journal and our writing.
//!
//! It can happen only to a writer that was killed or overtaken by one that knows no lock, and to a name that was chosen, not made
//! up: that of a task which is brought back. Theirs stays; ours keeps everything but its name, and a further revision says so.

use std::collections::BTreeMap;

use taskyard_core::dialect::native;
use taskyard_core::{Entry, Image, Revision, Rules, Task, TaskId};

use super::dialect_files::{Changes, DialectFiles};
use super::open_list::OpenList;
use super::present_tasks::{FoundChange, read_anew};
use super::recording;
use crate::clock;
use crate::store::journal::{Formed, Journal, NewEntry};
use crate::store::{Signature, StoreError};

/// The tasks that get other names, by the ones they were to have.
#[derive(Debug, Default)]
pub(super) struct RenamedTasks {
    new_ids: BTreeMap<TaskId, TaskId>,
}

impl RenamedTasks {
    /// Finds a name for a task whose own is taken.
    pub(super) fn add<F: DialectFiles>(&mut self, open_list: &OpenList<F>, raw: Option<&F::Raw>, task: &TaskId) {
        let forms = raw.map(|raw| open_list.files.dialect.forms(raw)).unwrap_or_default();
        let is_free = |id: &TaskId| {
            !forms.contains_key(id) && !open_list.files.dialect.is_occupied(&open_list.files.path, raw, id)
        };
        let ids = std::iter::repeat_with(|| open_list.files.dialect.new_id(clock::now()));
        let id = ids.into_iter().find(|id| is_free(id) && !self.new_ids.values().any(|given| given == id));
        self.new_ids.insert(task.clone(), id.expect("there is no end of ids"));
    }

    /// Gives the tasks their other names, and the edges of whatever is written with them. Returns the others that change with
    /// that.
    pub(super) fn apply(&self, changes: &mut Changes) -> Vec<TaskId> {
        let mut touched = Vec::new();
        for (old, new) in &self.new_ids {
            if let Some(Some(task)) = changes.remove(old) {
                changes.insert(new.clone(), Some(Task { id: new.clone(), ..task }));
            }
        }
        for (id, task) in changes.iter_mut().filter_map(|(id, task)| Some((id, task.as_mut()?))) {
            let mut is_touched = false;
            for edge in task.blocks.iter_mut().chain(&mut task.blocked_by) {
                if let Some(new) = self.new_ids.get(edge) {
                    *edge = new.clone();
                    is_touched = true;
                }
            }
            if is_touched && !self.new_ids.values().any(|new| new == id) {
                touched.push(id.clone());
            }
        }
        touched
    }

    /// Journals what the other programs wrote under the names that were to be ours, and then ours, and returns the newest revision.
    pub(super) fn record<F: DialectFiles>(
        &self,
        open_list: &OpenList<F>,
        journal: &Journal,
        pending: &[Entry],
        (before, after): (Option<&F::Raw>, &F::Raw),
        revision: Revision,
    ) -> Result<Revision, StoreError> {
        let taken: Vec<&Entry> = pending.iter().filter(|entry| self.new_ids.contains_key(&entry.task)).collect();
        let (Some(first), Some(before)) = (taken.first(), before) else { return Ok(revision) };
        let [elsewhere, ours] = [revision.next(), revision.next().next()];
        let dialect = &*open_list.files.dialect;
        let forms = dialect.forms(before);
        let theirs = taken.iter().filter_map(|entry| {
            let bytes = forms.get(&entry.task)?;
            let image = read_anew(dialect, before, &entry.task, bytes, None).image;
            let after = Some(Formed { form: Some(bytes.clone()), image });
            Some(FoundChange { task: entry.task.clone(), before: entry.after.clone(), after })
        });
        recording::record(open_list, journal, &theirs.collect::<Vec<_>>(), elsewhere)?;
        let written = dialect.forms(after);
        let mut made: Vec<(&TaskId, Image)> = Vec::new();
        for entry in &taken {
            let new = &self.new_ids[&entry.task];
            let task = dialect.read(after, new).ok();
            let image = task.and_then(|task| native::write(entry.after.as_ref(), &task, Rules::Strict).ok());
            let Some(image) = image else { continue };
            tracing::warn!(task = %entry.task, now = %new, "a task's name was taken by another program; it got another one");
            journal.set_form(new, &Formed { form: written.get(new).cloned(), image: image.clone() })?;
            made.push((new, image));
        }
        let entries: Vec<NewEntry<'_>> = made
            .iter()
            .map(|(task, image)| NewEntry {
                task,
                op: first.op,
                before: None,
                after: Some(image),
                inode: None,
                mode: None,
            })
            .collect();
        journal.append(ours, clock::now(), &Signature::new(first.actor.clone(), first.op), &entries)?;
        Ok(ours)
    }
}
