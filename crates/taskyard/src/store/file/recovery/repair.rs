//! Finishing what a dead or suspended writer began: a commit that is in the journal is carried out in full.
//!
//! Whether one file of a commit was already written is told without doubt. A rewrite was done when its temporary file is
//! gone; a removal was done when the file that was to be removed is gone. Both are recognised by their inodes, which the
//! journal holds; what another program wrote since does not change them. In a copy of a home all inodes are others: there
//! the contents tell.
//!
//! Another program may have taken the number of a new task between our journal and our rename. That can happen only to a writer that was
//! suspended past the life of its lock, or killed and overtaken. The task keeps everything but its number; a further revision says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use taskyard_core::dialect::native;
use taskyard_core::rules::changes::numbering::{Numbers, counted, next_ids};
use taskyard_core::{AgentName, Entry, Event, Image, Op, Revision, Rules, TaskId, Timestamp};

use super::found_files::{
    clear_away, contents, copied_temporaries, is_blank, name_in_use, rebased, temporaries, write_temporary,
};
use crate::clock;
use crate::failpoint::reach;
use crate::store::file::marks::{mark_applied, raise_mark};
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::numbers;
use crate::store::journal::{Journal, Known, NewEntry, StoredEntry};
use crate::store::locks::turn::WriteTurn;
use crate::store::new_name::rename_to_new;
use crate::store::{Signature, StoreError};

/// Finds out how far the files have followed, and takes over from a writer that died or is suspended.
pub(in crate::store) fn take_over(turn: &mut WriteTurn, journal: &Journal) -> Result<(), StoreError> {
    let newest = journal.newest()?;
    if turn.state.turns == 1 {
        // The words our processes leave each other are new, or were lost: there is nothing to tell what was not written out.
        turn.state.applied = turn.state.applied.max(newest.0);
    }
    if turn.state.applied < newest.0 {
        // Where they were damaged, the journal still knows what is on the disk.
        turn.state.applied = turn.state.applied.max(journal.fact::<i64>("flushed")?.unwrap_or(0).unsigned_abs());
    }
    if turn.is_after_a_death {
        // Its writer may only be suspended. From here on it can no longer commit what it has prepared, for we are about to
        // clear that away; what it has committed we see.
        journal.overtake()?;
        reach("repair: overtaken");
    }
    Ok(())
}

/// Finishes what was begun, if anything was. A writer may also have gone on after a failure.
pub(in crate::store) fn finish_if_behind(
    turn: &mut WriteTurn,
    journal: &mut Journal,
    rules: Rules,
    has_followed: bool,
) -> Result<(), StoreError> {
    let is_behind = has_followed || turn.state.applied < journal.newest()?.0;
    if turn.is_after_a_death || is_behind || turn.state.sequence % 2 == 1 {
        finish(turn, journal, rules)?;
    }
    Ok(())
}

/// Carries out every commit that is in the journal and not in every file, and clears away what its writer left.
fn finish(turn: &mut WriteTurn, journal: &mut Journal, rules: Rules) -> Result<(), StoreError> {
    let (pending, temporaries, is_copy) = loop {
        if needs_list_lock(&journal.after(Revision(turn.state.applied))?) {
            turn.lock_list()?;
        }
        let unfinished = journal.after(Revision(turn.state.applied))?;
        let is_copy = unfinished.last().is_some_and(|newest| journal.is_copied_since(newest.entry.at));
        let temporaries = if is_copy { copied_temporaries(turn, &unfinished)? } else { temporaries(turn)? };
        let pending = newest_of_each(unfinished, &temporaries);
        if !renumber(turn, journal, rules, &pending, |stored| is_waiting(stored, &temporaries))? {
            break (pending, temporaries, is_copy);
        }
        reach("repair: renumbered");
    };
    if !pending.is_empty() {
        tracing::info!(tasks = pending.len(), "finishing a commit that its writer did not finish");
    }
    let touched: Vec<TaskId> = pending.iter().map(|stored| stored.entry.task.clone()).collect();
    let existing: Vec<TaskId> =
        touched.into_iter().filter(|id| turn.place.file_in_use(id).symlink_metadata().is_ok()).collect();
    turn.lock_tasks(&existing)?;
    for stored in &pending {
        reach("repair: before a file");
        match &stored.entry.after {
            Some(after) => finish_rewrite(turn, stored, after, &temporaries, rules)?,
            None if stored.entry.before.is_some() => finish_removal(turn, journal, stored, is_copy)?,
            // Nothing was there, and nothing was to go.
            None => {}
        }
        reach("repair: after a file");
    }
    turn.unlock();
    clear_away(turn)?;
    reach("repair: cleared away");
    mark_applied(turn, journal.newest()?)
}

/// Tells whether some of what is to be finished makes a name or raises the mark.
fn needs_list_lock(entries: &[StoredEntry]) -> bool {
    let is_so = |entry: &Entry| entry.before.is_none() || entry.after.is_none();
    entries.iter().any(|stored| !stored.entry.op.is_elsewhere() && is_so(&stored.entry))
}

/// Returns the commit as it became, should tasks have got other numbers on the way.
pub(in crate::store) fn as_it_became(journal: &Journal, mut event: Event) -> Result<Event, StoreError> {
    loop {
        let mut new_ids = HashMap::new();
        let mut revisions = BTreeSet::new();
        for entry in &event.entries {
            if let Some((revision, new)) = renumbered(journal, entry.revision, &entry.task)? {
                revisions.insert(revision);
                new_ids.insert(entry.task.clone(), new);
            }
        }
        let (Some(first), Some(last)) = (revisions.first(), revisions.last()) else { return Ok(event) };
        let newer = journal.after(Revision(first.0 - 1))?.into_iter().map(|stored| stored.entry);
        let newer: Vec<Entry> = newer.filter(|entry| revisions.contains(&entry.revision)).collect();
        for entry in &mut event.entries {
            let task = new_ids.get(&entry.task).unwrap_or(&entry.task);
            if let Some(newer) = newer.iter().rfind(|newer| newer.task == *task) {
                // What it began with is what the whole commit began with.
                *entry = Entry { before: entry.before.take(), ..newer.clone() };
            }
        }
        event.revision = *last;
    }
}

/// Later entries of a task make earlier ones of no account, except that what an earlier one began with, and did not get to
/// change, is what the later one begins with. What other programs did is done already.
fn newest_of_each(entries: Vec<StoredEntry>, temporaries: &HashMap<u64, CString>) -> Vec<StoredEntry> {
    let mut newest: BTreeMap<TaskId, StoredEntry> = BTreeMap::new();
    for mut stored in entries {
        if let Some(earlier) = newest.remove(&stored.entry.task)
            && is_waiting(&earlier, temporaries)
            && !stored.entry.op.is_elsewhere()
        {
            stored.entry.before = earlier.entry.before;
        }
        newest.insert(stored.entry.task.clone(), stored);
    }
    newest.into_values().filter(|stored| !stored.entry.op.is_elsewhere()).collect()
}

/// Tells whether the file that is to take a task's place still waits.
fn is_waiting(stored: &StoredEntry, temporaries: &HashMap<u64, CString>) -> bool {
    stored.inode.is_some_and(|inode| temporaries.contains_key(&inode))
}

fn finish_rewrite(
    turn: &WriteTurn,
    stored: &StoredEntry,
    after: &Image,
    temporaries: &HashMap<u64, CString>,
    rules: Rules,
) -> Result<(), StoreError> {
    let id = &stored.entry.task;
    let Some(temporary) = stored.inode.and_then(|inode| temporaries.get(&inode)) else { return Ok(()) };
    let directory = turn.directory.as_fd();
    let path = turn.place.task_file(id);
    let name = name_in_use(turn, id)?;
    let now = contents(turn, id)?;
    let before = stored.entry.before.as_ref();
    let renamed = match &now {
        // Another program removed it in between. What was changed in it is gone with it, as if that program had come a moment later.
        Contents::Missing if before.is_some() => Ok(()),
        Contents::Missing => rename_to_new(directory, &**temporary, &*name),
        // Another program took the name of a new task in this very instant; it gets another the next time.
        found if before.is_none() && found.image().map(|(image, _)| image) != Some(after) => {
            return Err(StoreError::Conflict { task: id.clone() });
        }
        // Another program put something there that is no task: we leave it alone.
        Contents::Broken(why, found) if !found.as_ref().is_some_and(|(image, _)| is_blank(image)) => {
            tracing::warn!(task = %id, %why, "a change is not written over what no task can be read from");
            Ok(())
        }
        Contents::Task(_, found, _) if before != Some(found) && found != after => {
            // Another program wrote in between: what we changed is changed in what it wrote.
            let image = rebased(stored.entry.op, id, before, after, found, rules);
            files::replace(directory, &name, image.bytes())
        }
        _ => rustix::fs::renameat(directory, &**temporary, directory, &*name).map_err(Into::into),
    };
    match renamed {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(StoreError::Conflict { task: id.clone() }),
        renamed => renamed.map_err(StoreError::io("cannot write", &path)),
    }
}

fn finish_removal(turn: &WriteTurn, journal: &Journal, stored: &StoredEntry, is_copy: bool) -> Result<(), StoreError> {
    let id = &stored.entry.task;
    let path = turn.place.task_file(id);
    let now = contents(turn, id)?;
    let Some((found, look)) = now.image() else { return Ok(()) };
    // A number of an inode is soon used again, by a file that was made after the removal was decided on.
    let is_younger = look.born / 1_000_000 > stored.entry.at.0;
    let is_another = is_younger || stored.inode.is_some_and(|inode| inode != look.print.inode);
    let is_unchanged = stored.entry.before.as_ref() == Some(found);
    let is_done = if is_copy { !is_unchanged } else { is_another };
    if is_done {
        return Ok(());
    }
    if !is_unchanged {
        journal_last_write(journal, stored, found)?;
        reach("repair: last write journaled");
    }
    if let Some(number) = counted(id.as_str())
        && number > numbers::mark(&turn.place.directory)
    {
        raise_mark(turn, number)?;
    }
    rustix::fs::unlinkat(&*turn.directory, &*name_in_use(turn, id)?, AtFlags::empty())
        .map_err(|error| StoreError::io("cannot remove", &path)(error.into()))
}

/// Journals what another program wrote to a file between the decision to remove it and the removal, so that a restore brings
/// that back, too.
fn journal_last_write(journal: &Journal, stored: &StoredEntry, found: &Image) -> Result<(), StoreError> {
    let Entry { task, op, actor, .. } = &stored.entry;
    let at = clock::now();
    let transaction = journal.begin()?;
    let written = journal.newest()?.next();
    let entry = |op, before, after| NewEntry { task, op, before, after, inode: stored.inode, mode: stored.mode };
    let theirs = Signature::new(AgentName::elsewhere(), Op::CreatedElsewhere);
    journal.append(written, at, &theirs, &[entry(Op::CreatedElsewhere, None, Some(found))])?;
    journal.append(written.next(), at, &Signature::new(actor.clone(), *op), &[entry(*op, Some(found), None)])?;
    journal.end(transaction)
}

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
    let found = files::find(&turn.place, turn.directory.as_fd(), id);
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
