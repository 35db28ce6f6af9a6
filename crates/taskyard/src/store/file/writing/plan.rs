//! Getting a commit ready: the files that are to take the places of others, the locks that it needs, and the second look at
//! everything under them.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, openat};
use rustix::io::Errno;
use taskyard_core::rules::changes::numbering::highest;
use taskyard_core::{Image, TaskId};

use super::txn::{FileTxn, Staged};
use crate::failpoint::reach;
use crate::store::StoreError;
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::numbers;
use crate::store::locks::client_locking::Wanted;
use crate::store::locks::fingerprint::Look;
use crate::store::locks::list_paths::file_name;
use crate::store::locks::turn::WriteTurn;

/// More removals than this are not locked one by one.
const MANY: usize = 256;

/// What is to be done to the files, ready to be done.
#[derive(Debug)]
pub(in crate::store) struct Plan {
    pub(in crate::store) writes: Vec<Write>,
    /// What `.highwatermark` has to say before a file is removed.
    pub(in crate::store) raise_mark_to: Option<f64>,
    /// The tasks whose locks are taken.
    locked: Vec<TaskId>,
    /// Tasks that are hidden and are to be seen again.
    shown: Vec<TaskId>,
    /// Whether it is what the client calls a reset.
    pub(in crate::store) is_reset: bool,
}

impl Plan {
    /// Tells whether the list's lock is needed: for names that are new, for the mark and for a reset. Everything else the client does under the
    /// locks of single tasks, or under none.
    pub(in crate::store) fn needs_list_lock(&self) -> bool {
        let is_new_name = |write: &Write| write.before.is_none() && write.after.is_some();
        self.is_reset || self.raise_mark_to.is_some() || !self.shown.is_empty() || self.writes.iter().any(is_new_name)
    }

    /// Tells whether half of it could survive a power loss, so that the journal has to be flushed before the first file is touched.
    pub(in crate::store) fn can_be_halved(&self) -> bool {
        self.writes.len() > 1
    }

    /// Returns how many bytes are to be written to files.
    pub(in crate::store) fn length(&self) -> u64 {
        self.writes.iter().filter_map(|write| write.after.as_ref()).map(|after| after.image.bytes().len() as u64).sum()
    }

    /// Returns what has to be locked before the commit exists. No rival waits for a flush with the list locked: a change of several files
    /// takes the list's lock when the journal is on the disk.
    pub(in crate::store) fn locks_to_commit(&self) -> Wanted {
        let list = self.needs_list_lock() && (!self.can_be_halved() || !self.shown.is_empty());
        Wanted { list, tasks: self.locked.clone() }
    }
}

/// What is to be done to one file.
#[derive(Debug)]
pub(in crate::store) struct Write {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) before: Option<(Image, Look)>,
    pub(in crate::store) after: Option<After>,
    /// The file that is replaced, still open, if the caller wants to know what was written to it last.
    pub(in crate::store) replaced: Option<File>,
}

/// The file that takes another's place.
#[derive(Debug)]
pub(in crate::store) struct After {
    pub(in crate::store) image: Image,
    pub(in crate::store) temporary: CString,
    pub(in crate::store) look: Look,
}

/// Writes the temporary files, with no lock of the client's held. `None` when nothing would change.
pub(in crate::store) fn prepare(txn: &mut FileTxn) -> Result<Option<Plan>, StoreError> {
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
    let removed = staged.iter().filter(|(_, staged)| staged.after.is_none()).map(|(id, _)| id.as_str());
    let raise_mark_to =
        Some(highest(removed)).filter(|highest| *highest > 0.0 && *highest > numbers::mark(&txn.turn.place.directory));
    let (writes, shown, is_reset) = (Vec::with_capacity(staged.len()), Vec::new(), txn.is_reset);
    let mut plan = Plan { writes, raise_mark_to, locked, shown, is_reset };
    for (id, staged) in staged {
        let prepared = prepare_one(&txn.turn, directory.as_fd(), id, staged);
        match prepared {
            Ok(write) => {
                plan.shown.extend(is_to_be_shown(&txn.turn, &write)?.then(|| write.id.clone()));
                plan.writes.push(write);
            }
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

fn prepare_one(turn: &WriteTurn, directory: BorrowedFd<'_>, id: TaskId, staged: Staged) -> Result<Write, StoreError> {
    let Staged { before, after, former_mode, .. } = staged;
    let path = || turn.place.task_file(&id);
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
    Ok(Write { id, before, after, replaced: None })
}

/// Tells whether a task that is done and hidden is open again, so that every program has to see it.
fn is_to_be_shown(turn: &WriteTurn, write: &Write) -> Result<bool, StoreError> {
    let is_open = |after: &After| after.image.task(&write.id).is_ok_and(|task| task.status.is_open());
    if write.before.is_none() || !write.after.as_ref().is_some_and(is_open) {
        return Ok(false);
    }
    let found = files::find(&turn.place, turn.directory.as_fd(), &write.id);
    let (name, _) = found.map_err(StoreError::io("cannot look at", turn.place.task_file(&write.id)))?;
    Ok(name != file_name(&write.id))
}

/// Looks, with the locks in our hands, whether everything still is what the decision was made on. The files stay open if `keeps_files`.
pub(in crate::store) fn verify(turn: &WriteTurn, plan: &mut Plan, keeps_files: bool) -> Result<(), StoreError> {
    let directory = turn.directory.as_fd();
    for write in &mut plan.writes {
        let path = || turn.place.task_file(&write.id);
        let (now, file) =
            files::read_and_keep(&turn.place, directory, &write.id).map_err(StoreError::io("cannot read", path()))?;
        write.replaced = file.filter(|_| keeps_files);
        match (&mut write.before, &now) {
            (None, Contents::Missing) => {}
            (Some((image, look)), now) if now.image().is_some_and(|(found, now)| is_same(image, look, found, now)) => {
                // It may have been touched.
                *look = now.image().map_or(*look, |(_, now)| *now);
            }
            _ => return Err(StoreError::Conflict { task: write.id.clone() }),
        }
    }
    for id in &plan.shown {
        // Whatever becomes of the commit: what was done may be seen again by every program.
        files::unhide(&turn.place, directory, id)
            .map_err(StoreError::io("cannot rename to", turn.place.task_file(id)))?;
    }
    Ok(())
}

/// Tells whether a file is the one that was read. The journal has its inode and its mode.
fn is_same(image: &Image, look: &Look, found: &Image, now: &Look) -> bool {
    image == found && (look.print.inode, look.mode) == (now.print.inode, now.mode)
}

/// Removes the temporary files of a commit that does not happen.
pub(in crate::store) fn discard(turn: &WriteTurn, plan: &Plan) {
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
