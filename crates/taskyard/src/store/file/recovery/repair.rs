//! Finishing what a dead or suspended writer began: a commit that is in the journal is carried out in full.
//!
//! Whether one file of a commit was already written is told without doubt. A rewrite was done when its temporary file is
//! gone; a removal was done when the file that was to be removed is gone. Both are recognised by their inodes, which the
//! journal holds; what another program wrote since does not change them. In a copy of a home all inodes are others: there
//! the contents tell.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use taskyard_core::rules::changes::numbering::counted;
use taskyard_core::{AgentName, Entry, Event, Image, Op, Revision, Rules, TaskId};

use super::collision;
use super::found_files::{clear_away, contents, copied_temporaries, is_blank, name_in_use, rebased, temporaries};
use crate::clock;
use crate::failpoint::reach;
use crate::store::file::marks::{mark_applied, raise_mark};
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::numbers;
use crate::store::journal::{Journal, NewEntry, StoredEntry};
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
        if !collision::renumber(turn, journal, rules, &pending, |stored| is_waiting(stored, &temporaries))? {
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
            if let Some((revision, new)) = collision::renumbered(journal, entry.revision, &entry.task)? {
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
