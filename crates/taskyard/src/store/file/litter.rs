//! Unused files in a list's directory.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use taskyard_core::TaskId;
use taskyard_core::dialect::macf::{hidden_names, hidden_task_of, is_hidden_twice};
use taskyard_core::dialect::native::parse_int;
use taskyard_core::rules::changes::numbering::{counted, is_beyond_counting, number_of_file};

use crate::regular_file::{NotRead, special};
use crate::store::file::client_files::Handle;
use crate::store::file::reading::files;
use crate::store::file::reading::files::Contents;
use crate::store::journal::Journal;
use crate::store::list_directories::rename_to_new;
use crate::store::locks::client_lock::LIFE;
use crate::store::locks::dead_locks::{Sightings, maker_is_dead};
use crate::store::locks::list_paths::{OURS, c_name, look_at};
use crate::store::locks::queue::PATIENCE;
use crate::store::locks::{client_lock, dead_locks, list_paths};
use crate::store::{Litter, StoreError, StuckLock};

/// Returns abandoned locks, temporary files, and a high-water mark that is broken or too low.
pub(in crate::store) fn find(handle: &Handle) -> Result<Vec<Litter>, StoreError> {
    look_for(handle, handle.files.state().is_some_and(|state| state.busy))
}

/// Returns litter; `is_busy` tells whether one of our writers may be active.
fn look_for(handle: &Handle, is_busy: bool) -> Result<Vec<Litter>, StoreError> {
    let Some(directory) = handle.files.place.open()? else { return Ok(Vec::new()) };
    let mut litter = Vec::new();
    let names = list_paths::names(directory.as_fd(), &handle.files.place.directory)?;
    // Most names are tasks, for which no metadata is needed.
    for name in names.iter().filter(|name| name.ends_with(".lock") || name.starts_with('.')) {
        let path = handle.files.place.directory.join(name);
        let Ok(Some(look)) = look_at(directory.as_fd(), &c_name(name)) else { continue };
        let age = client_lock::age(&look);
        if is_lock(name) {
            litter.extend(dead_locks::judge(&c_name(name), &look, &sightings(handle)).map(|why| match why {
                StuckLock::Silent { age } => Litter::StaleLock { path, age },
                why => Litter::LockInTheWay { path, why },
            }));
        } else if name == ".lock" {
            litter.extend(special(look.kind).map(|found| Litter::SpecialFile { path, found }));
        } else if name.starts_with(OURS) && (!is_busy || age > LIFE) && maker_is_dead(name) {
            litter.push(Litter::Leftover { path });
        } else if name == ".highwatermark" {
            litter.extend(bad_mark(&handle.files.place.directory));
        } else if let Some(task) = hidden_task_of(name).filter(|_| handle.files.place.sees_hidden) {
            litter.extend(hidden_in_vain(handle, directory.as_fd(), path, task)?);
        }
    }
    let is_bad_mark = |item: &Litter| matches!(item, Litter::BadMark { .. } | Litter::UnreadableMark { .. });
    if !is_busy && !litter.iter().any(is_bad_mark) {
        litter.extend(low_mark(handle, &names)?);
    }
    litter.sort_by(|one, two| path_of(one).cmp(path_of(two)));
    Ok(litter)
}

/// Removes litter that still exists.
pub(in crate::store) fn sweep(handle: &Handle, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
    if litter.is_empty() {
        return Ok(Vec::new());
    }
    // No writer gets a turn while something other than a lock is at the lock's path.
    let (in_the_way, others): (Vec<&Litter>, Vec<&Litter>) =
        litter.iter().partition(|item| matches!(item, Litter::LockInTheWay { .. }));
    let mut swept = end_locks(handle, &in_the_way)?;
    if others.is_empty() {
        return Ok(swept);
    }
    // While we hold the turn, no other Taskyard process is in the middle of an operation; taking the turn removes a
    // dead lock.
    let (mut turn, journal) = handle.take_turn()?;
    turn.locks.patience = PATIENCE;
    turn.lock_list()?;
    let still_there = look_for(handle, false)?;
    for item in others {
        let path = path_of(item);
        let is_still_there = still_there.iter().any(|other| path_of(other) == path);
        let is_done = match item {
            // A scan for litter alone does not report what exists under a task's name.
            Litter::SpecialFile { .. } => set_special_aside(turn.directory.as_fd(), path)?,
            _ if !is_still_there => path.symlink_metadata().is_err() || path.ends_with(".lock.lock"),
            Litter::StaleLock { .. } => {
                let name = name_of(path);
                let look = look_at(turn.directory.as_fd(), &name).ok().flatten();
                look.is_some_and(|look| {
                    client_lock::take_aside(turn.directory.as_fd(), &name, &look, &client_lock::temporary_name("stale"))
                        .unwrap_or(false)
                })
            }
            Litter::Leftover { .. } => {
                let name = name_of(path);
                rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::empty()).is_ok()
                    || rustix::fs::unlinkat(&*turn.directory, &*name, AtFlags::REMOVEDIR).is_ok()
            }
            Litter::Shadowed { .. } => {
                let aside = path.with_added_extension("old");
                aside.symlink_metadata().is_err() && std::fs::rename(path, aside).is_ok()
            }
            Litter::TornFile { .. } | Litter::LockInTheWay { .. } => false,
            Litter::HiddenTwice { task, .. } => {
                let once = hidden_names(task).next().map(|name| c_name(&name)).unwrap_or_default();
                rename_to_new(turn.directory.as_fd(), &*name_of(path), &*once).is_ok()
            }
            Litter::HiddenWork { task, .. } => files::unhide(&handle.files.place, turn.directory.as_fd(), task).is_ok(),
            Litter::BadMark { .. } | Litter::UnreadableMark { .. } | Litter::LowMark { .. } => {
                let highest = files::scan(turn.directory.as_fd(), &handle.files.place.directory)?;
                crate::store::file::marks::raise_mark(&turn, highest.max(journal.standing()?.highest_number as f64))
                    .is_ok()
            }
        };
        if is_done {
            swept.push(item.clone());
        }
    }
    drop(turn);
    handle.give_back(journal);
    Ok(swept)
}

/// Returns whether a name is one of the client's locks.
fn is_lock(name: &str) -> bool {
    name == ".lock.lock" || name.ends_with(".json.lock")
}

/// Returns the record of locks dated in the future; empty without a data directory.
fn sightings(handle: &Handle) -> Sightings {
    Sightings::beside(&handle.queue_file().unwrap_or_default())
}

/// Removes locks that would never expire, and returns those that are gone.
fn end_locks(handle: &Handle, in_the_way: &[&Litter]) -> Result<Vec<Litter>, StoreError> {
    let mut ended = Vec::new();
    let Some(directory) = handle.files.place.open()?.filter(|_| !in_the_way.is_empty()) else { return Ok(ended) };
    for item in in_the_way {
        let path = path_of(item);
        let is_gone = dead_locks::end(directory.as_fd(), &name_of(path), &sightings(handle));
        if is_gone.map_err(StoreError::io("cannot take away the lock", path))? {
            ended.push((*item).clone());
        }
    }
    Ok(ended)
}

/// Renames something that is not a regular file, without opening it. Returns false if it is a regular file by now.
fn set_special_aside(directory: BorrowedFd<'_>, path: &Path) -> Result<bool, StoreError> {
    let name = name_of(path);
    let io = || StoreError::io("cannot rename", path);
    match look_at(directory, &name).map_err(io())? {
        Some(look) if special(look.kind).is_some() => {
            let wanted = format!("{}.unreadable", name.to_string_lossy());
            client_lock::set_aside(directory, &name, &wanted).map_err(io())?;
            Ok(true)
        }
        Some(_) => Ok(false),
        None => Ok(true),
    }
}

fn name_of(path: &Path) -> CString {
    c_name(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn bad_mark(directory: &Path) -> Option<Litter> {
    let path = directory.join(".highwatermark");
    let bytes = match files::mark_file(directory) {
        Ok(bytes) => bytes,
        Err(NotRead::System(_)) => return None,
        Err(why) => return Some(Litter::UnreadableMark { path, why: why.to_string() }),
    };
    let found = String::from_utf8_lossy(&bytes).into_owned();
    let is_bad = parse_int(found.trim()).is_none() || is_beyond_counting(found.trim());
    is_bad.then_some(Litter::BadMark { path, found })
}

/// Reports a hidden file that should not be hidden: next to another file of the task, hidden twice, or of an open task.
fn hidden_in_vain(
    handle: &Handle,
    directory: BorrowedFd<'_>,
    path: PathBuf,
    task: TaskId,
) -> Result<Option<Litter>, StoreError> {
    // If another file has fewer dots, it takes precedence.
    let (counting, _) =
        files::find(&handle.files.place, directory, &task).map_err(StoreError::io("cannot look at", &path))?;
    if counting != name_of(&path) {
        return Ok(Some(Litter::Shadowed { path, task }));
    }
    let contents = files::read(&handle.files.place, directory, &task).map_err(StoreError::io("cannot read", &path))?;
    let is_open = matches!(contents, Contents::Task(found, ..) if found.status.is_open());
    if !is_open && is_hidden_twice(&counting.to_string_lossy()) {
        return Ok(Some(Litter::HiddenTwice { path, task }));
    }
    Ok(is_open.then_some(Litter::HiddenWork { path, task }))
}

/// Reports a mark from which the client would reuse a number: one that was used but is in neither the mark nor a file
/// name.
fn low_mark(handle: &Handle, names: &[String]) -> Result<Option<Litter>, StoreError> {
    let hidden = names.iter().filter_map(|name| counted(hidden_task_of(name)?.as_str()));
    let hidden = hidden.fold(0.0, f64::max) as u64;
    let standing = handle.journals.reading(|journal| journal.map(Journal::standing).transpose())?;
    let used = standing.map_or(0, |standing| standing.highest_number).max(hidden);
    let mark = files::mark(&handle.files.place.directory);
    let highest_file = names.iter().filter_map(|name| number_of_file(name)).fold(0.0, f64::max);
    let path = handle.files.place.directory.join(".highwatermark");
    Ok((used as f64 > mark.max(highest_file)).then_some(Litter::LowMark { path, mark: mark as u64, used }))
}

fn path_of(litter: &Litter) -> &Path {
    match litter {
        Litter::StaleLock { path, .. }
        | Litter::LockInTheWay { path, .. }
        | Litter::SpecialFile { path, .. }
        | Litter::Leftover { path }
        | Litter::BadMark { path, .. }
        | Litter::UnreadableMark { path, .. }
        | Litter::LowMark { path, .. }
        | Litter::Shadowed { path, .. }
        | Litter::TornFile { path }
        | Litter::HiddenTwice { path, .. }
        | Litter::HiddenWork { path, .. } => path,
    }
}
