//! Flushes the task files from time to time, so that a power loss can undo only recent changes.
//!
//! Commits are durable through their journal. But after a power loss, a missing file may have been lost or may have
//! been removed by another program just before. A file that was flushed is known not to have been lost.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use taskyard_core::dialect::macf::hidden_names;
use taskyard_core::{Revision, TaskId};

use crate::regular_file::NotRead;
use crate::store::StoreError;
use crate::store::file::client_files::{Handle, LOOK_EVERY};
use crate::store::journal::Journal;
use crate::store::locks::list_paths::{c_name, file_name};
use crate::{regular_file, system};

/// Age in milliseconds at which the next command flushes commits.
const OLD: i64 = 30_000;
/// Number of commits that are flushed regardless of their age.
const MANY: u64 = 2_000;
/// Number of bytes that are flushed regardless of their age; what is not flushed is complete in the journal.
const LARGE: u64 = 1 << 20;
/// Up to this number of commits, their size does not trigger a flush.
const FEW: u64 = 3;
/// With more files than this, the whole file system is flushed at once.
const MANY_FILES: usize = 128;

/// Flushes the files of commits that are old enough, after a commit of `written` bytes. Called with no lock held; after
/// a failure, the next call tries again.
pub(in crate::store) fn flush_what_is_old(handle: &Handle, journal: &Journal, written: u64) {
    if let Err(error) = flush_if_due(handle, journal, written) {
        tracing::debug!(%error, "the task files are not flushed");
    }
}

/// Like [`flush_what_is_old`], even if the last check was recent.
pub(in crate::store) fn flush_what_is_old_now(handle: &Handle, journal: &Journal) {
    handle.files.next_flush_look.store(0, Ordering::Relaxed);
    flush_what_is_old(handle, journal, 0);
}

/// Like [`flush_what_is_old`], when the process closes the list, if it has written to it since the last check: a
/// command has printed its result by then.
pub(in crate::store) fn flush_at_close(handle: &Handle) {
    if handle.files.written_since_look.load(Ordering::Relaxed) == 0 {
        return;
    }
    if let Some(journal) = handle.journals.take_idle() {
        flush_what_is_old_now(handle, &journal);
        handle.give_back(journal);
    }
}

fn flush_if_due(handle: &Handle, journal: &Journal, written: u64) -> Result<(), StoreError> {
    // Called for every commit, but checks only once a second, or after this process has written much.
    let now = system::since_boot();
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

/// Returns the commits whose files must be flushed: the revision before the first, and the last.
fn waiting(handle: &Handle, journal: &Journal) -> Result<Option<(Revision, Revision)>, StoreError> {
    let applied = handle.files.state().map_or(0, |state| state.applied);
    // One transaction for all queries: each by itself would lock the database.
    let moment = journal.begin_to_read()?;
    let flushed = journal.fact::<i64>("flushed")?.unwrap_or(0).unsigned_abs();
    let first = journal.moment_of(Revision(flushed).next())?;
    let is_old = first.is_some_and(|at| system::now().0.saturating_sub(at) > old());
    let waiting = applied.saturating_sub(flushed);
    let is_due = is_old || waiting > MANY || waiting > FEW && waiting * journal.newest_length()? > LARGE;
    drop(moment);
    Ok((waiting > 0 && is_due).then_some((Revision(flushed), Revision(applied))))
}

/// Returns the age in milliseconds from which commits are flushed.
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

/// Flushes the whole file system that contains the list. Returns whether this was done and recorded.
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
