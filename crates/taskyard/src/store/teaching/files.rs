//! The files of a teaching folder: reading them, replacing them, and yielding to another program that claimed a task
//! first.
//!
//! No other program takes a lock here, so a file is checked immediately before it is replaced. A program that read a
//! file before we took the task may write its own claim a moment later without checking again. So we check again for a
//! while, and the task is theirs. Such a program opens the file and writes to it. If it opened the file that we
//! replaced, its claim is in a file without a name, and we restore it. If it opened our file, its claim is there, and
//! the next reader sees it. A program that takes longer than [`MOMENT`] between reading and writing cannot be waited
//! for.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use serde_json::Value;
use taskyard_core::dialect::native::{LARGEST, Unreadable};
use taskyard_core::dialect::teaching;
use taskyard_core::dialect::teaching::{BadCarried, Folder, parse_carried, print_carried, read, task_of};
use taskyard_core::{Image, ListId, Rules, Status, Task, TaskId, Timestamp};

use super::files;
use crate::failpoint::reach;
use crate::regular_file::{NotRead, create_replacement};
use crate::store::dialects::{Changes, DialectFiles, DialectStore, KnownFiles, Loaded, clear_away, lock_in_time};
use crate::store::journal::{FileStamp, Fingerprint, Known};
use crate::store::kit::Home;
use crate::store::list_directories::{directories_gone, list_directories, named, only_list, rename_to_new};
use crate::store::{FileLayout, Litter, Store, StoreError};
use crate::system::random_number;
use crate::{regular_file, system};

/// The file for what the task files cannot express.
const CARRIED: &str = ".taskyard.json";
/// Maximum size in bytes of that file.
const LARGEST_CARRIED: u64 = 256 * 1024 * 1024;
/// How long to keep rereading a file that may be half written, since other programs write in place.
const LOOKING_AGAIN: Duration = Duration::from_millis(250);

/// Reads a folder; `None` if it does not exist. A known file is not read again if it certainly has not changed since.
pub(super) fn load(path: &Path, known: &KnownFiles) -> Result<Option<RawFolder>, StoreError> {
    let started = Instant::now();
    loop {
        let seen = system::wall();
        let Some(before) = stamps(path).map_err(StoreError::io("cannot list", path))? else { return Ok(None) };
        let mut folder = Folder::default();
        let mut learned = BTreeMap::new();
        let mut is_whole = true;
        // Whether everything is as recorded in the journal. If so, it was already so when reading began.
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

/// Returns the metadata of the files in a folder; `None` if the folder does not exist.
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

/// Returns whether the files about to be replaced, removed or created still have the same metadata.
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

/// Returns entries with the name of a task file that are not regular files.
pub(super) fn special_files(path: &Path) -> io::Result<Vec<Litter>> {
    let mut litter = Vec::new();
    for name in stamps(path)?.unwrap_or_default().into_keys() {
        let path = path.join(name);
        litter.extend(regular_file::special_at(&path)?.map(|found| Litter::SpecialFile { path, found }));
    }
    Ok(litter)
}

/// Writes the differences. [`CARRIED`] is written first: without its task an entry there means nothing, but a task
/// without its entry is incomplete.
///
/// Returns false, with some files possibly written, if the final check before a replacement finds that a file has
/// changed since it was read.
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

/// Prefix of our temporary files.
pub(super) const TEMPORARY: &str = ".taskyard-";

/// A replaced file, kept open because a program that opened it earlier may still write to it.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) name: String,
    /// The previous file.
    pub(super) old: File,
    /// Its contents when it was replaced.
    pub(super) before: Vec<u8>,
    /// The contents that replaced it.
    pub(super) ours: Vec<u8>,
}

/// Writes a file, replacing an existing one.
pub(super) fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write(folder, name, bytes, |from, to| fs::rename(from, to).map(|()| true)).map(drop)
}

/// Writes a file that must not exist yet.
pub(super) fn put_new(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write(folder, name, bytes, |from, to| rename_to_new(CWD, from, to).map(|()| true)).map(drop)
}

/// Replaces a file with these contents. Returns `None` if it has other contents at the last moment.
pub(super) fn replace(folder: &Path, name: &str, before: &[u8], ours: &[u8]) -> Result<Option<Replaced>, StoreError> {
    let path = folder.join(name);
    let old = match regular_file::open(&path, LARGEST) {
        Ok((old, _)) => old,
        Err(why) if why.is_missing() => return Ok(None),
        Err(why) => return Err(StoreError::not_read(&path, why)),
    };
    let is_put = write(folder, name, ours, |from, to| {
        // Nothing must happen between this check and the rename.
        let is_same = is_at(&old, to)? && contents(&old)? == before;
        if is_same { fs::rename(from, to).map(|()| true) } else { Ok(false) }
    })?;
    let replaced = || Replaced { name: name.to_owned(), old, before: before.to_vec(), ours: ours.to_vec() };
    Ok(is_put.then(replaced))
}

pub(super) fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether the path refers to an open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((open.dev(), open.ino()) == (found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes a temporary file next to its destination and lets `rename` move it there. Returns the result of `rename`.
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
        // A process with our id may have died here, or another user may have created a link.
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

/// Reads the file at a path; `None` if there is none, or if it is not a regular file of acceptable size.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match regular_file::read(path, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) if why.is_missing() => Ok(None),
        Err(NotRead::NotRegular { .. } | NotRead::TooLarge { .. }) => Ok(None),
        Err(why) => Err(StoreError::not_read(path, why)),
    }
}

/// How long other programs may take between reading a file and writing to it.
const MOMENT: Duration = Duration::from_millis(50);
/// Minimum number of checks: on a machine too busy for us to check often, other programs are slow as well.
const LOOKS: u32 = 40;
/// Maximum time to wait, including for a half-written claim to be completed.
const LONGEST: Duration = Duration::from_millis(250);
/// Interval between checks.
const STEP: Duration = Duration::from_millis(1);

/// Returns whether a change takes a task that was pending and had no owner.
pub(super) fn is_taken(id: &TaskId, before: &[u8], after: &[u8]) -> bool {
    let task = |bytes: &[u8]| teaching::read(id, bytes, None, &[]).ok();
    let is_free = |task: &Task| task.status == Status::Pending && task.owner().is_none();
    matches!((task(before), task(after)), (Some(before), Some(after)) if is_free(&before) && !is_free(&after))
}

/// Waits for other programs that read these tasks before they were taken, and lets their writes win.
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

/// Restores what another program wrote to the replaced file. Returns whether that write is still incomplete.
fn bring_back(folder: &Path, replaced: &Replaced) -> Result<bool, StoreError> {
    let path = folder.join(&replaced.name);
    let theirs = contents(&replaced.old).map_err(StoreError::io("cannot read", &path))?;
    if theirs == replaced.before {
        return Ok(false);
    }
    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&theirs).is_ok();
    // The current file may be newer than both.
    if is_whole && read_file(&path)?.as_deref() == Some(&replaced.ours) {
        tracing::info!(file = replaced.name, "a rival took the task at the same moment");
        put(folder, &replaced.name, &theirs)?;
    }
    Ok(!is_whole)
}

/// The metadata of each file, without its contents.
pub(super) type Stamps = BTreeMap<String, FileStamp>;

/// The contents of a folder as read.
#[derive(Clone, Debug)]
pub(super) struct RawFolder {
    pub(super) folder: Folder,
    pub(super) stamps: Stamps,
    pub(super) waiting: HashMap<TaskId, Vec<TaskId>>,
    /// What the journal did not know yet: the state of each file that had to be read, `None` for files that are gone.
    pub(super) learned: BTreeMap<TaskId, Option<Known>>,
}

impl RawFolder {
    /// Computes the dependents of each task.
    pub(super) fn new(folder: Folder, stamps: Stamps, learned: BTreeMap<TaskId, Option<Known>>) -> Self {
        let waiting = teaching::waiting(&folder);
        Self { folder, stamps, waiting, learned }
    }
}

/// Maps lists to folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeachingPaths {
    /// A directory with one folder per list.
    Lists(PathBuf),
    /// A single folder, whatever the list is called.
    Folder(PathBuf),
}

/// Options for opening a store of teaching folders.
#[derive(Clone, Debug)]
pub struct TeachingOptions {
    /// Maps lists to folders.
    pub paths: TeachingPaths,
    /// Our own data directory.
    pub data: PathBuf,
    /// The rules for writing tasks.
    pub rules: Rules,
}

/// Opens a store of teaching folders. Nothing is read or created until a list is used.
pub fn open_teaching(options: TeachingOptions) -> Arc<dyn Store> {
    let TeachingOptions { paths, data, rules } = options;
    Arc::new(DialectStore::open(FolderFiles { paths }, data, rules))
}

#[derive(Debug)]
struct FolderFiles {
    paths: TeachingPaths,
}

impl DialectFiles for FolderFiles {
    type Raw = RawFolder;
    type Held = Option<File>;

    const LAYOUT: FileLayout = FileLayout::Named;

    const COUNTS_MISSING: bool = true;

    fn path(&self, list: &ListId) -> PathBuf {
        match &self.paths {
            TeachingPaths::Lists(root) => root.join(list.directory()),
            TeachingPaths::Folder(path) => path.clone(),
        }
    }

    fn lists(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        match &self.paths {
            TeachingPaths::Lists(root) => list_directories(root),
            TeachingPaths::Folder(path) => {
                let list = only_list(path).filter(|_| path.is_dir());
                Ok(list.map(|list| (list, path.clone())).into_iter().collect())
            }
        }
    }

    fn directories_of_lists(&self) -> Vec<PathBuf> {
        match &self.paths {
            TeachingPaths::Lists(root) => vec![root.clone()],
            TeachingPaths::Folder(path) => path.parent().map(Path::to_owned).into_iter().collect(),
        }
    }

    fn lists_without_a_place(&self, data: &Path) -> Vec<(ListId, PathBuf)> {
        match &self.paths {
            TeachingPaths::Lists(root) => {
                let folders = directories_gone(data, root).into_iter();
                folders.filter_map(|path| Some((named(&path)?, path))).collect()
            }
            TeachingPaths::Folder(path) => {
                let list = only_list(path).filter(|_| !path.exists());
                list.map(|list| (list, path.clone())).into_iter().collect()
            }
        }
    }

    fn home(&self, path: &Path) -> Home {
        Home::Folder(path.to_owned())
    }

    fn directory<'a>(&self, path: &'a Path) -> &'a Path {
        path
    }

    fn temporary(&self, _path: &Path) -> String {
        TEMPORARY.to_owned()
    }

    fn hold(&self, path: &Path, patience: Duration) -> Result<Option<Self::Held>, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(folder) => File::from(folder),
            Err(Errno::NOENT) => return Ok(Some(None)),
            Err(error) => return Err(StoreError::io("cannot open", path)(error.into())),
        };
        Ok(lock_in_time(folder, patience).map_err(StoreError::io("cannot lock", path))?.map(Some))
    }

    fn load(&self, path: &Path) -> Result<Option<RawFolder>, StoreError> {
        files::load(path, &KnownFiles::new())
    }

    fn look(
        &self,
        path: &Path,
        _rewrite: Option<&[u8]>,
        _is_quiet: &dyn Fn() -> Result<bool, StoreError>,
        known: &dyn Fn() -> Result<KnownFiles, StoreError>,
    ) -> Result<Loaded<RawFolder>, StoreError> {
        Ok(files::load(path, &known()?)?.map_or(Loaded::Absent, Loaded::Whole))
    }

    fn learned(&self, raw: &RawFolder) -> BTreeMap<TaskId, Option<Known>> {
        raw.learned.clone()
    }

    fn about_to_be_known(&self, after: &RawFolder, id: &TaskId) -> Option<Known> {
        // The metadata of the new file is not known yet: the next read reads it and finds what we wrote.
        let print = Fingerprint { inode: 0, mtime: 0, size: 0 };
        after.folder.files.get(id).map(|bytes| Known {
            print,
            seen: 0,
            image: Image::new(bytes.as_slice()),
            mode: None,
        })
    }

    fn forms(&self, raw: &RawFolder) -> BTreeMap<TaskId, Vec<u8>> {
        let form = |(id, bytes): (&TaskId, &Vec<u8>)| {
            let mut form = bytes.clone();
            if let Some(carried) = raw.folder.carried.get(id) {
                form.push(b'\n');
                form.extend(Value::Object(carried.clone()).to_string().into_bytes());
            }
            (id.clone(), form)
        };
        raw.folder.files.iter().map(form).collect()
    }

    fn read(&self, raw: &RawFolder, id: &TaskId) -> Result<Task, Unreadable> {
        let bytes = raw.folder.files.get(id).ok_or(Unreadable::Empty)?;
        let blocks = raw.waiting.get(id).map_or(&[][..], Vec::as_slice);
        teaching::read(id, bytes, raw.folder.carried.get(id), blocks)
    }

    fn is_occupied(&self, path: &Path, raw: Option<&RawFolder>, id: &TaskId) -> bool {
        let is_read = raw.is_some_and(|raw| raw.folder.files.contains_key(id));
        !is_read && path.join(files::file_name(id)).symlink_metadata().is_ok()
    }

    fn change(&self, raw: Option<&RawFolder>, changes: &Changes, _at: Timestamp) -> RawFolder {
        let mut folder = raw.map(|raw| raw.folder.clone()).unwrap_or_default();
        for (id, task) in changes {
            folder.carried.remove(id);
            match task {
                Some(task) => {
                    let written = teaching::write_over(folder.files.get(id).map(Vec::as_slice), task);
                    folder.files.insert(id.clone(), written.into_bytes());
                }
                None => drop(folder.files.remove(id)),
            }
        }
        let waiting = teaching::waiting(&folder);
        for (id, task) in changes.iter().filter_map(|(id, task)| Some((id, task.as_ref()?))) {
            let written = folder.files.get(id).map_or(&[][..], Vec::as_slice);
            let carried = teaching::carried_of(task, written, waiting.get(id).map_or(&[][..], Vec::as_slice));
            if !carried.is_empty() {
                folder.carried.insert(id.clone(), carried);
            }
        }
        RawFolder { folder, stamps: Stamps::default(), waiting, learned: BTreeMap::new() }
    }

    fn is_settled(&self, raw: &RawFolder, seen: i64) -> bool {
        raw.stamps.values().all(|stamp| stamp.is_settled(seen))
    }

    fn is_still(&self, path: &Path, raw: Option<&RawFolder>) -> bool {
        match (files::stamps(path), raw) {
            (Ok(None), None) => true,
            (Ok(Some(now)), Some(raw)) => now == raw.stamps,
            _ => false,
        }
    }

    fn save(
        &self,
        path: &Path,
        _held: &mut Self::Held,
        before: Option<&RawFolder>,
        after: &RawFolder,
    ) -> Result<bool, StoreError> {
        let is_still = match before {
            Some(before) => files::are_still(path, before, after).map_err(StoreError::io("cannot look at", path))?,
            None => self.is_still(path, None),
        };
        if !is_still {
            return Ok(false);
        }
        files::save(path, before.map(|before| &before.folder), &after.folder)
    }

    fn special_files(&self, path: &Path) -> io::Result<Vec<Litter>> {
        files::special_files(path)
    }

    fn new_id(&self, at: Timestamp) -> TaskId {
        teaching::new_id(at, (random_number() & 0xffff) as u16)
    }
}
