//! Writing a commit out to the files.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use taskyard_core::Revision;
use taskyard_core::dialect::native::next_number;

use super::commit::unfinished;
use super::failpoint::reach;
use super::files;
use super::hidden;
use super::lock;
use super::numbers;
use super::place::{c_name, lock_name};
use super::plan::{Plan, Write};
use super::turn::Turn;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::new_name::rename_to_new;

/// Why the files could not be written out in the straight way.
pub(super) enum Hindrance {
    /// The lock was taken over while we slept.
    LockLost,
    /// Somebody wrote one of the files without asking for its lock.
    Changed,
    /// The system refused.
    Failed(StoreError),
}

/// Takes the list's lock where names are new or the mark is to be raised, and it was not taken before.
pub(super) fn lock_names(turn: &mut Turn, plan: &Plan) -> Result<(), Hindrance> {
    if !plan.needs_list_lock() || turn.locks.has_list() {
        return Ok(());
    }
    turn.lock_list().map_err(|error| match error {
        StoreError::Busy { .. } | StoreError::NoLock { .. } | StoreError::Conflict { .. } => Hindrance::LockLost,
        error => Hindrance::Failed(unfinished(turn, error)),
    })
}

/// Writes the files out, each time first looking that the locks are still ours and the file is still the one we read.
pub(super) fn apply(turn: &mut Turn, plan: &Plan) -> Result<(), Hindrance> {
    if let Some(mark) = plan.raise_mark_to.filter(|mark| *mark > numbers::mark(&turn.place.directory)) {
        reach("mark: before");
        if !turn.is_ours() {
            return Err(Hindrance::LockLost);
        }
        raise_mark(turn, mark).map_err(|error| match error {
            // Who took the turn from us cleared the temporary file away.
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Hindrance::LockLost,
            error => Hindrance::Failed(unfinished(turn, error)),
        })?;
        reach("mark: raised");
    }
    // New names come first. Replacing a file may take its time, and nobody who creates has to wait for that.
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

fn apply_one(turn: &Turn, write: &Write) -> Result<(), Hindrance> {
    let directory = turn.directory.as_fd();
    let unfinished = |doing, source: io::Error| {
        Hindrance::Failed(StoreError::Unfinished { doing, path: turn.place.task_file(&write.id), source })
    };
    reach("file: before");
    if !turn.is_ours_with(&lock_name(&format!("{}.json", write.id.file_stem()))) {
        return Err(Hindrance::LockLost);
    }
    let (name, look) = hidden::find(&turn.place, directory, &write.id).map_err(|_| Hindrance::Changed)?;
    let print = look.map(|look| look.print);
    if print != write.before.as_ref().map(|(_, look)| look.print) {
        return Err(Hindrance::Changed);
    }
    match (&write.before, &write.after) {
        (None, Some(after)) => {
            rename_to_new(directory, &*after.temporary, &*name).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Hindrance::Changed,
                _ => unfinished("cannot rename to", error),
            })?;
        }
        (Some(_), Some(after)) => match rustix::fs::renameat(directory, &*after.temporary, directory, &*name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Hindrance::Changed),
            Err(error) => return Err(unfinished("cannot rename to", error.into())),
        },
        // There is nothing to remove, and what comes to be there in this instant is somebody else's.
        (None, None) => {}
        (Some(_), None) => match rustix::fs::unlinkat(directory, &*name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(unfinished("cannot remove", error.into())),
        },
    }
    reach("file: done");
    Ok(())
}

/// Notes for our other processes that a commit is in every file.
pub(super) fn mark_applied(turn: &mut Turn, revision: Revision) -> Result<(), StoreError> {
    turn.state.applied = revision.0;
    turn.state.sequence = (turn.state.sequence | 1) + 1;
    turn.save()
}

/// Raises `.highwatermark`, which the client does before it removes a file.
pub(super) fn raise_mark(turn: &Turn, mark: f64) -> Result<(), StoreError> {
    let (text, name) = (next_number(mark - 1.0), c_name(".highwatermark"));
    let directory = turn.directory.as_fd();
    if overwrite_mark(turn, text.as_bytes()).is_ok() {
        return Ok(());
    }
    let replaced = files::replace(directory, &name, text.as_bytes()).or_else(|error| match error.kind() {
        // A mark is no directory; whatever is in it stays there, under another name.
        io::ErrorKind::IsADirectory => {
            lock::set_aside(directory, &name, ".highwatermark.unreadable")?;
            files::replace(directory, &name, text.as_bytes())
        }
        _ => Err(error),
    });
    replaced.map_err(StoreError::io("cannot write", turn.place.directory.join(".highwatermark")))
}

/// Writes a mark over a lower one, as the client does: file systems flush what is renamed over something, and others wait for the
/// list's lock. Digits over no more digits than they are can be told at any moment.
fn overwrite_mark(turn: &Turn, text: &[u8]) -> Result<(), NotRead> {
    let file = regular_file::open_to_change(&turn.place.directory.join(".highwatermark"))?;
    let mut found = [0; 32];
    let length = file.read_at(&mut found, 0)?;
    match found[..length].iter().all(u8::is_ascii_digit) && (1..=text.len()).contains(&length) {
        true => Ok(file.write_all_at(text, 0)?),
        false => Err(NotRead::System(io::ErrorKind::InvalidData.into())),
    }
}
