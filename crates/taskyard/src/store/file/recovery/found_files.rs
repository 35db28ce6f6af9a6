//! What is found in a directory after a writer did not finish: its temporary files, the tasks' own, and what a move to another list changes
//! in them.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, FileType};
use taskyard_core::rules::changes::rebasing::rebase_by;
use taskyard_core::{Image, Op, Rules, TaskId};

use crate::clock;
use crate::store::StoreError;
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::observe::journal_outside_changes;
use crate::store::journal::{Journal, Known, Move, NewEntry, StoredEntry};
use crate::store::locks::fingerprint::{Look, look_at};
use crate::store::locks::list_paths::{self, OURS, c_name};
use crate::store::locks::turn::WriteTurn;

/// Returns our temporary files, by their inodes.
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

/// Returns our temporary files in a copy of the list's directory, by the inodes that they had in the original: their contents tell which they
/// are.
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

/// File systems give back files of the right name that are empty or full of zeros; writers that die leave empty ones.
pub(in crate::store) fn is_blank(image: &Image) -> bool {
    image.bytes().iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace())
}

/// Removes the temporary files and set-aside locks of ours that no process needs any more.
pub(in crate::store) fn clear_away(turn: &WriteTurn) -> Result<(), StoreError> {
    for name in ours(turn)? {
        if rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::empty()).is_err() {
            let _ = rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}

/// Reads what a file holds, for a caller that decides what became of a commit.
pub(in crate::store) fn contents(turn: &WriteTurn, id: &TaskId) -> Result<Contents, StoreError> {
    files::read(&turn.place, turn.directory.as_fd(), id)
        .map_err(StoreError::io("cannot read", turn.place.task_file(id)))
}

/// Returns the name under which a task's file is found.
pub(in crate::store) fn name_in_use(turn: &WriteTurn, id: &TaskId) -> Result<CString, StoreError> {
    let found = files::find(&turn.place, turn.directory.as_fd(), id);
    found.map(|(name, _)| name).map_err(StoreError::io("cannot look at", turn.place.task_file(id)))
}

/// Writes contents to a temporary file, with the mode of the task's own where there is one, and returns what it is recognised by.
pub(in crate::store) fn write_temporary(turn: &WriteTurn, id: &TaskId, image: &Image) -> Result<Look, StoreError> {
    let found = files::find(&turn.place, turn.directory.as_fd(), id).ok().and_then(|(_, look)| look);
    files::write_temporary(turn.directory.as_fd(), image, found.map(|look| look.mode))
        .map(|(_, look)| look)
        .map_err(StoreError::io("cannot write", turn.place.task_file(id)))
}

/// Applies to newer contents what a change did to older ones; where that cannot be, the change is all there is.
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

/// Writes the entries a move should have written; the files follow with everything else that is not written out.
pub(in crate::store) fn follow_move(
    turn: &WriteTurn,
    journal: &Journal,
    noted: &Move,
    rules: Rules,
) -> Result<(), StoreError> {
    let at = clock::now();
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

/// What a move does to one file of the list that things leave.
struct Followed<'a> {
    task: &'a TaskId,
    before: Option<Image>,
    /// What it is to hold, and the temporary file that holds it.
    after: Option<(Image, Look)>,
    /// The file that is to be removed.
    inode: Option<u64>,
    /// The permission bits it has.
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
        // Another program wrote in between: what the move changes is changed in what it wrote. What it removed stays removed.
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
