//! A configuration directory of the client, with our file store over it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::store::{FileStore, FileStoreOptions};

use crate::conformance::recording::{Disk, Recording};

/// A recording that is replayed, in a directory of its own.
pub(crate) struct Replay {
    folder: TempDir,
    pub(crate) yard: Yard,
}

impl Replay {
    /// Lays out what was on disk before the recording.
    pub(crate) fn new(recording: &Recording) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        for (path, contents) in &recording.disk_before {
            let path = config.join(path);
            if path.to_str().unwrap().ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::write(path, contents).unwrap();
            }
        }
        let rules = Rules::Client(recording.client);
        let options = FileStoreOptions { tasks: config.join("tasks"), data: Some(folder.path().join("data")), rules };
        let list = ListId::new(recording.list()).unwrap();
        let actor = AgentName::new("replay").unwrap();
        let yard = Yard::new(Arc::new(FileStore::open(options)), list, actor).with_rules(rules);
        Self { folder, yard }
    }

    /// Returns the replay with its yard changed.
    pub(crate) fn with(self, change: impl FnOnce(Yard, &Path) -> Yard) -> Self {
        Self { yard: change(self.yard, self.folder.path()), folder: self.folder }
    }

    /// Returns the folder that holds everything.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns everything in the directory of the list, hidden files and what may be left of locks included.
    pub(crate) fn disk(&self) -> Disk {
        let mut disk = Disk::new();
        let config = self.folder.path().join("config");
        let list = format!("tasks/{}", self.yard.list_id().directory());
        if config.join(&list).exists() {
            gather(&config, &list, &mut disk);
        }
        disk
    }
}

/// Takes in everything in a folder below a root, by its path.
pub(crate) fn gather(root: &Path, folder: &str, disk: &mut Disk) {
    disk.insert(format!("{folder}/"), String::new());
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            gather(root, &path, disk);
        } else {
            disk.insert(path, fs::read_to_string(entry.path()).unwrap());
        }
    }
}
