//! Finishing what a dead writer began: a commit that is in the journal is carried out in full.

use std::collections::BTreeMap;

use taskyard_core::dialect::native;
use taskyard_core::rules::rebasing::rebase_by;
use taskyard_core::{Entry, Image, Rules, TaskId};

use super::form::{Changes, Form};
use super::handle::Handle;
use super::looking::{APPLIED, applied};
use super::observe;
use super::pair;
use super::present::Outside;
use crate::clock;
use crate::store::StoreError;
use crate::store::sidecar::{Formed, Journal};

/// How often we begin again where somebody who knows no lock keeps writing.
const TRIES: u32 = 20;

/// Finishes what was begun, where something was. Called within a turn.
pub(super) fn repair<F: Form>(handle: &Handle<F>, journal: &mut Journal) -> Result<(), StoreError> {
    pair::finish_noted_moves(handle, journal)?;
    for _ in 0..TRIES {
        if finish(handle, journal)? {
            return Ok(());
        }
    }
    Err(StoreError::Conflict { task: TaskId::number(0) })
}

/// Writes out what is in the journal and not in the files. Returns false where somebody wrote at the same moment.
fn finish<F: Form>(handle: &Handle<F>, journal: &Journal) -> Result<bool, StoreError> {
    let newest = journal.newest()?;
    let pending = newest_of_each(journal, applied(Some(journal))?)?;
    if pending.is_empty() {
        return Ok(true);
    }
    tracing::info!(tasks = pending.len(), "finishing a commit that its writer did not finish");
    let form = &*handle.form;
    let raw = form.load(&handle.path)?;
    let known = journal.forms()?;
    let forms = raw.as_ref().map(|raw| form.forms(raw)).unwrap_or_default();
    let mut changes = Changes::new();
    let mut rebased: BTreeMap<TaskId, (Option<Image>, Image)> = BTreeMap::new();
    for entry in &pending {
        let is_done = match known.get(&entry.task) {
            Some(formed) => formed.form.as_ref() == forms.get(&entry.task),
            None => !forms.contains_key(&entry.task),
        };
        if is_done {
            continue;
        }
        let task = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok());
        let now = raw.as_ref().filter(|_| forms.contains_key(&entry.task));
        let now = now.and_then(|raw| form.read(raw, &entry.task).ok());
        let before = entry.before.as_ref().and_then(|image| image.task(&entry.task).ok());
        let task = match (task, now, before) {
            // Somebody else wrote since: what was to be changed is changed in what they wrote.
            (Some(after), Some(now), Some(before)) if now != before && now != after => {
                let merged = rebase_by(entry.op, &before, &after, &now);
                if merged != after
                    && let Ok(image) = native::write(entry.after.as_ref(), &merged, Rules::Strict)
                {
                    rebased.insert(entry.task.clone(), (entry.after.clone(), image));
                }
                Some(merged)
            }
            (task, _, _) => task,
        };
        changes.insert(entry.task.clone(), task);
    }
    let after = form.change(raw.as_ref(), &changes, clock::now());
    if !form.is_still(&handle.path, raw.as_ref()) {
        return Ok(false);
    }
    form.save(&handle.path, raw.as_ref(), &after)?;
    let transaction = journal.begin()?;
    for (task, written) in form.forms(&after).into_iter().filter(|(task, _)| changes.contains_key(task)) {
        if let Some(formed) = known.get(&task) {
            journal.set_form(&task, &Formed { form: Some(written), image: formed.image.clone() })?;
        }
    }
    let mut revision = newest;
    if !rebased.is_empty() {
        revision = newest.next();
        let written = form.forms(&after);
        let outside: Vec<Outside> = rebased
            .into_iter()
            .map(|(task, (before, image))| {
                let form = written.get(&task).cloned();
                Outside { task, before, after: Some(Formed { form, image }) }
            })
            .collect();
        observe::record(journal, &outside, revision)?;
    }
    journal.set_fact(APPLIED, revision.0.cast_signed())?;
    journal.end(transaction)?;
    Ok(true)
}

/// Later entries of a task make earlier ones of no account. What other programs did is done already.
fn newest_of_each(journal: &Journal, applied: taskyard_core::Revision) -> Result<Vec<Entry>, StoreError> {
    let mut newest: BTreeMap<TaskId, Entry> = BTreeMap::new();
    for stored in journal.after(applied)?.into_iter().filter(|stored| !stored.entry.op.is_elsewhere()) {
        let earlier = newest.remove(&stored.entry.task);
        let before = earlier.map_or(stored.entry.before.clone(), |earlier| earlier.before);
        newest.insert(stored.entry.task.clone(), Entry { before, ..stored.entry });
    }
    Ok(newest.into_values().collect())
}
