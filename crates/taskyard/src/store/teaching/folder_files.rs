//! What a folder is to the store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde_json::Value;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::dialect::teaching;
use taskyard_core::{Image, ListId, Rules, Task, TaskId, Timestamp};

use super::files::{self, RawFolder, Stamps, TEMPORARY};
use crate::random::random_number;
use crate::store::dialects::{Changes, DialectFiles, DialectStore, KnownFiles, Loaded, lock_in_time};
use crate::store::directories::directories_gone;
use crate::store::directories::{list_directories, named, only_list};
use crate::store::journal::{Fingerprint, Known};
use crate::store::kit::Home;
use crate::store::{FileLayout, Litter, Store, StoreError};

/// Which folder each list is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeachingPaths {
    /// In a directory of such folders, one for each list.
    Lists(PathBuf),
    /// One folder, whatever the list is called.
    Folder(PathBuf),
}

/// How a store of folders is opened.
#[derive(Clone, Debug)]
pub struct TeachingOptions {
    /// Which folder each list is in.
    pub paths: TeachingPaths,
    /// Our own data directory.
    pub data: PathBuf,
    /// The rules that tasks are written by.
    pub rules: Rules,
}

/// Opens a store of folders. Nothing is read or made until a list is asked for.
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
        // How the file will look is not known yet: the next look reads it, and finds what we wrote.
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
