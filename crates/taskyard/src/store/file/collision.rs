//! A new task whose number another program took between our journal and our rename.
//!
//! It can happen only to a writer that was suspended past the life of its lock, or killed and overtaken. The task keeps
//! everything but its number; a further revision says so.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::AsFd;

use taskyard_core::dialect::native;
use taskyard_core::rules::numbering::{Numbers, next_id};
use taskyard_core::{AgentName, Image, Op, Revision, Rules, TaskId};

use super::clock;
use super::files::{self, Contents};
use super::journal::{Journal, Known, NewEntry, StoredEntry};
use super::numbers;
use super::repair::{contents, is_creation};
use super::turn::Turn;
use crate::store::{Signature, StoreError};

/// Returns the fact under which the journal remembers what a task's creation became.
pub(super) fn fact(revision: Revision, task: &TaskId) -> String {
    format!("renumbered {revision} {task}")
}

/// Gives the first new task whose name is taken another number, in a further revision, and returns its old one.
pub(super) fn renumber(
    turn: &Turn,
    journal: &Journal,
    rules: Rules,
    temporaries: &HashMap<u64, CString>,
) -> Result<Option<TaskId>, StoreError> {
    let pending = journal.after(Revision(turn.state.applied))?;
    let is_waiting = |stored: &StoredEntry| stored.inode.is_some_and(|inode| temporaries.contains_key(&inode));
    for stored in pending.iter().filter(|stored| is_creation(&stored.entry) && is_waiting(stored)) {
        let task = &stored.entry.task;
        if journal.fact::<i64>(&fact(stored.entry.revision, task))?.is_some() {
            continue;
        }
        let found = contents(turn, task)?;
        if !matches!(found, Contents::Missing) && found.image().map(|(image, _)| image) != stored.entry.after.as_ref() {
            write_revision(turn, journal, rules, &pending, stored, &found)?;
            return Ok(Some(task.clone()));
        }
    }
    Ok(None)
}

fn write_revision(
    turn: &Turn,
    journal: &Journal,
    rules: Rules,
    pending: &[StoredEntry],
    created: &StoredEntry,
    found: &Contents,
) -> Result<(), StoreError> {
    let old = &created.entry.task;
    let new = next_id(
        Numbers {
            highest_file: numbers::scan(turn.directory.as_fd(), &turn.place.directory)?,
            mark: numbers::mark(&turn.place.directory),
            journaled: journal.highest_number()? as f64,
        },
        Rules::Strict,
    );
    let newest = journal.newest()?;
    let [elsewhere, ours] = [newest.next(), newest.next().next()];
    let at = clock::now();
    let transaction = journal.begin()?;
    let theirs = found.image();
    let entry = NewEntry {
        task: old,
        op: Op::ChangedElsewhere,
        before: created.entry.after.as_ref(),
        after: theirs.map(|(image, _)| image),
        inode: None,
    };
    journal.append(elsewhere, at, &Signature::new(AgentName::elsewhere(), Op::ChangedElsewhere), &[entry])?;
    match theirs {
        Some((image, look)) => {
            journal.set_known(old, &Known { print: look.print, seen: look.print.mtime, image: image.clone() })?;
        }
        None => journal.forget(old)?,
    }
    let mut renamed = Vec::new();
    for stored in pending.iter().filter(|stored| stored.entry.revision == created.entry.revision) {
        let task = if stored.entry.task == *old { &new } else { &stored.entry.task };
        let Some(image) = with_new_id(stored, old, &new, rules) else { continue };
        let (_, look) = files::write_temporary(turn.directory.as_fd(), &image, None)
            .map_err(StoreError::io("cannot write", turn.place.task_file(task)))?;
        journal.set_known(task, &Known { print: look.print, seen: look.print.mtime, image: image.clone() })?;
        renamed.push((task.clone(), stored.entry.clone(), image, look.print.inode));
    }
    let entries: Vec<NewEntry<'_>> = renamed
        .iter()
        .map(|(task, entry, image, inode)| NewEntry {
            task,
            op: entry.op,
            before: entry.before.as_ref(),
            after: Some(image),
            inode: Some(*inode),
        })
        .collect();
    let signature = Signature::new(created.entry.actor.clone(), created.entry.op);
    journal.append(ours, at, &signature, &entries)?;
    journal.set_fact(&fact(created.entry.revision, old), ours.0.cast_signed())?;
    journal.end(transaction)
}

/// Returns the contents a task of the same commit gets when one of them has another number.
fn with_new_id(stored: &StoredEntry, old: &TaskId, new: &TaskId, rules: Rules) -> Option<Image> {
    let after = stored.entry.after.as_ref()?;
    let mut task = after.task(&stored.entry.task).ok()?;
    for edge in task.blocks.iter_mut().chain(&mut task.blocked_by).filter(|edge| *edge == old) {
        *edge = new.clone();
    }
    if stored.entry.task == *old {
        task.id = new.clone();
    }
    let written = native::write(Some(after), &task, rules).ok()?;
    (written != *after).then_some(written)
}
