//! Finishing what a dead or suspended writer began: a commit that is in the journal is carried out in full.
//!
//! Whether one file of a commit was already written is told without doubt. A rewrite was done when its temporary file is
//! gone; a removal was done when the file that was to be removed is gone. Both are recognised by their inodes, which the
//! journal holds; what another program wrote since does not change them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType};
use taskyard_core::rules::rebasing::rebase;
use taskyard_core::{Entry, Event, Image, Op, Revision, Rules, TaskId};

use super::applying::{mark_applied, raise_mark};
use super::collision;
use super::failpoint::reach;
use super::files::{self, Contents};
use super::fingerprint::look_at;
use super::journal::{Journal, StoredEntry};
use super::numbers;
use super::place::{self, OURS, c_name, file_name};
use super::turn::Turn;
use crate::store::StoreError;

/// Finishes what was begun, where something was.
pub(super) fn repair(turn: &mut Turn, journal: &mut Journal, rules: Rules) -> Result<(), StoreError> {
    let newest = journal.newest()?;
    if turn.state.turns == 1 {
        // The words our processes leave each other are new, or were lost: there is nothing to tell what was not written out.
        turn.state.applied = turn.state.applied.max(newest.0);
    }
    if turn.is_after_a_death {
        super::pair::finish_noted_moves(turn, journal)?;
    }
    if turn.is_after_a_death || turn.state.applied < newest.0 || turn.state.sequence % 2 == 1 {
        finish(turn, journal, rules)?;
    }
    Ok(())
}

/// Carries out every commit that is in the journal and not in every file, and clears away what its writer left.
pub(super) fn finish(turn: &mut Turn, journal: &mut Journal, rules: Rules) -> Result<(), StoreError> {
    let temporaries = temporaries(turn)?;
    while let Some(renumbered) = collision::renumber(turn, journal, rules, &temporaries)? {
        tracing::warn!(task = %renumbered, "a new task's number was taken by another program; it got another one");
    }
    let temporaries = self::temporaries(turn)?;
    let pending = newest_of_each(journal.after(Revision(turn.state.applied))?);
    if !pending.is_empty() {
        tracing::info!(tasks = pending.len(), "finishing a commit that its writer did not finish");
    }
    let touched: Vec<TaskId> = pending.iter().map(|stored| stored.entry.task.clone()).collect();
    let existing: Vec<TaskId> = touched.into_iter().filter(|id| turn.place.task_file(id).exists()).collect();
    turn.lock_tasks(&existing)?;
    for stored in &pending {
        reach("repair: before a file");
        match &stored.entry.after {
            Some(after) => finish_rewrite(turn, stored, after, &temporaries, rules)?,
            None => finish_removal(turn, stored)?,
        }
        reach("repair: after a file");
    }
    turn.unlock_tasks();
    clear_away(turn)?;
    reach("repair: cleared away");
    mark_applied(turn, journal.newest()?)
}

/// Returns the commit as it became, should a task have got another number on the way.
pub(super) fn as_it_became(journal: &Journal, event: Event) -> Result<Event, StoreError> {
    let created = event.entries.iter().find(|entry| entry.before.is_none());
    let renumbered: Option<i64> = match created {
        Some(entry) => journal.fact(&collision::fact(event.revision, &entry.task))?,
        None => None,
    };
    let Some(revision) = renumbered.map(|revision| Revision(revision.unsigned_abs())) else { return Ok(event) };
    let since = Revision(revision.0 - 1);
    let entries: Vec<Entry> = journal
        .after(since)?
        .into_iter()
        .map(|stored| stored.entry)
        .filter(|entry| entry.revision == revision && !entry.op.is_elsewhere())
        .collect();
    Ok(Event { revision, entries, ..event })
}

/// Returns our temporary files, by their inodes.
pub(super) fn temporaries(turn: &Turn) -> Result<HashMap<u64, CString>, StoreError> {
    let directory = turn.directory.as_fd();
    let mut found = HashMap::new();
    for name in ours(turn)? {
        if let Ok(Some(look)) = look_at(directory, &name)
            && look.kind == FileType::RegularFile
        {
            found.insert(look.print.inode, name);
        }
    }
    Ok(found)
}

fn ours(turn: &Turn) -> Result<Vec<CString>, StoreError> {
    let names = place::names(turn.directory.as_fd(), &turn.place.directory)?;
    Ok(names.into_iter().filter(|name| name.starts_with(OURS)).map(|name| c_name(&name)).collect())
}

/// Later entries of a task make earlier ones of no account; what other programs did is done already.
fn newest_of_each(entries: Vec<StoredEntry>) -> Vec<StoredEntry> {
    let mut newest: BTreeMap<TaskId, StoredEntry> = BTreeMap::new();
    for stored in entries {
        newest.insert(stored.entry.task.clone(), stored);
    }
    newest.into_values().filter(|stored| !stored.entry.op.is_elsewhere()).collect()
}

fn finish_rewrite(
    turn: &Turn,
    stored: &StoredEntry,
    after: &Image,
    temporaries: &HashMap<u64, CString>,
    rules: Rules,
) -> Result<(), StoreError> {
    let id = &stored.entry.task;
    let Some(temporary) = stored.inode.and_then(|inode| temporaries.get(&inode)) else { return Ok(()) };
    let directory = turn.directory.as_fd();
    let path = turn.place.task_file(id);
    let now = files::read(directory, id).map_err(StoreError::io("cannot read", &path))?;
    let before = stored.entry.before.as_ref();
    let renamed = match now.image() {
        Some((found, _)) if before != Some(found) && found != after => {
            // Somebody wrote in between: what we changed is changed in what they wrote.
            let image = rebased(id, before, after, found, rules).unwrap_or_else(|| after.clone());
            files::replace(directory, &file_name(id), image.bytes())
        }
        _ => rustix::fs::renameat(directory, &**temporary, directory, &*file_name(id)).map_err(Into::into),
    };
    renamed.map_err(StoreError::io("cannot write", &path))
}

/// Applies to newer contents what a change did to older ones.
fn rebased(id: &TaskId, before: Option<&Image>, after: &Image, now: &Image, rules: Rules) -> Option<Image> {
    let merged = rebase(&before?.task(id).ok()?, &after.task(id).ok()?, &now.task(id).ok()?);
    taskyard_core::dialect::native::write(Some(now), &merged, rules).ok()
}

fn finish_removal(turn: &Turn, stored: &StoredEntry) -> Result<(), StoreError> {
    let id = &stored.entry.task;
    let path = turn.place.task_file(id);
    let look = look_at(turn.directory.as_fd(), &file_name(id)).map_err(StoreError::io("cannot look at", &path))?;
    let Some(look) = look else { return Ok(()) };
    if stored.inode.is_some_and(|inode| inode != look.print.inode) {
        return Ok(());
    }
    if let Some(number) = taskyard_core::dialect::native::parse_int(id.as_str())
        && number > numbers::mark(&turn.place.directory)
    {
        raise_mark(turn, number)?;
    }
    rustix::fs::unlinkat(&*turn.directory, &*file_name(id), AtFlags::empty())
        .map_err(|error| StoreError::io("cannot remove", &path)(error.into()))
}

/// Removes the temporary files and set-aside locks of ours that nobody needs any more.
fn clear_away(turn: &Turn) -> Result<(), StoreError> {
    for name in ours(turn)? {
        if rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::empty()).is_err() {
            let _ = rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}

/// Reads what a file holds, for whoever decides what became of a commit.
pub(super) fn contents(turn: &Turn, id: &TaskId) -> Result<Contents, StoreError> {
    files::read(turn.directory.as_fd(), id).map_err(StoreError::io("cannot read", turn.place.task_file(id)))
}

/// Writes contents to a temporary file and returns its inode.
pub(super) fn write_temporary(turn: &Turn, id: &TaskId, image: &Image) -> Result<u64, StoreError> {
    files::write_temporary(turn.directory.as_fd(), image, None)
        .map(|(_, look)| look.print.inode)
        .map_err(StoreError::io("cannot write", turn.place.task_file(id)))
}

/// Tells whether an entry made a new task.
pub(super) fn is_creation(entry: &Entry) -> bool {
    entry.before.is_none() && entry.after.is_some() && entry.op != Op::CreatedElsewhere
}
