//! Moving a list away from its files: closed in a writer's turn, and emptied when it has arrived elsewhere.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;

use taskyard_core::Revision;

use crate::failpoint::reach;
use crate::regular_file;
use crate::store::engine::ListFiles as _;
use crate::store::file::copying::record;
use crate::store::file::handle::Handle;
use crate::store::file::reading::files;
use crate::store::journal::{self, Journal, departure_in, note_departure, withdraw_departure};
use crate::store::locks::list_paths::{ListPaths, OURS};
use crate::store::{Closed, Departure, StoreError};

/// Larger files than this hold no task.
const LARGEST: u64 = 256 * 1024 * 1024;
/// What the client and we leave in the directory of a list beside its tasks.
const BESIDE_TASKS: [&str; 2] = [".highwatermark", ".lock"];

/// Closes the list, if it stands as it was copied and nobody works on its tasks.
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

/// Opens the list again, if this move closed it and it has not left.
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

/// Notes that the list has arrived elsewhere, and removes its tasks. Returns the names of the files that are left.
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

/// Removes every file that is as it was when the list was closed. What another program has written since stays.
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

/// Removes the directory, if nothing but the marks of the client and of ours is in it. Returns what else is.
pub(super) fn remove_directory(directory: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::io("cannot list", directory))?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<io::Result<_>>().map_err(StoreError::io("cannot list", directory))?;
    let is_mark = |name: &String| BESIDE_TASKS.contains(&name.as_str()) || name.starts_with(OURS);
    let (marks, mut left): (Vec<String>, Vec<String>) = names.into_iter().partition(is_mark);
    if left.is_empty() {
        for name in marks {
            let path = directory.join(name);
            fs::remove_file(&path).map_err(StoreError::io("cannot remove", path))?;
        }
        // The client may have made something in it meanwhile.
        let _ = fs::remove_dir(directory);
    }
    left.sort();
    Ok(left)
}

/// Keeps what other programs do from being recorded by this process, which would wait for its own turn.
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
