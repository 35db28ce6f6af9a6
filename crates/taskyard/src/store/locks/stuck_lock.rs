//! Locks that would last for ever: found by `doctor`, and ended when it is asked to.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::client_lock::{self, LIFE, temporary_name};
use super::dead_locks::{Sightings, time_ahead};
use super::fingerprint::{Look, look_at};
use super::guarded::queue_of;
use super::list_paths::c_name;
use crate::regular_file::special;
use crate::store::StuckLock;

/// How often one that waits for a lock's end looks at it.
const GLANCE: Duration = Duration::from_millis(100);

/// Returns why a lock is stuck, where it is.
pub(in crate::store) fn judge(name: &CStr, look: &Look, sightings: &Sightings) -> Option<StuckLock> {
    let silence = sightings.silence(name, look);
    if !client_lock::is_directory(look) {
        return Some(StuckLock::NotADirectory { found: special(look.kind) });
    }
    match time_ahead(look) {
        Some(by) => Some(StuckLock::InTheFuture { by }),
        None => (silence > LIFE).then_some(StuckLock::Silent { age: silence }),
    }
}

/// Takes a stuck lock out of the way, however long it has to be looked at to be sure that no program holds it. Returns whether the way is
/// free; a lock that moves meanwhile is held, and is left alone.
pub(in crate::store) fn end(directory: BorrowedFd<'_>, name: &CStr, sightings: &Sightings) -> io::Result<bool> {
    let Some(first) = look_at(directory, name)? else { return Ok(true) };
    let started = Instant::now();
    loop {
        let Some(look) = look_at(directory, name)? else { return Ok(true) };
        if look.print != first.print || look.born != first.born {
            return Ok(false);
        }
        if !client_lock::is_directory(&look) || sightings.silence(name, &look) > LIFE {
            return client_lock::take_aside(directory, name, &look, &temporary_name("stale"));
        }
        if started.elapsed() > LIFE + GLANCE * 2 {
            return Ok(false);
        }
        thread::sleep(GLANCE);
    }
}

/// Returns why the lock on a file that is locked by itself is stuck, where it is. Our processes queue for it in `queues`.
pub(crate) fn stuck_lock_of(file: &Path, queues: &Path) -> Option<StuckLock> {
    let (directory, name, sightings) = lock_of(file, queues)?;
    let look = look_at(directory.as_fd(), &name).ok().flatten()?;
    judge(&name, &look, &sightings)
}

/// Takes the stuck lock on a file that is locked by itself out of the way, as [`end`] does.
pub(crate) fn end_lock_of(file: &Path, queues: &Path) -> io::Result<bool> {
    match lock_of(file, queues) {
        Some((directory, name, sightings)) => end(directory.as_fd(), &name, &sightings),
        None => Ok(false),
    }
}

fn lock_of(file: &Path, queues: &Path) -> Option<(File, std::ffi::CString, Sightings)> {
    let directory = File::open(file.parent()?).ok()?;
    let name = c_name(&format!("{}.lock", file.file_name()?.to_str()?));
    Some((directory, name, Sightings::beside(&queue_of(file, queues))))
}
