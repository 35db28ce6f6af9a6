//! What is found in a directory after a writer did not finish: its temporary files, and the tasks' own.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, FileType};
use taskyard_core::rules::changes::rebasing::rebase_by;
use taskyard_core::{Image, Op, Rules, TaskId};

use crate::store::StoreError;
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::hidden;
use crate::store::journal::StoredEntry;
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
    let found = hidden::find(&turn.place, turn.directory.as_fd(), id);
    found.map(|(name, _)| name).map_err(StoreError::io("cannot look at", turn.place.task_file(id)))
}

/// Writes contents to a temporary file, with the mode of the task's own where there is one, and returns what it is recognised by.
pub(in crate::store) fn write_temporary(turn: &WriteTurn, id: &TaskId, image: &Image) -> Result<Look, StoreError> {
    let found = hidden::find(&turn.place, turn.directory.as_fd(), id).ok().and_then(|(_, look)| look);
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
