//! Flushing the task files themselves, now and then, so that a power loss can take back only what is young.
//!
//! Commits survive by their journal. But after a power loss a file that is missing may have been lost, or removed by another
//! program just before; what has been flushed since is known not to be lost.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use taskyard_core::dialect::macf::hidden_names;
use taskyard_core::{Revision, TaskId};

use crate::clock;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::file::handle::Handle;
use crate::store::journal::Journal;
use crate::store::locks::list_paths::{c_name, file_name};

/// A running process looks this often whether something is due, in nanoseconds.
const LOOK_EVERY: i64 = 1_000_000_000;
/// Commits this old, in milliseconds, are flushed by the next command.
const OLD: i64 = 30_000;
/// So many commits are flushed however young they are.
const MANY: u64 = 2_000;
/// ... and so many bytes: what is not flushed is whole in the journal.
const LARGE: u64 = 1 << 20;
/// Fewer commits than this are never many.
const FEW: u64 = 3;
/// More files than this are flushed together with everything else on their file system.
const MANY_FILES: usize = 128;

/// Flushes the files of commits that have waited long enough, after one that wrote so many bytes. Called with no lock held; a failure is
/// for the next one.
pub(in crate::store) fn flush_what_is_old(handle: &Handle, journal: &Journal, written: u64) {
    if let Err(error) = flush_if_due(handle, journal, written) {
        tracing::debug!(%error, "the task files are not flushed");
    }
}

/// Does the same, however lately another process looked.
pub(in crate::store) fn flush_what_is_old_now(handle: &Handle, journal: &Journal) {
    handle.files.next_flush_look.store(0, Ordering::Relaxed);
    flush_what_is_old(handle, journal, 0);
}

fn flush_if_due(handle: &Handle, journal: &Journal, written: u64) -> Result<(), StoreError> {
    // Asked for every commit, and looked into once a second, or when this process has written much since.
    let now = clock::since_boot();
    let unlooked = handle.files.written_since_look.fetch_add(written, Ordering::Relaxed) + written;
    if now < handle.files.next_flush_look.load(Ordering::Relaxed) && unlooked <= LARGE {
        return Ok(());
    }
    handle.files.written_since_look.store(0, Ordering::Relaxed);
    handle.files.next_flush_look.store(now + LOOK_EVERY, Ordering::Relaxed);
    let Some((flushed, applied)) = waiting(handle, journal)? else { return Ok(()) };
    match handle.files.place.open()? {
        Some(directory) => flush_since(directory.as_fd(), journal, flushed, applied),
        None => Ok(()),
    }
}

/// Tells whether there are commits whose files have waited long enough, or that cannot be found out.
pub(in crate::store) fn may_be_due(handle: &Handle, journal: &Journal) -> bool {
    !waiting(handle, journal).is_ok_and(|waiting| waiting.is_none())
}

/// Returns the commits whose files have waited long enough: after which one they begin, and the last.
fn waiting(handle: &Handle, journal: &Journal) -> Result<Option<(Revision, Revision)>, StoreError> {
    let applied = handle.files.state().map_or(0, |state| state.applied);
    let flushed = journal.fact::<i64>("flushed")?.unwrap_or(0).unsigned_abs();
    let first = journal.moment_of(Revision(flushed).next())?;
    let is_old = first.is_some_and(|at| clock::now().0.saturating_sub(at) > old());
    let waiting = applied.saturating_sub(flushed);
    if waiting == 0 || !(is_old || waiting > MANY || waiting > FEW && waiting * journal.newest_length()? > LARGE) {
        return Ok(None);
    }
    Ok(Some((Revision(flushed), Revision(applied))))
}

/// Returns the age in milliseconds above which commits are flushed.
fn old() -> i64 {
    #[cfg(feature = "failpoints")]
    if let Some(age) = crate::failpoint::flush_age() {
        return age;
    }
    OLD
}

fn flush_since(
    directory: BorrowedFd<'_>,
    journal: &Journal,
    since: Revision,
    until: Revision,
) -> Result<(), StoreError> {
    let tasks: BTreeSet<TaskId> = journal.tasks_since(since)?.into_iter().collect();
    let is_flushed = tasks.len() <= MANY_FILES && tasks.iter().all(|task| flush_file(directory, task));
    if is_flushed && rustix::fs::fsync(directory).is_ok() {
        journal.set_fact("flushed", until.0.cast_signed())?;
        return journal.pack(since, until);
    }
    if flush_all(directory, journal, until) { journal.pack(since, until) } else { Ok(()) }
}

/// Flushes the whole file system the list is on. Tells whether that was done and is remembered.
pub(in crate::store) fn flush_all(directory: BorrowedFd<'_>, journal: &Journal, until: Revision) -> bool {
    #[cfg(target_os = "linux")]
    if rustix::fs::syncfs(directory).is_err() {
        return false;
    }
    #[cfg(not(target_os = "linux"))]
    if rustix::fs::fsync(directory).is_err() {
        return false;
    }
    let remembered = journal.set_fact("flushed", until.0.cast_signed());
    if let Err(error) = &remembered {
        tracing::debug!(%error, "the flush is not remembered");
    }
    remembered.is_ok()
}

fn flush_file(directory: BorrowedFd<'_>, task: &TaskId) -> bool {
    let open = |name: CString| regular_file::open_at(directory, &name);
    let mut opened = open(file_name(task));
    let mut other_names = hidden_names(task);
    while opened.as_ref().is_err_and(NotRead::is_missing)
        && let Some(hidden) = other_names.next()
    {
        opened = open(c_name(&hidden));
    }
    match opened {
        Ok(file) => rustix::fs::fdatasync(&file).is_ok(),
        Err(why) => why.is_missing(),
    }
}
