//! Recovery: completes commits that a dead or suspended writer left in the journal but not in all files, and rewrites
//! what a power loss undid.
//!
//! Whether one file of a commit was already written can be determined reliably. A rewrite is done if its temporary file
//! is gone; a removal is done if the file to be removed is gone. Both are identified by inode, which the journal
//! records and which later writes by other programs do not change. In a copied home directory all inodes differ; there
//! the contents decide.
//!
//! Another program may have taken the number of a new task between our journal write and our rename. This happens only
//! to a writer that was suspended for longer than its lock lives, or was killed and overtaken. The task keeps
//! everything but its number, and a further revision records the change.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::{fs, io};

use rustix::fs::{AtFlags, FileType};
use taskyard_core::dialect::native;
use taskyard_core::rules::changes::numbering::{Numbers, counted, highest, next_ids};
use taskyard_core::rules::changes::patching::rebase_by;
use taskyard_core::{AgentName, Entry, Event, Image, Op, Revision, Rules, TaskId, Timestamp};

use crate::failpoint::reach;
use crate::store::engine::finish_noted_moves;
use crate::store::file::client_files::Handle;
use crate::store::file::flush;
use crate::store::file::marks::{mark_applied, raise_mark};
use crate::store::file::reading::files;
use crate::store::file::reading::files::Contents;
use crate::store::file::reading::observe::journal_outside_changes;
use crate::store::journal::{Journal, Known, Move, NewEntry, StoredEntry, remember_boot};
use crate::store::list_directories::rename_to_new;
use crate::store::locks::client_lock::LIFE;
use crate::store::locks::list_paths::{Look, OURS, c_name, look_at};
use crate::store::locks::turn::WriteTurn;
use crate::store::locks::{client_lock, list_paths};
use crate::store::{Signature, StoreError};
use crate::system;

/// Determines how far the files have followed the journal, and takes over from a writer that died or is suspended.
pub(in crate::store) fn take_over(turn: &mut WriteTurn, journal: &Journal) -> Result<(), StoreError> {
    let newest = journal.newest()?;
    if turn.state.turns == 1 {
        // The turn record is new or was lost: nothing indicates unapplied commits.
        turn.state.applied = turn.state.applied.max(newest.0);
    }
    if turn.state.applied < newest.0 {
        // If the turn record was damaged, the journal still knows what has been flushed.
        turn.state.applied = turn.state.applied.max(journal.fact::<i64>("flushed")?.unwrap_or(0).unsigned_abs());
    }
    if turn.is_after_a_death {
        // The writer may only be suspended. From here on it can no longer commit what it has prepared, because we are
        // about to remove its temporary files; what it has already committed is visible to us.
        journal.overtake()?;
        reach("repair: overtaken");
    }
    Ok(())
}

/// Completes unfinished commits, if there are any. A writer may also have continued after an error.
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

/// Carries out every commit that is in the journal but not in every file, and removes the temporary files of its
/// writer.
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
            // Nothing existed, and nothing was to be removed.
            None => {}
        }
        reach("repair: after a file");
    }
    turn.unlock();
    clear_away(turn)?;
    reach("repair: cleared away");
    mark_applied(turn, journal.newest()?)
}

/// Returns whether any of the commits to finish creates a name or raises the high-water mark.
fn needs_list_lock(entries: &[StoredEntry]) -> bool {
    let is_so = |entry: &Entry| entry.before.is_none() || entry.after.is_none();
    entries.iter().any(|stored| !stored.entry.op.is_elsewhere() && is_so(&stored.entry))
}

/// Returns the commit's actual outcome, in case tasks were renumbered on the way.
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
                // The original contents are those from before the whole commit.
                *entry = Entry { before: entry.before.take(), ..newer.clone() };
            }
        }
        event.revision = *last;
    }
}

/// Keeps only the last entry of each task. If an earlier entry was not applied, its previous contents become those of
/// the later one. Changes by other programs are already in the files.
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

/// Returns whether the temporary file that is to replace a task's file still exists.
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
        // Another program removed the file in the meantime. Our change is lost with it, as if that program had acted a
        // moment later.
        Contents::Missing if before.is_some() => Ok(()),
        Contents::Missing => rename_to_new(directory, &**temporary, &*name),
        // Another program just took the name of a new task; the next attempt renumbers the task.
        found if before.is_none() && found.image().map(|(image, _)| image) != Some(after) => {
            return Err(StoreError::Conflict { task: id.clone() });
        }
        // Another program wrote something there that cannot be read as a task: leave it alone.
        Contents::Broken(why, found) if !found.as_ref().is_some_and(|(image, _)| is_blank(image)) => {
            tracing::warn!(task = %id, %why, "a change is not written over what no task can be read from");
            Ok(())
        }
        Contents::Task(_, found, _) if before != Some(found) && found != after => {
            // Another program wrote in the meantime: apply our change to what it wrote.
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
    // An inode number is soon reused by a file that was created after the removal was decided.
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
        && number > files::mark(&turn.place.directory)
    {
        raise_mark(turn, number)?;
    }
    rustix::fs::unlinkat(&*turn.directory, &*name_in_use(turn, id)?, AtFlags::empty())
        .map_err(|error| StoreError::io("cannot remove", &path)(error.into()))
}

/// Journals what another program wrote to a file between the decision to remove it and its removal, so that a restore
/// can bring this back as well.
fn journal_last_write(journal: &Journal, stored: &StoredEntry, found: &Image) -> Result<(), StoreError> {
    let Entry { task, op, actor, .. } = &stored.entry;
    let at = system::now();
    let transaction = journal.begin()?;
    let written = journal.newest()?.next();
    let entry = |op, before, after| NewEntry { task, op, before, after, inode: stored.inode, mode: stored.mode };
    let theirs = Signature::new(AgentName::elsewhere(), Op::CreatedElsewhere);
    journal.append(written, at, &theirs, &[entry(Op::CreatedElsewhere, None, Some(found))])?;
    journal.append(written.next(), at, &Signature::new(actor.clone(), *op), &[entry(*op, Some(found), None)])?;
    journal.end(transaction)
}

/// Returns the key under which the journal records how a new task was renumbered.
fn fact(revision: Revision, task: &TaskId) -> String {
    format!("renumbered {revision} {task}")
}

/// Returns the revision and number that a task was given instead, if it was renumbered.
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

/// Renumbers new tasks whose names are taken, in a further revision. Returns whether there were any. `pending` are the
/// entries that may not have been applied; `is_waiting` tells which of them certainly have not.
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
        // A dangling link has no contents but still occupies the name.
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
    let at = system::now();
    let transaction = journal.begin()?;
    journal_theirs(journal, elsewhere, at, taken)?;
    let mut renamed = Vec::new();
    // This includes tasks already written: they may depend on a renumbered task, or it on them.
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
            // For a task that keeps its name, the journal already has what the commit made of it.
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

/// Returns unused ids.
fn free_ids(turn: &WriteTurn, journal: &Journal, count: usize) -> Result<Vec<TaskId>, StoreError> {
    let numbers = Numbers {
        highest_file: files::scan(turn.directory.as_fd(), &turn.place.directory)?,
        mark: files::mark(&turn.place.directory),
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

/// Journals what the other program wrote under the names we had chosen.
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

/// Returns the new contents of a committed task after renumbering, or `None` if nothing changes.
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

/// Returns our temporary files, keyed by inode.
pub(in crate::store) fn temporaries(turn: &WriteTurn) -> Result<HashMap<u64, CString>, StoreError> {
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

/// Returns our temporary files in a copy of the list's directory, keyed by their inodes in the original. They are
/// identified by their contents.
pub(in crate::store) fn copied_temporaries(
    turn: &WriteTurn,
    unfinished: &[StoredEntry],
) -> Result<HashMap<u64, CString>, StoreError> {
    let mut contents = HashMap::new();
    for name in temporaries(turn)?.into_values() {
        let path = turn.place.directory.join(OsStr::from_bytes(name.to_bytes()));
        let bytes = fs::read(&path).map_err(StoreError::io("cannot read", &path))?;
        contents.insert(bytes, name);
    }
    let named = |stored: &StoredEntry| {
        let name = contents.get(stored.entry.after.as_ref()?.bytes())?;
        Some((stored.inode?, name.clone()))
    };
    Ok(unfinished.iter().filter_map(named).collect())
}

fn ours(turn: &WriteTurn) -> Result<Vec<CString>, StoreError> {
    let names = list_paths::names(turn.directory.as_fd(), &turn.place.directory)?;
    Ok(names.into_iter().filter(|name| name.starts_with(OURS)).map(|name| c_name(&name)).collect())
}

/// After a power loss, file systems return files of the right name that are empty or full of zeros; writers that die
/// leave empty ones.
pub(in crate::store) fn is_blank(image: &Image) -> bool {
    image.bytes().iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace())
}

/// Removes our temporary files and set-aside locks that no process needs any more.
pub(in crate::store) fn clear_away(turn: &WriteTurn) -> Result<(), StoreError> {
    for name in ours(turn)? {
        if rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::empty()).is_err() {
            let _ = rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}

/// Reads a file's contents, to determine the outcome of a commit.
pub(in crate::store) fn contents(turn: &WriteTurn, id: &TaskId) -> Result<Contents, StoreError> {
    files::read(&turn.place, turn.directory.as_fd(), id)
        .map_err(StoreError::io("cannot read", turn.place.task_file(id)))
}

/// Returns the current name of a task's file.
pub(in crate::store) fn name_in_use(turn: &WriteTurn, id: &TaskId) -> Result<CString, StoreError> {
    let found = files::find(&turn.place, turn.directory.as_fd(), id);
    found.map(|(name, _)| name).map_err(StoreError::io("cannot look at", turn.place.task_file(id)))
}

/// Writes contents to a temporary file, with the mode of the task's existing file if there is one. Returns the metadata
/// that identifies it.
pub(in crate::store) fn write_temporary(turn: &WriteTurn, id: &TaskId, image: &Image) -> Result<Look, StoreError> {
    let found = files::find(&turn.place, turn.directory.as_fd(), id).ok().and_then(|(_, look)| look);
    files::write_temporary(turn.directory.as_fd(), image, found.map(|look| look.mode))
        .map(|(_, look)| look)
        .map_err(StoreError::io("cannot write", turn.place.task_file(id)))
}

/// Applies a change to newer contents. If that is impossible, returns the changed contents as they were.
pub(in crate::store) fn rebased(
    op: Op,
    id: &TaskId,
    before: Option<&Image>,
    after: &Image,
    now: &Image,
    rules: Rules,
) -> Image {
    let merge = || {
        if before == Some(now) {
            return None;
        }
        let merged = rebase_by(op, &before?.task(id).ok()?, &after.task(id).ok()?, &now.task(id).ok()?);
        taskyard_core::dialect::native::write(Some(now), &merged, rules).ok()
    };
    merge().unwrap_or_else(|| after.clone())
}

/// Writes the journal entries that a move should have written. The files are then updated like those of any other
/// unapplied commit.
pub(in crate::store) fn follow_move(
    turn: &WriteTurn,
    journal: &Journal,
    noted: &Move,
    rules: Rules,
) -> Result<(), StoreError> {
    let at = system::now();
    let changes: Vec<Followed<'_>> = noted
        .changes
        .iter()
        .map(|(task, after)| follow(turn, journal, task, after.as_ref(), rules))
        .collect::<Result<_, _>>()?;
    let found = changes.iter().map(|change| (change.task, change.before.as_ref(), None));
    let revision = journal.newest()?.next();
    let seen_elsewhere = journal_outside_changes(journal, &turn.place, found, revision, at)?.is_some();
    let entries: Vec<NewEntry<'_>> = changes
        .iter()
        .map(|change| NewEntry {
            task: change.task,
            op: noted.signature.op,
            before: change.before.as_ref(),
            after: change.after.as_ref().map(|(image, _)| image),
            inode: match (&change.after, change.inode) {
                (Some((_, look)), _) => Some(look.print.inode),
                (None, inode) => inode,
            },
            mode: change.mode,
        })
        .collect();
    let revision = if seen_elsewhere { revision.next() } else { revision };
    journal.append(revision, at, &noted.signature, &entries)?;
    for change in &changes {
        match &change.after {
            None => journal.forget(change.task)?,
            Some((image, look)) => {
                let (seen, mode) = (look.print.mtime, Some(look.mode));
                let known = Known { print: look.print, seen, image: image.clone(), mode };
                journal.set_known(change.task, &known)?;
            }
        }
    }
    Ok(())
}

/// The effect of a move on one file of the source list.
struct Followed<'a> {
    task: &'a TaskId,
    before: Option<Image>,
    /// The new contents, and the metadata of the temporary file that has them.
    after: Option<(Image, Look)>,
    /// The inode of the current file, which is to be replaced or removed.
    inode: Option<u64>,
    /// The permission bits of the current file.
    mode: Option<u32>,
}

fn follow<'a>(
    turn: &WriteTurn,
    journal: &Journal,
    task: &'a TaskId,
    after: Option<&Image>,
    rules: Rules,
) -> Result<Followed<'a>, StoreError> {
    let found = contents(turn, task)?;
    let now = found.image().map(|(image, _)| image);
    let known = journal.known(task)?.map(|known| known.image);
    let after = match (after, now) {
        // Another program wrote in the meantime: apply the move's change to what it wrote. What it removed stays
        // removed.
        (Some(after), Some(now)) => Some(rebased(Op::Merge, task, known.as_ref(), after, now, rules)),
        (Some(_), None) | (None, _) => None,
    };
    let written = after.map(|image| write_temporary(turn, task, &image).map(|look| (image, look))).transpose()?;
    let look = found.image().map(|(_, look)| look);
    Ok(Followed {
        task,
        before: now.cloned(),
        after: written,
        inode: look.map(|look| look.print.inode),
        mode: look.map(|look| look.mode),
    })
}

/// Checks everything written since the last flush, and brings files that a power loss emptied, removed or reverted to
/// the state in the journal.
pub(in crate::store) fn recover(list: &Handle, turn: &mut WriteTurn, journal: &Journal) -> Result<(), StoreError> {
    // If the directory was ever flushed, the power loss cannot have removed it: another program did.
    let was_removed = turn.is_new && journal.fact::<i64>("flushed")?.is_some();
    if journal.newest()? > Revision(0) && !was_removed {
        // Only the journals tell whether a merge was in progress; the turn records may be lost.
        finish_noted_moves(list, turn, journal)?;
        let newest = journal.newest()?;
        write_again(turn, journal, newest)?;
    }
    reach("power: before the boot is remembered");
    remember_boot(list.sidecar()?)
}

fn write_again(turn: &mut WriteTurn, journal: &Journal, newest: Revision) -> Result<(), StoreError> {
    clear_locks_of_the_dead(turn)?;
    turn.lock_list()?;
    let flushed = journal.fact::<i64>("flushed")?.unwrap_or(0).unsigned_abs();
    let mut fates: BTreeMap<TaskId, Fate> = BTreeMap::new();
    for stored in journal.after(Revision(flushed))? {
        let fate = fates.entry(stored.entry.task.clone()).or_default();
        fate.earlier.extend(stored.entry.before);
        fate.earlier.extend(fate.last.take());
        fate.last = stored.entry.after;
    }
    for (id, known) in journal.all_known()? {
        fates.entry(id).or_insert_with(|| Fate { last: Some(known.image), earlier: HashSet::new(), is_old: true });
    }
    for (id, fate) in &fates {
        reach("power: before a file");
        restore(turn, journal, id, fate)?;
    }
    let removed = fates.iter().filter(|(_, fate)| fate.last.is_none());
    let highest = highest(removed.map(|(id, _)| id.as_str()));
    if highest > files::mark(&turn.place.directory) {
        raise_mark(turn, highest)?;
    }
    clear_away(turn)?;
    turn.unlock();
    flush::flush_all(turn.directory.as_fd(), journal, newest);
    mark_applied(turn, newest)
}

/// What the journal knows about one file.
#[derive(Default)]
struct Fate {
    last: Option<Image>,
    /// Earlier contents since the last flush.
    earlier: HashSet<Image>,
    /// The file was not changed since the last flush; only an empty file is then considered damaged.
    is_old: bool,
}

fn restore(turn: &WriteTurn, journal: &Journal, id: &TaskId, fate: &Fate) -> Result<(), StoreError> {
    let path = turn.place.task_file(id);
    let name = files::find(&turn.place, turn.directory.as_fd(), id);
    let (name, _) = name.map_err(StoreError::io("cannot look at", &path))?;
    let found = contents(turn, id)?;
    let is_forgotten = match &found {
        Contents::Missing => !fate.is_old,
        contents => contents.image().is_some_and(|(image, _)| is_blank(image) || fate.earlier.contains(image)),
    };
    match &fate.last {
        Some(last) if is_forgotten => {
            tracing::info!(task = %id, "bringing back what a power loss took");
            let directory = turn.directory.as_fd();
            let written = match found {
                Contents::Missing => {
                    let mode = journal.known(id)?.and_then(|known| known.mode);
                    files::add(directory, &name, last.bytes(), mode)
                }
                _ => files::replace(directory, &name, last.bytes()),
            };
            written.map_err(StoreError::io("cannot write", &path))?;
            if let Ok(Some(look)) = look_at(turn.directory.as_fd(), &name) {
                let (seen, mode) = (look.print.mtime, Some(look.mode));
                journal.set_known(id, &Known { print: look.print, seen, image: last.clone(), mode })?;
            }
            Ok(())
        }
        None if is_forgotten && !matches!(found, Contents::Missing) => {
            rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::empty())
                .map_err(|error| StoreError::io("cannot remove", &path)(error.into()))
        }
        _ => Ok(()),
    }
}

/// A lock from before the last boot has no living holder.
fn clear_locks_of_the_dead(turn: &WriteTurn) -> Result<(), StoreError> {
    let started = system::wall() - system::since_boot();
    for name in list_paths::names(turn.directory.as_fd(), &turn.place.directory)? {
        let is_lock = name.ends_with(".json.lock");
        if let Ok(Some(look)) = look_at(turn.directory.as_fd(), &c_name(&name))
            && is_lock
            && (look.print.mtime < started || client_lock::age(&look) > LIFE)
        {
            let _ = rustix::fs::unlinkat(&*turn.directory, &*c_name(&name), AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}
