//! Recording what other programs did, so that history is complete and what they removed can be restored: by a reader that looks, and by a
//! writer that finds other files than the journal knows.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use taskyard_core::dialect::team_file;
use taskyard_core::rules::history::vanishing::{Rest, is_deletion};
use taskyard_core::{Image, Revision, TaskId, Timestamp};

use super::scan::{self, Change, Scan};
use super::{files, numbers};
use crate::store::StoreError;
use crate::store::file::handle::Handle;
use crate::store::journal::{Extent, Journal, Known, OutsideChange, OutsideRecord};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::queue::{self, Queue};
use crate::store::locks::turn_record::{self, TurnRecord};
use crate::{clock, regular_file};

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
    let outside = changes.iter().map(|change| OutsideChange {
        task: &change.task,
        before: change.before.as_ref(),
        after: change.after.as_ref().map(|(image, _)| image),
        mode: change.mode,
        written: change.after.as_ref().map(|(_, look)| look.print.mtime),
        is_deletion: false,
    });
    let recorded = append(journal, &handle.files.place, outside.collect(), revision, clock::now())?;
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
        let now = files::find(&handle.files.place, directory.as_fd(), &change.task);
        let now = now.ok().and_then(|(_, look)| look).map(|look| look.print);
        now == change.after.as_ref().map(|(_, look)| look.print)
    }))
}

/// Returns those of the tasks whose files are gone that a client deleted. The journal still knows them.
fn deletions(place: &ListPaths, journal: &Journal, gone: &[&TaskId]) -> Result<HashSet<TaskId>, StoreError> {
    let mark = numbers::mark(&place.directory);
    if !gone.iter().any(|id| is_deletion(id, mark, Rest::Others)) {
        return Ok(HashSet::new());
    }
    let rest = rest(place, journal, gone)?;
    Ok(gone.iter().filter(|id| is_deletion(id, mark, rest)).map(|id| (*id).clone()).collect())
}

/// Tells what is left of the list.
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

/// Returns when the team that works on the list was made; `None` if there is none.
fn team_made(place: &ListPaths) -> Option<Timestamp> {
    let teams = place.directory.parent()?.parent()?.join("teams");
    let file = teams.join(place.directory.file_name()?).join("config.json");
    let team = team_file::read(&regular_file::read(&file, team_file::LARGEST).ok()?).ok()?;
    Some(team.created_at)
}

/// A file that was not in its last known state when we read it was changed by another program; history says so, and what it took back of
/// ours. `found` is what each file holds and, if that is known, when it was written, in nanoseconds. Returns `None` if no file was changed.
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

/// Writes into the journal what other programs did, and which of the files that are gone a client deleted.
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
