//! The files of a folder: read and replaced.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::dialect::native::{LARGEST, Unreadable};
use taskyard_core::dialect::teaching::{BadCarried, Folder, parse_carried, print_carried, read, task_of};
use taskyard_core::{Image, TaskId};

use super::raw_folder::{RawFolder, Stamps};
use super::replacing::{TEMPORARY, put, put_new, replace};
use super::yielding::{is_taken, yield_to_rivals};
use crate::clock;
use crate::regular_file::{self, NotRead};
use crate::store::dialects::{KnownFiles, clear_away};
use crate::store::journal::{FileStamp, Known};
use crate::store::{Litter, StoreError};

/// What the task files have no words for.
const CARRIED: &str = ".taskyard.json";
/// What is carried for every task is together no larger than this.
const LARGEST_CARRIED: u64 = 256 * 1024 * 1024;
/// Other programs write in place: what may be half written is read again for so long.
const LOOKING_AGAIN: Duration = Duration::from_millis(250);

/// Reads a folder; none where there is none. A file that is known, and was surely not changed since it was seen, is not read again.
pub(super) fn load(path: &Path, known: &KnownFiles) -> Result<Option<RawFolder>, StoreError> {
    let started = Instant::now();
    loop {
        let seen = clock::wall();
        let Some(before) = stamps(path).map_err(StoreError::io("cannot list", path))? else { return Ok(None) };
        let mut folder = Folder::default();
        let mut learned = BTreeMap::new();
        let mut is_whole = true;
        // Whether all is as the journal has it. Then it was so when the looking began.
        let mut is_known = true;
        for (name, stamp) in &before {
            let id = task_of(name);
            if let Some((id, known)) = id.as_ref().and_then(|id| Some((id, known.get(id)?)))
                && known.print == stamp.print
                && stamp.is_settled(known.seen)
            {
                folder.files.insert(id.clone(), known.image.bytes().to_vec());
                continue;
            }
            is_known &= stamp.is_settled(seen);
            let file = path.join(name);
            let limit = if name == CARRIED { LARGEST_CARRIED } else { LARGEST };
            let bytes = match regular_file::read(&file, limit) {
                Ok(bytes) => bytes,
                Err(why) if why.is_missing() => {
                    is_whole = false;
                    continue;
                }
                Err(NotRead::NotRegular { .. } | NotRead::TooLarge { .. }) if name != CARRIED => continue,
                Err(why) => return Err(StoreError::not_read(&file, why)),
            };
            if name == CARRIED {
                folder.carried = parse_carried(&bytes).map_err(|why| match why {
                    BadCarried::TooNew(source) => StoreError::NewerFile { path: file, source },
                    BadCarried::NotOurs => {
                        StoreError::NoTask { path: file, why: Unreadable::NotJson { why: why.to_string() } }
                    }
                })?;
            } else if let Some(id) = id {
                is_known &= known.get(&id).is_some_and(|known| known.image.bytes() == bytes);
                if read(&id, &bytes, None, &[]).err().is_some_and(|why| why.may_be_torn()) {
                    is_whole = false;
                } else {
                    let image = Image::new(bytes.as_slice());
                    learned.insert(id.clone(), Some(Known { print: stamp.print, seen, image, mode: None }));
                }
                folder.files.insert(id, bytes);
            }
        }
        let gone = known.keys().filter(|id| !before.contains_key(&file_name(id)));
        learned.extend(gone.map(|id| (id.clone(), None)));
        is_known &= learned.values().all(Option::is_some);
        let is_same = (is_whole && is_known)
            || stamps(path).map_err(StoreError::io("cannot list", path))?.as_ref() == Some(&before);
        if (is_whole && is_same) || started.elapsed() > LOOKING_AGAIN {
            return Ok(Some(RawFolder::new(folder, before, learned)));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Returns what the files of a folder look like; none where there is no folder.
pub(super) fn stamps(path: &Path) -> io::Result<Option<Stamps>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut stamps = Stamps::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name != CARRIED && task_of(&name).is_none() {
            continue;
        }
        match entry.metadata() {
            Ok(found) => drop(stamps.insert(name, FileStamp::of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(stamps))
}

/// Tells whether the files that are about to be replaced, removed or made still look as they did.
pub(super) fn are_still(path: &Path, before: &RawFolder, after: &RawFolder) -> io::Result<bool> {
    let is_changed = |id: &&TaskId| before.folder.files.get(*id) != after.folder.files.get(*id);
    let changed = after.folder.files.keys().filter(is_changed);
    let removed = before.folder.files.keys().filter(|id| !after.folder.files.contains_key(*id));
    let carried = (before.folder.carried != after.folder.carried).then(|| CARRIED.to_owned());
    for name in changed.chain(removed).map(file_name).chain(carried) {
        let now = match fs::symlink_metadata(path.join(&name)) {
            Ok(found) => Some(FileStamp::of(&found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now != before.stamps.get(&name).copied() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns what has the name of a task's file and is no regular one.
pub(super) fn special_files(path: &Path) -> io::Result<Vec<Litter>> {
    let mut litter = Vec::new();
    for name in stamps(path)?.unwrap_or_default().into_keys() {
        let path = path.join(name);
        litter.extend(regular_file::special_at(&path)?.map(|found| Litter::SpecialFile { path, found }));
    }
    Ok(litter)
}

/// Writes what is different. What is carried comes first: without its task it means nothing, and a task without it is not whole.
///
/// Returns false, with some of it written, where a file is no longer what was read at the last look before it is replaced.
pub(super) fn save(path: &Path, before: Option<&Folder>, after: &Folder) -> Result<bool, StoreError> {
    fs::create_dir_all(path).map_err(StoreError::io("cannot create", path))?;
    clear_away(path, TEMPORARY);
    let nothing = Folder::default();
    let before = before.unwrap_or(&nothing);
    if before.carried != after.carried {
        match print_carried(&after.carried) {
            Some(text) => put(path, CARRIED, text.as_bytes())?,
            None => remove(path, CARRIED)?,
        }
    }
    let mut taken = Vec::new();
    for (id, bytes) in &after.files {
        let name = file_name(id);
        match before.files.get(id) {
            None => put_new(path, &name, bytes)?,
            Some(there) if there != bytes => match replace(path, &name, there, bytes)? {
                Some(replaced) => taken.extend(Some(replaced).filter(|_| is_taken(id, there, bytes))),
                None => return Ok(false),
            },
            Some(_) => {}
        }
    }
    for id in before.files.keys().filter(|id| !after.files.contains_key(*id)) {
        remove(path, &file_name(id))?;
    }
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(StoreError::io("cannot flush", path))?;
    yield_to_rivals(path, &taken)?;
    Ok(true)
}

/// Returns the name of the file of a task.
pub(super) fn file_name(id: &TaskId) -> String {
    format!("{}.json", id.file_stem())
}

fn remove(folder: &Path, name: &str) -> Result<(), StoreError> {
    let path = folder.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", path)(error)),
        _ => Ok(()),
    }
}
