//! Recording what other programs did, so that history is complete and what they removed can be restored.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use taskyard_core::{Revision, TaskId, Timestamp};

use super::deletions::deletions;
use super::scan::{self, Change, Scan};
use super::{hidden, numbers};
use crate::clock;
use crate::store::StoreError;
use crate::store::file::handle::Handle;
use crate::store::journal::{Extent, Journal, Known, OutsideChange};
use crate::store::locks::queue::{self, Queue};
use crate::store::locks::turn_record::{self, TurnRecord};

/// Long enough for a file that was touched this instant to be recognisable by its times.
const SETTLING: Duration = Duration::from_millis(25);
/// How often one looks again for that.
const LOOKS: u32 = 3;

impl Handle {
    /// Records what other programs did, waiting for files that were touched this instant. Returns whether nothing is left.
    ///
    /// Within a transaction of our own nothing is recorded: it would wait for itself.
    pub(in crate::store) fn observe(&self) -> Result<bool, StoreError> {
        if self.files.transactions.load(Ordering::Relaxed) > 0 {
            return Ok(false);
        }
        self.settle();
        // Where the list is kept in memory, only what something was done to is looked at.
        match observe_changed(self)? {
            Some(is_complete) => Ok(is_complete),
            None => observe(self),
        }
    }
}

/// Looks at the list and records what other programs did to it, also what they did this instant. Returns whether nothing is
/// left to record.
pub(in crate::store) fn observe(handle: &Handle) -> Result<bool, StoreError> {
    let Ok(sidecar) = handle.sidecar() else { return Ok(true) };
    let is_known = sidecar.join("journal.sqlite").exists() || sidecar.join("stamp").exists();
    if !is_known && handle.files.place.open()?.is_none() {
        return Ok(true);
    }
    let journal = match handle.journal() {
        Ok(journal) => journal,
        Err(error) if error.is_of_memory() => return Err(error),
        Err(_) => return Ok(true),
    };
    let mut is_complete = false;
    for _ in 0..LOOKS {
        let scan = scan::scan(&handle.files.place, Some(&journal)).inspect_err(|error| handle.journals.note(error))?;
        is_complete = is_all_settled(handle, &scan) && record(handle, &journal, &scan);
        if is_complete {
            break;
        }
        thread::sleep(SETTLING);
    }
    journal.copy_log();
    handle.give_back(journal);
    Ok(is_complete)
}

/// Does the same where the list is kept in memory: only what something was done to is looked at. Returns none where it is not kept.
pub(in crate::store) fn observe_changed(handle: &Handle) -> Result<Option<bool>, StoreError> {
    let catch_up = |journal: &Journal| Ok(handle.files.live().catch_up(handle, journal)?.map(|seen| seen.is_settled()));
    for _ in 1..LOOKS {
        match handle.reading(catch_up)? {
            Some(false) => thread::sleep(SETTLING),
            is_settled => return Ok(is_settled),
        }
    }
    handle.reading(catch_up)
}

/// Does the same while our own writers wait: where they leave no moment for a look at a long list. Returns whether nothing is left to
/// record.
pub(in crate::store) fn observe_alone(handle: &Handle) -> Result<bool, StoreError> {
    let journal = handle.journal()?;
    let queue = queue::enter(&handle.queue_file()?)?;
    let scan = scan::scan(&handle.files.place, Some(&journal)).inspect_err(|error| handle.journals.note(error))?;
    let changes = settled(handle, &scan);
    let is_all_settled = changes.len() == scan.changes.len();
    // What a power loss took is not to be taken for what another program did.
    let is_complete =
        handle.files.is_same_boot()? && (changes.is_empty() || write(handle, &journal, &scan, &changes, &queue)?);
    drop(queue);
    handle.give_back(journal);
    Ok(is_all_settled && is_complete)
}

/// Records what a look at the list found, as far as it can be trusted, when no writer of ours has the turn. Returns whether nothing is left
/// to record.
pub(in crate::store) fn record(handle: &Handle, journal: &Journal, scan: &Scan) -> bool {
    let changes = settled(handle, scan);
    if changes.is_empty() && scan.reprints.is_empty() {
        return true;
    }
    // What a power loss took is not to be taken for what another program did.
    if !handle.files.is_same_boot().unwrap_or(false) {
        return false;
    }
    let queue = handle.queue_file().and_then(|path| queue::try_enter(&path));
    // Fingerprints are only for speed; they can wait.
    let Ok(Some(queue)) = queue else { return changes.is_empty() };
    match write(handle, journal, scan, &changes, &queue) {
        Ok(recorded) => recorded,
        Err(error) => {
            handle.journals.note(&error);
            // A reader is not troubled by a journal that cannot be written.
            tracing::debug!(%error, "outside changes are not recorded");
            true
        }
    }
}

/// Tells whether everything that a look found can be recorded by now.
pub(in crate::store) fn is_all_settled(handle: &Handle, scan: &Scan) -> bool {
    settled(handle, scan).len() == scan.changes.len()
}

/// Returns what can be recorded by now.
fn settled<'a>(handle: &Handle, scan: &'a Scan) -> Vec<&'a Change> {
    let directory = &handle.files.place.directory;
    let is_gone = |change: &&Change| change.after.is_none();
    // The client raises the mark to the highest number before it resets a list, and to that of a task before it deletes the task: the look may
    // have been in the middle of a reset. If several tasks are gone, they are judged together once the mark has settled.
    let is_mark_settled = || numbers::mark_look(directory).is_none_or(|print| print.is_settled(scan.seen));
    let is_of_mark = |change: &Change| {
        change.task.as_number().is_some_and(|number| number as f64 == numbers::mark(directory))
            && scan.changes.iter().filter(is_gone).count() == 1
    };
    let is_settled = |change: &&Change| match &change.after {
        Some((_, look)) => look.print.is_settled(scan.seen),
        None => is_mark_settled() || is_of_mark(change),
    };
    scan.changes.iter().filter(is_settled).collect()
}

fn write(
    handle: &Handle,
    journal: &Journal,
    scan: &Scan,
    changes: &[&Change],
    queue: &Queue,
) -> Result<bool, StoreError> {
    let state = turn_record::load_or_new(&queue.file, &queue.path)?;
    if state.busy || state.sequence % 2 == 1 {
        return Ok(false);
    }
    let transaction = journal.begin()?;
    let newest = journal.newest()?;
    if newest != scan.revision || !is_written_out(journal, &state, newest)? || !is_still_so(handle, changes)? {
        return Ok(false);
    }
    let revision = newest.next();
    let gone: Vec<&TaskId> =
        changes.iter().filter(|change| change.after.is_none()).map(|change| &change.task).collect();
    let deleted = deletions(&handle.files.place, journal, &gone)?;
    let outside: Vec<OutsideChange<'_>> = changes
        .iter()
        .map(|change| OutsideChange {
            task: &change.task,
            before: change.before.as_ref(),
            after: change.after.as_ref().map(|(image, _)| image),
            mode: change.mode,
            written: change.after.as_ref().map(|(_, look)| look.print.mtime),
            is_deletion: deleted.contains(&change.task),
        })
        .collect();
    let recorded = journal.append_outside(revision, clock::now(), &outside, Extent::EachItsOwn)?;
    let removed = changes.iter().filter(|change| change.after.is_none());
    let seen = removed.map(|change| journal.known(&change.task)).collect::<Result<Vec<_>, _>>()?;
    if let Some(last) = seen.into_iter().flatten().map(|known| known.seen).max() {
        journal.set_last_look(Timestamp(last / 1_000_000))?;
    }
    for change in changes {
        match &change.after {
            Some((image, look)) => {
                let (seen, mode) = (scan.seen, Some(look.mode));
                journal.set_known(&change.task, &Known { print: look.print, seen, image: image.clone(), mode })?;
            }
            None => journal.forget(&change.task)?,
        }
    }
    for (task, look) in &scan.reprints {
        journal.set_print(task, look.print, look.mode, scan.seen)?;
    }
    journal.end(transaction)?;
    handle.journals.note_stale_writes(recorded.stale_writes);
    if !outside.is_empty() {
        turn_record::save_applied(&queue.file, revision.0).map_err(StoreError::io("cannot write", &queue.path))?;
        tracing::info!(revision = revision.0, tasks = outside.len(), "recorded what another program did");
    }
    Ok(true)
}

/// Tells whether every commit of ours is in the files.
fn is_written_out(journal: &Journal, state: &TurnRecord, newest: Revision) -> Result<bool, StoreError> {
    if state.turns == 0 || state.applied >= newest.0 {
        return Ok(true);
    }
    // The process that recorded what other programs did may have died before it could say so.
    let pending = journal.after(Revision(state.applied))?;
    Ok(pending.iter().all(|stored| stored.entry.op.is_elsewhere()))
}

/// Tells whether the files still are what the look found.
fn is_still_so(handle: &Handle, changes: &[&Change]) -> Result<bool, StoreError> {
    let Some(directory) = handle.files.place.open()? else {
        return Ok(changes.iter().all(|change| change.after.is_none()));
    };
    Ok(changes.iter().all(|change| {
        let now = hidden::find(&handle.files.place, directory.as_fd(), &change.task);
        let now = now.ok().and_then(|(_, look)| look).map(|look| look.print);
        now == change.after.as_ref().map(|(_, look)| look.print)
    }))
}
