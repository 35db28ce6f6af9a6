//! Recording changes by other programs, so that the history is complete and removed tasks can be restored: by a reader,
//! or by a writer that finds files that differ from the journal.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use taskyard_core::dialect::team_file;
use taskyard_core::rules::history::vanishing::{Rest, is_deletion};
use taskyard_core::{Image, Revision, TaskId, Timestamp};

use super::scan::{Change, Scan};
use super::{files, scan};
use crate::store::StoreError;
use crate::store::file::client_files::Handle;
use crate::store::journal::{Extent, Journal, Known, OutsideChange, OutsideRecord};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::queue::Queue;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::locks::{queue, turn_record};
use crate::{regular_file, system};

/// Time after which a file that was just touched can be recognised by its timestamps.
const SETTLING: Duration = Duration::from_millis(25);
/// Maximum number of attempts.
const LOOKS: u32 = 3;

impl Handle {
    /// Records changes by other programs, waiting for files that were touched just now. Returns whether nothing is left
    /// to record.
    ///
    /// Records nothing while this process has a transaction on the list, because it would wait for itself.
    pub(in crate::store) fn observe(&self) -> Result<bool, StoreError> {
        if self.files.transactions.load(Ordering::Relaxed) > 0 {
            return Ok(false);
        }
        self.settle();
        // If the list is kept in memory, only changed files are read.
        match observe_changed(self)? {
            Some(is_complete) => Ok(is_complete),
            None => observe(self),
        }
    }
}

/// Reads the list and records changes by other programs, including those made just now. Returns whether nothing is left
/// to record.
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

/// Like [`observe`], for a list kept in memory: reads only changed files. Returns `None` if the list is not kept in
/// memory.
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

/// Like [`observe`], but makes our own writers wait, for when they leave no time to read a long list. Returns whether
/// nothing is left to record.
pub(in crate::store) fn observe_alone(handle: &Handle) -> Result<bool, StoreError> {
    let journal = handle.journal()?;
    let queue = queue::enter(&handle.queue_file()?)?;
    let scan = scan::scan(&handle.files.place, Some(&journal)).inspect_err(|error| handle.journals.note(error))?;
    let changes = settled(handle, &scan);
    let is_all_settled = changes.len() == scan.changes.len();
    // The effects of a power loss must not be recorded as changes by another program.
    let is_complete =
        handle.files.is_same_boot()? && (changes.is_empty() || write(handle, &journal, &scan, &changes, &queue)?);
    drop(queue);
    handle.give_back(journal);
    Ok(is_all_settled && is_complete)
}

/// Records what was found, as far as it can be trusted, unless one of our writers has the turn. Returns whether nothing
/// is left to record.
pub(in crate::store) fn record(handle: &Handle, journal: &Journal, scan: &Scan) -> bool {
    let changes = settled(handle, scan);
    if changes.is_empty() && scan.reprints.is_empty() {
        return true;
    }
    // The effects of a power loss must not be recorded as changes by another program.
    if !handle.files.is_same_boot().unwrap_or(false) {
        return false;
    }
    let queue = handle.queue_file().and_then(|path| queue::try_enter(&path));
    // Fingerprints only improve speed and can wait.
    let Ok(Some(queue)) = queue else { return changes.is_empty() };
    match write(handle, journal, scan, &changes, &queue) {
        Ok(recorded) => recorded,
        Err(error) => {
            handle.journals.note(&error);
            // A journal that cannot be written must not fail a reader.
            tracing::debug!(%error, "outside changes are not recorded");
            true
        }
    }
}

/// Returns whether everything found can be recorded now.
pub(in crate::store) fn is_all_settled(handle: &Handle, scan: &Scan) -> bool {
    settled(handle, scan).len() == scan.changes.len()
}

/// Returns the changes that can be recorded now.
fn settled<'a>(handle: &Handle, scan: &'a Scan) -> Vec<&'a Change> {
    let directory = &handle.files.place.directory;
    let is_gone = |change: &&Change| change.after.is_none();
    // The client raises the mark to the highest number before it resets a list, and to a task's number before it
    // deletes the task, so the list may have been read in the middle of a reset. If several tasks are gone, they are
    // judged together once the mark has settled.
    let is_mark_settled = || files::mark_look(directory).is_none_or(|print| print.is_settled(scan.seen));
    let is_of_mark = |change: &Change| {
        change.task.as_number().is_some_and(|number| number as f64 == files::mark(directory))
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
    let outside = changes.iter().map(|change| OutsideChange {
        task: &change.task,
        before: change.before.as_ref(),
        after: change.after.as_ref().map(|(image, _)| image),
        mode: change.mode,
        written: change.after.as_ref().map(|(_, look)| look.print.mtime),
        is_deletion: false,
    });
    let recorded = append(journal, &handle.files.place, outside.collect(), revision, system::now())?;
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
    if !changes.is_empty() {
        turn_record::save_applied(&queue.file, revision.0).map_err(StoreError::io("cannot write", &queue.path))?;
        tracing::info!(revision = revision.0, tasks = changes.len(), "recorded what another program did");
    }
    Ok(true)
}

/// Returns whether all of our commits are in the files.
fn is_written_out(journal: &Journal, state: &TurnRecord, newest: Revision) -> Result<bool, StoreError> {
    if state.turns == 0 || state.applied >= newest.0 {
        return Ok(true);
    }
    // The process that recorded changes by other programs may have died before updating the turn record.
    let pending = journal.after(Revision(state.applied))?;
    Ok(pending.iter().all(|stored| stored.entry.op.is_elsewhere()))
}

/// Returns whether the files are unchanged since they were read.
fn is_still_so(handle: &Handle, changes: &[&Change]) -> Result<bool, StoreError> {
    let Some(directory) = handle.files.place.open()? else {
        return Ok(changes.iter().all(|change| change.after.is_none()));
    };
    Ok(changes.iter().all(|change| {
        let now = files::find(&handle.files.place, directory.as_fd(), &change.task);
        let now = now.ok().and_then(|(_, look)| look).map(|look| look.print);
        now == change.after.as_ref().map(|(_, look)| look.print)
    }))
}

/// Returns which of the removed tasks a client deleted. The journal still knows them.
fn deletions(place: &ListPaths, journal: &Journal, gone: &[&TaskId]) -> Result<HashSet<TaskId>, StoreError> {
    let mark = files::mark(&place.directory);
    if !gone.iter().any(|id| is_deletion(id, mark, Rest::Others)) {
        return Ok(HashSet::new());
    }
    let rest = rest(place, journal, gone)?;
    Ok(gone.iter().filter(|id| is_deletion(id, mark, rest)).map(|id| (*id).clone()).collect())
}

/// Returns what is left of the list.
fn rest(place: &ListPaths, journal: &Journal, gone: &[&TaskId]) -> Result<Rest, StoreError> {
    let mut is_one = gone.len() == 1;
    if let Some(directory) = place.open()? {
        let went: HashSet<&TaskId> = gone.iter().copied().collect();
        for other in journal.known_ids()?.iter().filter(|id| !went.contains(id)) {
            let found = files::find(place, directory.as_fd(), other);
            if found.map_err(StoreError::io("cannot look at", place.task_file(other)))?.1.is_some() {
                return Ok(Rest::Others);
            }
            is_one = false;
        }
    }
    let known = gone.first().filter(|_| is_one).map(|id| journal.known(id)).transpose()?.flatten();
    let (Some(known), Some(id)) = (known, gone.first()) else { return Ok(Rest::NoneOfSeveral) };
    let was_open = known.image.task(id).is_ok_and(|task| task.status.is_open());
    let last_seen = Timestamp(known.seen / 1_000_000);
    Ok(Rest::NoneOfOne { was_open, is_for_new_team: team_made(place).is_some_and(|made| made >= last_seen) })
}

/// Returns when the team that works on the list was created; `None` if there is none.
fn team_made(place: &ListPaths) -> Option<Timestamp> {
    let teams = place.directory.parent()?.parent()?.join("teams");
    let file = teams.join(place.directory.file_name()?).join("config.json");
    let team = team_file::read(&regular_file::read(&file, team_file::LARGEST).ok()?).ok()?;
    Some(team.created_at)
}

/// Records files that were not in their last known state when we read them, and so were changed by another program,
/// including what it reverted of our changes. `found` has the contents of each file and, if known, its modification
/// time in nanoseconds. Returns `None` if no file was changed.
pub(in crate::store) fn journal_outside_changes<'a>(
    journal: &Journal,
    place: &ListPaths,
    found: impl Iterator<Item = (&'a TaskId, Option<&'a Image>, Option<i64>)>,
    revision: Revision,
    at: Timestamp,
) -> Result<Option<OutsideRecord>, StoreError> {
    let mut changed = Vec::new();
    for (task, before, written) in found {
        let known = journal.known(task)?;
        if known.as_ref().map(|known| &known.image) != before {
            changed.push((task, known, before, written));
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let changes = changed.iter().map(|(task, known, before, written)| OutsideChange {
        task,
        before: known.as_ref().map(|known| &known.image),
        after: *before,
        mode: known.as_ref().and_then(|known| known.mode),
        written: *written,
        is_deletion: false,
    });
    append(journal, place, changes.collect(), revision, at).map(Some)
}

/// Appends changes by other programs to the journal, marking those removals that are deletions by a client.
fn append(
    journal: &Journal,
    place: &ListPaths,
    mut changes: Vec<OutsideChange<'_>>,
    revision: Revision,
    at: Timestamp,
) -> Result<OutsideRecord, StoreError> {
    let gone: Vec<&TaskId> = changes.iter().filter(|change| change.after.is_none()).map(|change| change.task).collect();
    let deleted = deletions(place, journal, &gone)?;
    for change in &mut changes {
        change.is_deletion = deleted.contains(change.task);
    }
    journal.append_outside(revision, at, &changes, Extent::EachItsOwn)
}
