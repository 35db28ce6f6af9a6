//! The commit: everything staged happens, or nothing does.
//!
//! In order: what the files will be, a second look at them, the journal (from here on the commit exists), the files, the note that
//! they are written.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use taskyard_core::{Entry, Event, Image, Remark, Revision, TaskId, Timestamp};

use super::form::{Changes, Form};
use super::looking::MARK;
use super::observe;
use super::rewriting;
use super::txn::TranslatedTxn;
use crate::clock;
use crate::store::file::failpoint::reach;
use crate::store::sidecar::{Formed, Journal, NewEntry};
use crate::store::staged::{Kept, number_of};
use crate::store::{Signature, StoreError};

/// What is to become of one task.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) task: TaskId,
    before: Option<Image>,
    pub(super) after: Option<Arc<Kept>>,
}

/// Makes everything staged happen.
pub(super) fn commit<F: Form>(mut txn: TranslatedTxn<F>, signature: &Signature) -> Result<Option<Event>, StoreError> {
    let changes = changes(&txn);
    if changes.is_empty() {
        commit_leases(&mut txn)?;
        return Ok(None);
    }
    let (event, raw) = exist(&mut txn, &changes, signature, |_| Ok(()))?;
    write_out(txn, &event, &raw)?;
    Ok(Some(event))
}

/// Returns what is to become of each task that changes.
pub(super) fn changes<F: Form>(txn: &TranslatedTxn<F>) -> Vec<Change> {
    let changes = txn.staging.changes().into_iter();
    changes.map(|(task, before, after)| Change { task, before, after }).collect()
}

/// Makes what was staged of leases happen where no task changes.
pub(super) fn commit_leases<F: Form>(txn: &mut TranslatedTxn<F>) -> Result<(), StoreError> {
    if txn.staging.leases.changed().is_empty() && !txn.staging.leases.has_granted() {
        return Ok(());
    }
    let transaction = txn.journal().begin()?;
    txn.journal().write_leases(&txn.staging.leases)?;
    txn.journal().end(transaction)?;
    txn.sync()
}

/// Writes a commit into the journal: the moment it exists. `with` is written in the same database transaction. Returns it, and
/// what the files are to be.
pub(super) fn exist<F: Form>(
    txn: &mut TranslatedTxn<F>,
    changes: &[Change],
    signature: &Signature,
    with: impl Fn(&Journal) -> Result<(), StoreError>,
) -> Result<(Event, F::Raw), StoreError> {
    let at = clock::now();
    let form = Arc::clone(&txn.handle.form);
    let raw = form.change(txn.sight.files.raw(), &for_files(changes), at);
    let conflict = || StoreError::Conflict { task: changes[0].task.clone() };
    let is_same = form.is_still(&txn.handle.path, txn.sight.files.raw())
        && form.prepare(&txn.handle.path, txn.turn.held(), txn.sight.files.raw(), &raw)?;
    if !is_same {
        return Err(conflict());
    }
    for change in changes {
        let after = change.after.as_ref().map(|kept| kept.image.clone());
        txn.staging.leases.settle(&change.task, after.as_ref());
    }
    reach("translated: before the journal");
    let journal = txn.journal();
    let transaction = journal.begin()?;
    let newest = txn.staging.base.revision;
    if journal.newest()? != newest {
        return Err(conflict());
    }
    let seen_elsewhere = !txn.sight.outside.is_empty();
    if seen_elsewhere {
        observe::record(journal, &txn.sight.outside, newest.next())?;
    }
    let revision = if seen_elsewhere { newest.next().next() } else { newest.next() };
    journal.append(revision, at, signature, &entries(changes, signature))?;
    remember_forms(txn, journal, changes, &form.forms(&raw))?;
    rewriting::keep(journal, revision, form.rewrite(txn.sight.files.raw(), &raw))?;
    journal.write_leases(&txn.staging.leases)?;
    let removed = changes.iter().filter(|change| change.after.is_none()).map(|change| number_of(&change.task));
    let mark = removed.fold(txn.staging.mark, f64::max);
    if mark > txn.staging.base.mark {
        journal.set_fact(MARK, mark)?;
    }
    with(journal)?;
    journal.end(transaction)?;
    txn.sync()?;
    reach("translated: journaled");
    Ok((event(txn, changes, revision, at, signature), raw))
}

/// Writes a commit that exists out to the files.
pub(super) fn write_out<F: Form>(mut txn: TranslatedTxn<F>, event: &Event, raw: &F::Raw) -> Result<(), StoreError> {
    let handle = Arc::clone(&txn.handle);
    let saved = handle.form.save(&handle.path, txn.turn.held(), txn.sight.files.raw(), raw);
    if saved.map_err(|error| unfinished(&handle.path, error))? {
        reach("translated: saved");
        rewriting::note_applied(txn.journal(), event.revision)?;
    } else {
        // Somebody who knows no lock wrote since we looked, or put another file there: the commit is made over what they wrote.
        txn.repair().map_err(|error| unfinished(&handle.path, error))?;
    }
    txn.journal().copy_log();
    Ok(())
}

/// What no task can be read from has no place in the files.
fn for_files(changes: &[Change]) -> Changes {
    let task = |change: &Change| change.after.as_ref().and_then(|kept| kept.task.as_ref().ok().cloned());
    changes.iter().map(|change| (change.task.clone(), task(change))).collect()
}

/// Remembers the form of everything whose form changes; that of a task may follow from the change of another.
fn remember_forms<F: Form>(
    txn: &TranslatedTxn<F>,
    journal: &Journal,
    changes: &[Change],
    after: &BTreeMap<TaskId, Vec<u8>>,
) -> Result<(), StoreError> {
    let changed: BTreeMap<&TaskId, &Change> = changes.iter().map(|change| (&change.task, change)).collect();
    for (task, form) in after {
        let image = match changed.get(task) {
            Some(change) => change.after.as_ref().map(|kept| &kept.image),
            None if txn.sight.files.forms.get(task) == Some(form) => continue,
            None => txn.staging.base.tasks.get(task).map(|kept| &kept.image),
        };
        if let Some(image) = image {
            journal.set_form(task, &Formed { form: Some(form.clone()), image: image.clone() })?;
        }
    }
    for change in changes.iter().filter(|change| !after.contains_key(&change.task)) {
        match &change.after {
            Some(kept) => journal.set_form(&change.task, &Formed { form: None, image: kept.image.clone() })?,
            None => journal.forget_form(&change.task)?,
        }
    }
    Ok(())
}

fn entries<'a>(changes: &'a [Change], signature: &Signature) -> Vec<NewEntry<'a>> {
    let entry = |change: &'a Change| NewEntry {
        task: &change.task,
        op: signature.op,
        before: change.before.as_ref(),
        after: change.after.as_ref().map(|kept| &kept.image),
        inode: None,
        mode: None,
    };
    changes.iter().map(entry).collect()
}

fn event<F: Form>(
    txn: &TranslatedTxn<F>,
    changes: &[Change],
    revision: Revision,
    at: Timestamp,
    signature: &Signature,
) -> Event {
    let entries = changes.iter().enumerate().map(|(place, change)| Entry {
        revision,
        at,
        actor: signature.actor.clone(),
        op: signature.op,
        task: change.task.clone(),
        before: change.before.clone(),
        after: change.after.as_ref().map(|kept| kept.image.clone()),
        undoes: signature.undoes.clone(),
        remark: if place == 0 { signature.remark.clone() } else { Remark::default() },
    });
    Event { list: txn.handle.list.clone(), revision, entries: entries.collect() }
}

/// Says that a commit exists, and what kept it from the files.
fn unfinished(path: &std::path::Path, error: StoreError) -> StoreError {
    let (doing, path, source) = match error {
        StoreError::Unfinished { .. } => return error,
        StoreError::Io { doing, path, source } => (doing, path, source),
        other => ("cannot write to", path.to_owned(), io::Error::other(other)),
    };
    StoreError::Unfinished { doing, path, source }
}
