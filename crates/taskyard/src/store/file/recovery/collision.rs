//! A new task whose number another program took between our journal and our rename.
//!
//! It can happen only to a writer that was suspended past the life of its lock, or killed and overtaken. The task keeps
//! everything but its number; a further revision says so.

use std::collections::HashMap;
use std::os::fd::AsFd;

use taskyard_core::dialect::native;
use taskyard_core::rules::changes::numbering::{Numbers, next_ids};
use taskyard_core::{AgentName, Entry, Image, Op, Revision, Rules, TaskId, Timestamp};

use super::found_files::{contents, write_temporary};
use crate::clock;
use crate::store::file::reading::files::Contents;
use crate::store::file::reading::hidden;
use crate::store::file::reading::numbers;
use crate::store::journal::{Journal, Known, NewEntry, StoredEntry};
use crate::store::locks::turn::WriteTurn;
use crate::store::{Signature, StoreError};

/// Returns the fact under which the journal remembers what a task's creation became.
fn fact(revision: Revision, task: &TaskId) -> String {
    format!("renumbered {revision} {task}")
}

/// Returns the revision and the number a task got instead.
pub(in crate::store) fn renumbered(
    journal: &Journal,
    revision: Revision,
    task: &TaskId,
) -> Result<Option<(Revision, TaskId)>, StoreError> {
    let words: Option<String> = journal.fact(&fact(revision, task))?;
    Ok(words.as_deref().and_then(|words| {
        let (revision, number) = words.split_once(' ')?;
        Some((Revision(revision.parse().ok()?), TaskId::number(number.parse().ok()?)))
    }))
}

/// Gives the new tasks whose names are taken other numbers, in a further revision, and returns whether there were some.
/// `pending` is what may not have been written out; a part of it is known to wait.
pub(in crate::store) fn renumber(
    turn: &WriteTurn,
    journal: &Journal,
    rules: Rules,
    pending: &[StoredEntry],
    is_waiting: impl Fn(&StoredEntry) -> bool,
) -> Result<bool, StoreError> {
    let is_new = |entry: &Entry| entry.before.is_none() && entry.after.is_some();
    let mut taken = Vec::new();
    for stored in pending.iter().filter(|stored| is_new(&stored.entry) && is_waiting(stored)) {
        let found = contents(turn, &stored.entry.task)?;
        // A link that leads nowhere holds nothing, and has the name nevertheless.
        let is_there = !matches!(found, Contents::Missing) || has_a_file(turn, &stored.entry.task)?;
        if is_there && found.image().map(|(image, _)| image) != stored.entry.after.as_ref() {
            taken.push((stored, found));
        }
    }
    if taken.is_empty() {
        return Ok(false);
    }
    write_revision(turn, journal, rules, pending, &taken)?;
    Ok(true)
}

fn write_revision(
    turn: &WriteTurn,
    journal: &Journal,
    rules: Rules,
    pending: &[StoredEntry],
    taken: &[(&StoredEntry, Contents)],
) -> Result<(), StoreError> {
    let old = taken.iter().map(|(stored, _)| stored.entry.task.clone());
    let new_ids: HashMap<TaskId, TaskId> = old.zip(free_ids(turn, journal, taken.len())?).collect();
    let newest = journal.newest()?;
    let [elsewhere, ours] = [newest.next(), newest.next().next()];
    let at = clock::now();
    let transaction = journal.begin()?;
    journal_theirs(journal, elsewhere, at, taken)?;
    let mut renamed = Vec::new();
    // Also those that have been written out: they may wait for, or be waited for by, one that gets another number.
    for stored in pending {
        let task = new_ids.get(&stored.entry.task).unwrap_or(&stored.entry.task);
        let Some(image) = with_new_ids(stored, task, &new_ids, rules) else { continue };
        let look = write_temporary(turn, task, &image)?;
        let (seen, mode) = (look.print.mtime, Some(look.mode));
        journal.set_known(task, &Known { print: look.print, seen, image: image.clone(), mode })?;
        renamed.push((task, &stored.entry, image, look.print.inode));
    }
    let entries: Vec<NewEntry<'_>> = renamed
        .iter()
        .map(|(task, entry, image, inode)| NewEntry {
            task,
            op: entry.op,
            // Of what stays under its name, the journal has already what the commit made of it.
            before: entry.after.as_ref().filter(|_| **task == entry.task),
            after: Some(image),
            inode: Some(*inode),
            mode: None,
        })
        .collect();
    let first = &taken[0].0.entry;
    journal.append(ours, at, &Signature::new(first.actor.clone(), first.op), &entries)?;
    for (stored, _) in taken {
        let (old, new) = (&stored.entry.task, &new_ids[&stored.entry.task]);
        tracing::warn!(task = %old, now = %new, "a new task's number was taken by another program; it got another one");
        journal.set_fact(&fact(stored.entry.revision, old), format!("{ours} {new}"))?;
    }
    journal.end(transaction)
}

/// Returns ids under which there is nothing.
fn free_ids(turn: &WriteTurn, journal: &Journal, count: usize) -> Result<Vec<TaskId>, StoreError> {
    let numbers = Numbers {
        highest_file: numbers::scan(turn.directory.as_fd(), &turn.place.directory)?,
        mark: numbers::mark(&turn.place.directory),
        journaled: journal.standing()?.highest_number as f64,
    };
    let ids: Vec<TaskId> = next_ids(numbers, Rules::Strict).take(count).collect();
    for id in &ids {
        if has_a_file(turn, id)? {
            return Err(StoreError::NoNumberLeft);
        }
    }
    if ids.len() < count { Err(StoreError::NoNumberLeft) } else { Ok(ids) }
}

fn has_a_file(turn: &WriteTurn, id: &TaskId) -> Result<bool, StoreError> {
    let found = hidden::find(&turn.place, turn.directory.as_fd(), id);
    Ok(found.map_err(StoreError::io("cannot look at", turn.place.task_file(id)))?.1.is_some())
}

/// Journals what the other program wrote under the names that were to be ours.
fn journal_theirs(
    journal: &Journal,
    revision: Revision,
    at: Timestamp,
    taken: &[(&StoredEntry, Contents)],
) -> Result<(), StoreError> {
    let entries: Vec<NewEntry<'_>> = taken
        .iter()
        .map(|(stored, found)| NewEntry {
            task: &stored.entry.task,
            op: Op::ChangedElsewhere,
            before: stored.entry.after.as_ref(),
            after: found.image().map(|(image, _)| image),
            inode: None,
            mode: None,
        })
        .collect();
    journal.append(revision, at, &Signature::new(AgentName::elsewhere(), Op::ChangedElsewhere), &entries)?;
    for (stored, found) in taken {
        match found.image() {
            Some((image, look)) => {
                let (seen, mode) = (look.print.mtime, Some(look.mode));
                let known = Known { print: look.print, seen, image: image.clone(), mode };
                journal.set_known(&stored.entry.task, &known)?;
            }
            None => journal.forget(&stored.entry.task)?,
        }
    }
    Ok(())
}

/// Returns the contents a task of a commit gets when some of them have other numbers; none where nothing changes.
fn with_new_ids(stored: &StoredEntry, id: &TaskId, new_ids: &HashMap<TaskId, TaskId>, rules: Rules) -> Option<Image> {
    let after = stored.entry.after.as_ref()?;
    let mut task = after.task(&stored.entry.task).ok()?;
    for edge in task.blocks.iter_mut().chain(&mut task.blocked_by) {
        if let Some(new) = new_ids.get(edge) {
            *edge = new.clone();
        }
    }
    task.id = id.clone();
    let written = native::write(Some(after), &task, rules).ok()?;
    (written != *after).then_some(written)
}
