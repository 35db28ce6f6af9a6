//! Writing a commit out to the files.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::plan::{Plan, Write};
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::file::marks::raise_mark;
use crate::store::file::reading::hidden;
use crate::store::file::reading::numbers;
use crate::store::locks::list_paths::lock_name;
use crate::store::locks::turn::WriteTurn;
use crate::store::new_name::rename_to_new;

/// Why the files could not be written out in the straight way.
pub(in crate::store) enum Hindrance {
    /// The lock was taken over while we slept.
    LockLost,
    /// Another program wrote one of the files without asking for its lock.
    Changed,
    /// The system refused.
    Failed(StoreError),
}

/// Takes the list's lock where names are new or the mark is to be raised, and it was not taken before.
pub(in crate::store) fn lock_names(turn: &mut WriteTurn, plan: &Plan) -> Result<(), Hindrance> {
    if !plan.needs_list_lock() || turn.locks.has_list() {
        return Ok(());
    }
    turn.lock_list().map_err(|error| match error {
        StoreError::Busy { .. } | StoreError::NoLock { .. } | StoreError::Conflict { .. } => Hindrance::LockLost,
        error => Hindrance::Failed(error),
    })
}

/// Writes the files out, each time first looking that the locks are still ours and the file is still the one we read.
pub(in crate::store) fn apply(turn: &mut WriteTurn, plan: &Plan) -> Result<(), Hindrance> {
    if let Some(mark) = plan.raise_mark_to.filter(|mark| *mark > numbers::mark(&turn.place.directory)) {
        reach("mark: before");
        if !turn.is_ours() {
            return Err(Hindrance::LockLost);
        }
        raise_mark(turn, mark).map_err(|error| match error {
            // The process that took the turn from us cleared the temporary file away.
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Hindrance::LockLost,
            error => Hindrance::Failed(error),
        })?;
        reach("mark: raised");
    }
    // New names come first. Replacing a file may take its time, and no rival that creates a task has to wait for that.
    let is_new_name = |write: &Write| write.before.is_none();
    let (new, others) = plan.writes.split_at(plan.writes.partition_point(is_new_name));
    for write in new {
        apply_one(turn, write)?;
    }
    if !plan.is_reset && !turn.locks.keeps_list {
        turn.unlock_list();
    }
    for write in others {
        apply_one(turn, write)?;
    }
    Ok(())
}

fn apply_one(turn: &WriteTurn, write: &Write) -> Result<(), Hindrance> {
    let directory = turn.directory.as_fd();
    let failed =
        |doing, source: io::Error| Hindrance::Failed(StoreError::io(doing, turn.place.task_file(&write.id))(source));
    reach("file: before");
    if !turn.is_ours_with(&lock_name(&format!("{}.json", write.id.file_stem()))) {
        return Err(Hindrance::LockLost);
    }
    let (name, look) = hidden::find(&turn.place, directory, &write.id).map_err(|_| Hindrance::Changed)?;
    let print = look.map(|look| look.print);
    if print != write.before.as_ref().map(|(_, look)| look.print) {
        return Err(Hindrance::Changed);
    }
    reach("file: looked");
    match (&write.before, &write.after) {
        (None, Some(after)) => {
            rename_to_new(directory, &*after.temporary, &*name).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Hindrance::Changed,
                _ => failed("cannot rename to", error),
            })?;
        }
        (Some(_), Some(after)) => match rustix::fs::renameat(directory, &*after.temporary, directory, &*name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Hindrance::Changed),
            Err(error) => return Err(failed("cannot rename to", error.into())),
        },
        // There is nothing to remove, and what comes to be there in this instant is another program's.
        (None, None) => {}
        (Some(_), None) => match rustix::fs::unlinkat(directory, &*name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed("cannot remove", error.into())),
        },
    }
    reach("file: done");
    Ok(())
}
