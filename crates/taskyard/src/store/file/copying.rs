//! Copying a list out while writers are at work: the files are those of a revision of the journal that is copied with them.
//!
//! The journal knows what every file held at each of its revisions. So one transaction that reads it is the moment, and whatever
//! happens to the files meanwhile does not matter. Only what the journal does not know comes from the files as they are.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::dialect::macf::hidden_task_of;

use crate::clock;
use crate::failpoint::reach;
use crate::store::file::handle::Handle;
use crate::store::file::reading::files;
use crate::store::file::reading::observe;
use crate::store::journal::Journal;
use crate::store::list_copy::is_lock;
use crate::store::locks::list_paths::{ListPaths, OURS, task_of};
use crate::store::{ListCopy, ListCopyTarget, StoreError};

/// For so long what other programs did is tried to be recorded, while they go on.
const RECORDING: Duration = Duration::from_secs(2);
/// Long enough for a file that was touched this instant to be recognisable by its times.
const SETTLING: Duration = Duration::from_millis(25);
/// The grain of the clock that files are stamped by, and some more.
const GRAIN: i64 = 20_000_000;

/// Copies the list.
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
    let began = clock::wall();
    let moment = journal.begin_to_read()?;
    // Looked through before anything is handed out: then nothing of it has to be taken back.
    if let Err(error) = journal.each_known(|_, _| Ok(())) {
        handle.journals.note(&error);
        return copy_as_it_is(handle, to, Some(error.to_string()));
    }
    let copied = copy_moment(handle, &journal, began, to);
    drop(moment);
    handle.give_back(journal);
    copied
}

/// Records what other programs did, so that the journal knows every file. Where a program writes to a file without end, or a writer keeps
/// the turn, we give that up: what is not recorded then is no part of the moment, or comes along as it is where the journal knows nothing
/// of it. Within a transaction of our own nothing is recorded: it would wait for itself.
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

/// Copies the list at the moment of the transaction that reads the journal, which was begun at that time.
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
    // A copy takes hidden tasks, too, in whatever rules they are hidden.
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
        // A task that the journal does not know and that came after the moment is not part of it.
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

/// Copies the files of a list whose journal cannot be read, or that has none.
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
