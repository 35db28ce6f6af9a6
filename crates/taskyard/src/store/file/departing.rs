//! Copying a list, and moving it to another store: closing it during a turn, and emptying it after it has arrived.
//!
//! A list can be copied while other processes are writing, since the journal knows the contents of every file at each
//! of its revisions. A read transaction on the journal fixes the point in time, whatever happens to the files
//! meanwhile. Only what the journal does not know is taken from the files as they are.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use taskyard_core::Revision;
use taskyard_core::dialect::macf::hidden_task_of;

use crate::failpoint::reach;
use crate::store::engine::ListFiles as _;
use crate::store::file::client_files::Handle;
use crate::store::file::reading::{files, observe};
use crate::store::file_care::is_lock;
use crate::store::journal::{Journal, departure_in, note_departure, withdraw_departure};
use crate::store::locks::list_paths::{ListPaths, OURS, task_of};
use crate::store::{Closed, Departure, ListCopy, ListCopyTarget, StoreError, journal};
use crate::{regular_file, system};

/// Maximum size in bytes of a task file.
const LARGEST: u64 = 256 * 1024 * 1024;
/// Files of the client and of Taskyard in a list's directory, other than tasks.
const BESIDE_TASKS: [&str; 2] = [".highwatermark", ".lock"];

/// Closes the list, if it has not changed since it was copied and no task is leased.
pub(super) fn close(
    handle: &Handle,
    departure: &Departure,
    copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
) -> Result<Closed, StoreError> {
    record(handle)?;
    let (turn, mut journal) = handle.take_turn()?;
    let _recording = NothingRecorded::in_turn(handle);
    let (standing, leases) = (journal.standing()?, journal.leases()?);
    if !leases.is_empty() {
        handle.give_back(journal);
        return Ok(Closed::Leased(leases));
    }
    if journal.has_pending_moves()? {
        let source = "a merge with another list is not finished".into();
        return Err(StoreError::Failed { doing: format!("close the list `{}`", handle.list), source });
    }
    let copied = copy()?;
    let sidecar = handle.sidecar()?;
    if copied != standing.newest || !turn.is_mine() {
        handle.give_back(journal);
        return Ok(Closed::Changed);
    }
    note_departure(sidecar, departure)?;
    reach("move: noted as leaving");
    match journal.close(&standing) {
        Ok(true) => {}
        not_closed => {
            withdraw_departure(sidecar)?;
            return not_closed.map(|_| Closed::Changed);
        }
    }
    reach("move: closed");
    handle.give_back(journal);
    handle.journals.close_idle();
    drop(turn);
    Ok(Closed::At(copied))
}

/// Reopens the list, if this move closed it and it has not left.
pub(super) fn reopen(handle: &Handle, token: &str) -> Result<(), StoreError> {
    let sidecar = handle.sidecar()?;
    match departure_in(sidecar)? {
        Some(departure) if departure.token == token && !departure.has_left => {
            journal::reopen(sidecar)?;
            handle.journals.forget();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Records that the list has arrived in the other store, and removes its tasks. Returns the names of the remaining
/// files.
pub(super) fn leave(handle: &Handle, token: &str) -> Result<Vec<String>, StoreError> {
    let sidecar = handle.sidecar()?;
    let departure = departure_in(sidecar)?.filter(|departure| departure.token == token);
    let Some(departure) = departure else {
        let source = "it was not this move that closed it".into();
        return Err(StoreError::Failed { doing: format!("empty the list `{}`", handle.list), source });
    };
    if !departure.has_left {
        note_departure(sidecar, &Departure { has_left: true, ..departure })?;
    }
    reach("move: noted as gone");
    handle.journals.forget();
    handle.files.let_go();
    remove_tasks(handle, sidecar)?;
    remove_directory(&handle.files.place.directory)
}

/// Removes every file that is unchanged since the list was closed.
fn remove_tasks(handle: &Handle, sidecar: &Path) -> Result<(), StoreError> {
    let place = ListPaths { sees_hidden: true, ..handle.files.place.clone() };
    let Some(directory) = place.open()? else { return Ok(()) };
    let closed = Journal::open_closed(sidecar)?;
    closed.each_known(|id, known| {
        let failed = |doing| StoreError::io(doing, place.task_file(id));
        let (name, _) = files::find(&place, directory.as_fd(), id).map_err(failed("cannot look at"))?;
        let path = place.directory.join(name.to_string_lossy().as_ref());
        match regular_file::read(&path, LARGEST) {
            Ok(contents) if contents == known.image.bytes() => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("cannot remove")(error)),
                _ => {
                    reach("move: a file is removed");
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    })
}

/// Removes the directory, if it contains only marker files. Returns the names of other files.
pub(super) fn remove_directory(directory: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::io("cannot list", directory))?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<io::Result<_>>().map_err(StoreError::io("cannot list", directory))?;
    let is_mark = |name: &String| BESIDE_TASKS.contains(&name.as_str()) || name.starts_with(OURS);
    let (mut marks, mut left): (Vec<String>, Vec<String>) = names.into_iter().partition(is_mark);
    if left.is_empty() {
        // Remove the high-water mark last: if another file cannot be removed, the used numbers are still known.
        marks.sort_by_key(|name| name == BESIDE_TASKS[0]);
        for name in marks {
            let path = directory.join(name);
            fs::remove_file(&path).map_err(StoreError::io("cannot remove", path))?;
        }
        // The client may have created a file in the meantime.
        let _ = fs::remove_dir(directory);
    }
    left.sort();
    Ok(left)
}

/// Prevents this process from recording changes by other programs, for which it would wait for its own turn.
struct NothingRecorded<'a>(&'a Handle);

impl<'a> NothingRecorded<'a> {
    fn in_turn(handle: &'a Handle) -> Self {
        handle.files.transactions.fetch_add(1, Ordering::Relaxed);
        Self(handle)
    }
}

impl Drop for NothingRecorded<'_> {
    fn drop(&mut self) {
        self.0.files.transactions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long to keep trying to record changes by other programs that continue to write.
const RECORDING: Duration = Duration::from_secs(2);
/// Time after which a file that was just touched can be recognised by its timestamps.
const SETTLING: Duration = Duration::from_millis(25);
/// The granularity of file timestamps, in nanoseconds, with a margin.
const GRAIN: i64 = 20_000_000;

pub(in crate::store) fn copy_out(handle: &Handle, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError> {
    let recorded = record(handle);
    let journal = match recorded {
        Err(StoreError::JournalDamaged { .. }) => None,
        recorded => recorded.map(|()| handle.journal_to_read())?,
    };
    let Some(journal) = journal else {
        let problem = handle.journals.refusal().map(|refusal| refusal.to_string());
        return copy_as_it_is(handle, to, problem);
    };
    let began = system::wall();
    let moment = journal.begin_to_read()?;
    // Check all rows before copying anything, so that nothing has to be taken back.
    if let Err(error) = journal.each_known(|_, _| Ok(())) {
        handle.journals.note(&error);
        return copy_as_it_is(handle, to, Some(error.to_string()));
    }
    let copied = copy_moment(handle, &journal, began, to);
    drop(moment);
    handle.give_back(journal);
    copied
}

/// Records changes by other programs, so that the journal knows every file. Gives up if a program keeps writing or a
/// writer keeps the turn. What is not recorded then is not part of the copy, or is copied as it is if the journal knows
/// nothing of it. Records nothing while this process has a transaction on the list, because it would wait for itself.
pub(super) fn record(handle: &Handle) -> Result<(), StoreError> {
    if handle.files.transactions.load(Ordering::Relaxed) > 0 {
        return Ok(());
    }
    let started = Instant::now();
    let mut is_complete = handle.observe()?;
    while !is_complete && started.elapsed() < RECORDING {
        handle.settle();
        is_complete = match observe::observe_alone(handle) {
            Err(StoreError::Busy { .. }) => return Ok(()),
            observed => observed?,
        };
        if !is_complete {
            thread::sleep(SETTLING);
        }
    }
    Ok(())
}

/// Copies the list as of the read transaction on the journal, which was begun at `began`.
fn copy_moment(
    handle: &Handle,
    journal: &Journal,
    began: i64,
    to: &mut dyn ListCopyTarget,
) -> Result<ListCopy, StoreError> {
    let revision = journal.newest()?;
    reach("backup: the moment of a list");
    to.take_journal(&mut |copy| journal.copy_to(copy))?;
    let mut copy = ListCopy { revision, has_journal: true, ..ListCopy::default() };
    // A copy includes hidden tasks, whatever the rules in force.
    let place = ListPaths { sees_hidden: true, ..handle.files.place.clone() };
    let directory = place.open()?;
    copy.exists = directory.is_some();
    let mut known_names = HashSet::new();
    journal.each_known(|id, known| {
        let name = match &directory {
            Some(directory) => files::find(&place, directory.as_fd(), id).map(|(name, _)| name),
            None => Ok(crate::store::locks::list_paths::file_name(id)),
        };
        let name = name.map_err(StoreError::io("cannot look at", place.task_file(id)))?;
        let name = name.to_string_lossy().into_owned();
        copy.add(to, &name, known.image.bytes(), known.mode)?;
        known_names.insert(name);
        Ok(())
    })?;
    reach("backup: what the journal knows is copied");
    if copy.exists {
        // A task that the journal does not know and that was created after that point in time is not part of the copy.
        let came_later = |name: &str, found: &Metadata| {
            let is_task = task_of(name).is_some() || hidden_task_of(name).is_some();
            is_task && found.is_file() && found.ctime() * 1_000_000_000 + found.ctime_nsec() + GRAIN > began
        };
        copy.add_folder(to, &place.directory, &|name, found| {
            known_names.contains(name) || is_passed_over(name, found) || came_later(name, found)
        })?;
    }
    Ok(copy)
}

/// Copies the files of a list whose journal is unreadable or missing.
fn copy_as_it_is(
    handle: &Handle,
    to: &mut dyn ListCopyTarget,
    journal_problem: Option<String>,
) -> Result<ListCopy, StoreError> {
    let exists = handle.files.place.open()?.is_some();
    let mut copy = ListCopy { exists, journal_problem, ..ListCopy::default() };
    if exists {
        copy.add_folder(to, &handle.files.place.directory, &is_passed_over)?;
    }
    Ok(copy)
}

fn is_passed_over(name: &str, found: &Metadata) -> bool {
    name.starts_with(OURS) || is_lock(name, found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::remove_directory;

    #[test]
    fn list_that_cannot_go_keeps_its_high_water_mark() {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join("list");
        // Unlinking fails if a directory has the name of the client's file.
        for directory in [list.join(".lock"), list.join(".taskyard-left")] {
            fs::create_dir_all(directory).unwrap();
            fs::write(list.join(".highwatermark"), "7").unwrap();
            assert!(remove_directory(&list).is_err());
            assert_eq!(fs::read_to_string(list.join(".highwatermark")).unwrap(), "7");
            fs::remove_dir_all(&list).unwrap();
        }
        fs::create_dir_all(&list).unwrap();
        fs::write(list.join(".highwatermark"), "7").unwrap();
        assert!(remove_directory(&list).unwrap().is_empty());
        assert!(!list.exists());
    }
}
