//! The files of a folder: read, replaced, and given up to a rival that was faster.
//!
//! No other program keeps to a lock here, so that the last look at a file is the last thing before it is replaced. After a task was taken, a
//! program that read its file before that writes its own claim a moment later and never looks again. So we look again, and it is
//! theirs. Such a program opens the file and writes to it. If it opened the file that we replaced, its claim stands in a file that has no
//! name any more: it is brought back. If it opened ours, its claim stands there, and the next reader sees it. A program that takes longer
//! than [`MOMENT`] between reading and writing cannot be waited for.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::CWD;
use taskyard_core::dialect::native::{LARGEST, Unreadable};
use taskyard_core::dialect::teaching::{self, BadCarried, Folder, parse_carried, print_carried, read, task_of};
use taskyard_core::{Image, Status, Task, TaskId};

use crate::clock;
use crate::failpoint::reach;
use crate::regular_file::{self, NotRead};
use crate::replacement::create_replacement;
use crate::store::dialects::{KnownFiles, clear_away};
use crate::store::journal::{FileStamp, Known};
use crate::store::new_name::rename_to_new;
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

/// What our temporary files begin with.
pub(super) const TEMPORARY: &str = ".taskyard-";

/// A file that was replaced, kept open: a program that opened it before may still write to it.
#[derive(Debug)]
pub(super) struct Replaced {
    /// Its name.
    pub(super) name: String,
    /// What was there before.
    pub(super) old: File,
    /// What it held.
    pub(super) before: Vec<u8>,
    /// What was put in its place.
    pub(super) ours: Vec<u8>,
}

/// Writes a file, whatever is there.
pub(super) fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write(folder, name, bytes, |from, to| fs::rename(from, to).map(|()| true)).map(drop)
}

/// Writes a file where there is none.
pub(super) fn put_new(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write(folder, name, bytes, |from, to| rename_to_new(CWD, from, to).map(|()| true)).map(drop)
}

/// Replaces a file that holds this; none where it holds something else at the last moment.
pub(super) fn replace(folder: &Path, name: &str, before: &[u8], ours: &[u8]) -> Result<Option<Replaced>, StoreError> {
    let path = folder.join(name);
    let old = match regular_file::open(&path, LARGEST) {
        Ok((old, _)) => old,
        Err(why) if why.is_missing() => return Ok(None),
        Err(why) => return Err(StoreError::not_read(&path, why)),
    };
    let is_put = write(folder, name, ours, |from, to| {
        // Nothing may come between this look and the renaming.
        let is_same = is_at(&old, to)? && contents(&old)? == before;
        if is_same { fs::rename(from, to).map(|()| true) } else { Ok(false) }
    })?;
    let replaced = || Replaced { name: name.to_owned(), old, before: before.to_vec(), ours: ours.to_vec() };
    Ok(is_put.then(replaced))
}

/// Reads an open file from its beginning.
pub(super) fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Tells whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((open.dev(), open.ino()) == (found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes a file beside its place and lets `rename` put it there. Returns what that said.
fn write(
    folder: &Path,
    name: &str,
    bytes: &[u8],
    rename: impl FnOnce(&Path, &Path) -> io::Result<bool>,
) -> Result<bool, StoreError> {
    let path = folder.join(name);
    let temporary = folder.join(format!("{TEMPORARY}{}-{name}.tmp", std::process::id()));
    let written = || -> io::Result<bool> {
        regular_file::must_be_replaceable(&path)?;
        // A process of our number may have died here, and another user may have put a link there.
        let _ = fs::remove_file(&temporary);
        let mut file = create_replacement(&temporary, &path)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        reach("dialect: temporary file written");
        let is_put = rename(&temporary, &path)?;
        reach("dialect: a file in its place");
        Ok(is_put)
    };
    let is_put = written();
    if !matches!(is_put, Ok(true)) {
        let _ = fs::remove_file(&temporary);
    }
    is_put.map_err(StoreError::io("cannot write", path))
}

/// Reads the file at a path; none where there is none.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match regular_file::read(path, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) if why.is_missing() => Ok(None),
        Err(NotRead::NotRegular { .. } | NotRead::TooLarge { .. }) => Ok(None),
        Err(why) => Err(StoreError::not_read(path, why)),
    }
}

/// How long rivals may take between their look at a file and their writing to it.
const MOMENT: Duration = Duration::from_millis(50);
/// How often we look at least: where the machine is so busy that we get to it seldom, so do they.
const LOOKS: u32 = 40;
/// How long we wait at most, also for a rival to finish what is half written.
const LONGEST: Duration = Duration::from_millis(250);
/// How often we look.
const STEP: Duration = Duration::from_millis(1);

/// Tells whether a change takes a task that had no owner.
pub(super) fn is_taken(id: &TaskId, before: &[u8], after: &[u8]) -> bool {
    let task = |bytes: &[u8]| teaching::read(id, bytes, None, &[]).ok();
    let is_free = |task: &Task| task.status == Status::Pending && task.owner().is_none();
    matches!((task(before), task(after)), (Some(before), Some(after)) if is_free(&before) && !is_free(&after))
}

/// Waits for rivals that looked at these tasks before they were taken, and lets their writing count.
pub(super) fn yield_to_rivals(folder: &Path, taken: &[Replaced]) -> Result<(), StoreError> {
    if taken.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    for looks in 1.. {
        let mut is_torn = false;
        for replaced in taken {
            is_torn |= bring_back(folder, replaced)?;
        }
        let waited = started.elapsed();
        if waited >= LONGEST || (waited >= MOMENT && looks >= LOOKS && !is_torn) {
            break;
        }
        thread::sleep(STEP);
    }
    Ok(())
}

/// Brings back what a rival wrote to the file that was replaced. Returns whether it is not done yet.
fn bring_back(folder: &Path, replaced: &Replaced) -> Result<bool, StoreError> {
    let path = folder.join(&replaced.name);
    let theirs = contents(&replaced.old).map_err(StoreError::io("cannot read", &path))?;
    if theirs == replaced.before {
        return Ok(false);
    }
    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&theirs).is_ok();
    // What stands there by now may be newer than both.
    if is_whole && read_file(&path)?.as_deref() == Some(&replaced.ours) {
        tracing::info!(file = replaced.name, "a rival took the task at the same moment");
        put(folder, &replaced.name, &theirs)?;
    }
    Ok(!is_whole)
}

/// What each file looks like without reading it.
pub(super) type Stamps = BTreeMap<String, FileStamp>;

/// A folder as it was read.
#[derive(Clone, Debug)]
pub(super) struct RawFolder {
    pub(super) folder: Folder,
    pub(super) stamps: Stamps,
    pub(super) waiting: HashMap<TaskId, Vec<TaskId>>,
    /// What the journal did not know of files: how those look that had to be read, `None` for those that are gone.
    pub(super) learned: BTreeMap<TaskId, Option<Known>>,
}

impl RawFolder {
    /// Takes what was read, and looks who waits for whom.
    pub(super) fn new(folder: Folder, stamps: Stamps, learned: BTreeMap<TaskId, Option<Known>>) -> Self {
        let waiting = teaching::waiting(&folder);
        Self { folder, stamps, waiting, learned }
    }
}
