//! Getting a commit ready: the locks of its tasks, a second look at them, and the files that are to take their places.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, openat};
use rustix::io::Errno;
use taskyard_core::rules::numbering::highest;
use taskyard_core::{Image, TaskId};

use super::failpoint::reach;
use super::files::{self, Contents};
use super::fingerprint::Look;
use super::hidden;
use super::numbers;
use super::turn::Turn;
use super::txn::{FileTxn, Staged};
use crate::store::StoreError;

/// More removals than this are not locked one by one.
const MANY: usize = 256;

/// What is to be done to the files, ready to be done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) writes: Vec<Write>,
    /// What `.highwatermark` has to say before a file is removed.
    pub(super) raise_mark_to: Option<f64>,
}

/// What is to be done to one file.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) id: TaskId,
    pub(super) before: Option<(Image, Look)>,
    pub(super) after: Option<After>,
}

/// The file that takes another's place.
#[derive(Debug)]
pub(super) struct After {
    pub(super) image: Image,
    pub(super) temporary: CString,
    pub(super) look: Look,
}

/// Takes the locks, looks again, and writes the temporary files. `None` when nothing would change.
pub(super) fn prepare(txn: &mut FileTxn) -> Result<Option<Plan>, StoreError> {
    let staged: Vec<_> = std::mem::take(&mut txn.staged).into_iter().filter(|(_, staged)| staged.is_change()).collect();
    let directory = Arc::clone(&txn.turn.directory);
    if txn.needs_lock_file {
        make_lock_file(directory.as_fd())
            .map_err(StoreError::io("cannot create", txn.turn.place.directory.join(".lock")))?;
    }
    if staged.is_empty() {
        return Ok(None);
    }
    // The client locks what it rewrites, not what it removes. We lock both, unless that would take longer than it waits.
    let with_removals = staged.len() <= MANY;
    let is_locked = |staged: &Staged| staged.before.is_some() && (with_removals || staged.after.is_some());
    let locked: Vec<TaskId> = staged.iter().filter(|(_, staged)| is_locked(staged)).map(|(id, _)| id.clone()).collect();
    txn.turn.lock_tasks(&locked)?;
    let removed = staged.iter().filter(|(_, staged)| staged.after.is_none()).map(|(id, _)| id.as_str());
    let raise_mark_to =
        Some(highest(removed)).filter(|highest| *highest > 0.0 && *highest > numbers::mark(&txn.turn.place.directory));
    let mut plan = Plan { writes: Vec::with_capacity(staged.len()), raise_mark_to };
    for (id, staged) in staged {
        let prepared = prepare_one(&txn.turn, directory.as_fd(), id, staged);
        match prepared {
            Ok(write) => plan.writes.push(write),
            Err(error) => {
                discard(&txn.turn, &plan);
                return Err(error);
            }
        }
    }
    // New files come first: should one's name be taken, nothing points to it yet. Removals come last.
    plan.writes.sort_by_key(|write| (write.before.is_some(), write.after.is_none()));
    reach("temporary files: written");
    Ok(Some(plan))
}

fn prepare_one(turn: &Turn, directory: BorrowedFd<'_>, id: TaskId, staged: Staged) -> Result<Write, StoreError> {
    let Staged { before, after, former_mode, .. } = staged;
    let path = || turn.place.task_file(&id);
    // Now that its lock is ours: is the file still what the decision was made on?
    let now = files::read(&turn.place, directory, &id).map_err(StoreError::io("cannot read", path()))?;
    let before = match (before, &now) {
        (None, Contents::Missing) => None,
        (Some((image, _)), now) if now.image().is_some_and(|(found, _)| image == *found) => {
            now.image().map(|(_, look)| (image, *look))
        }
        _ => return Err(StoreError::Conflict { task: id }),
    };
    let is_open = |image: &Image| image.task(&id).is_ok_and(|task| task.status.is_open());
    if before.is_some() && after.as_ref().is_some_and(is_open) {
        // Whatever becomes of the commit: what was done may be seen again by everybody.
        hidden::unhide(&turn.place, directory, &id).map_err(StoreError::io("cannot rename to", path()))?;
    }
    reach("temporary file: before");
    let mode = before.as_ref().map(|(_, look)| look.mode).or(former_mode);
    let after = after
        .map(|image| {
            let (temporary, look) = files::write_temporary(directory, &image, mode)?;
            reach("temporary file: written");
            Ok(After { image, temporary, look })
        })
        .transpose()
        .map_err(StoreError::io("cannot write", path()))?;
    Ok(Write { id, before, after })
}

/// Removes the temporary files of a commit that does not happen.
pub(super) fn discard(turn: &Turn, plan: &Plan) {
    for after in plan.writes.iter().filter_map(|write| write.after.as_ref()) {
        let _ = rustix::fs::unlinkat(&*turn.directory, &*after.temporary, AtFlags::empty());
    }
}

fn make_lock_file(directory: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    match openat(directory, c".lock", flags, Mode::from_raw_mode(0o666)) {
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
