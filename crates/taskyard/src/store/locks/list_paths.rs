//! Where everything of one list is.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{Mode, OFlags};
use taskyard_core::dialect::macf::hidden_names;
use taskyard_core::{ListId, Rules, TaskId};

use crate::store::StoreError;
use crate::store::directories::must_not_be_foreign;
use crate::store::journal::{canonical, sidecar_of};

/// What the temporary files and set-aside locks of ours begin with. The client looks at no name that begins with a dot.
pub(in crate::store) const OURS: &str = ".taskyard-";

/// The paths of one list, or of one other file of the client's that is locked by itself.
#[derive(Clone, Debug)]
pub(in crate::store) struct ListPaths {
    /// The directory of task files, links resolved where it exists.
    pub(in crate::store) directory: PathBuf,
    /// Our own directory for this list, where we may keep one.
    pub(in crate::store) sidecar: Option<PathBuf>,
    /// The name of the lock that guards it.
    pub(in crate::store) lock: CString,
    /// Whether the directory is made where there is none.
    pub(in crate::store) makes_directory: bool,
    /// Whether tasks that are hidden from the client are looked for.
    pub(in crate::store) sees_hidden: bool,
    /// The path that may lead to it by a link, where one does.
    pub(in crate::store) link: Option<PathBuf>,
}

impl ListPaths {
    /// Finds the place of a list below a directory of lists.
    pub(in crate::store) fn of(tasks: &Path, data: Option<&Path>, list: &ListId, rules: Rules) -> Self {
        let given = tasks.join(list.directory());
        let directory = canonical(&given);
        let is_linked = std::path::absolute(&given).is_ok_and(|given| given != directory);
        let sidecar = data.map(|data| sidecar_of(data, &directory));
        Self {
            directory,
            sidecar,
            lock: c".lock.lock".to_owned(),
            makes_directory: true,
            sees_hidden: !rules.is_client(),
            link: is_linked.then_some(given),
        }
    }

    /// Returns the place of a list whose directories are known.
    pub(in crate::store) fn at(directory: PathBuf, sidecar: PathBuf, rules: Rules) -> Self {
        Self {
            directory,
            sidecar: Some(sidecar),
            lock: c".lock.lock".to_owned(),
            makes_directory: true,
            sees_hidden: !rules.is_client(),
            link: None,
        }
    }

    /// Returns the place of one file that is locked by itself, in a directory that is never made.
    pub(in crate::store) fn of_file(directory: PathBuf, file: &str) -> Self {
        let lock = lock_name(file);
        Self { directory, sidecar: None, lock, makes_directory: false, sees_hidden: false, link: None }
    }

    /// Returns the path of the lock that guards it.
    pub(in crate::store) fn lock_path(&self) -> PathBuf {
        self.directory.join(self.lock.to_string_lossy().as_ref())
    }

    /// Returns the path of a task's file.
    pub(in crate::store) fn task_file(&self, id: &TaskId) -> PathBuf {
        self.directory.join(format!("{}.json", id.file_stem()))
    }

    /// Returns the path of the file that a task is in: the plain one, but where only a hidden one is there.
    pub(in crate::store) fn file_in_use(&self, id: &TaskId) -> PathBuf {
        let plain = self.task_file(id);
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        if !self.sees_hidden || is_there(&plain) {
            return plain;
        }
        hidden_names(id).map(|name| self.directory.join(name)).find(|hidden| is_there(hidden)).unwrap_or(plain)
    }

    /// Opens the directory of task files; `None` where there is none.
    pub(in crate::store) fn open(&self) -> Result<Option<OwnedFd>, StoreError> {
        // The list, the directory of lists, and the client's own: what is above them is the system's.
        let links = self.link.iter().flat_map(|link| link.ancestors().take(3));
        must_not_be_foreign(links)
            .map_err(StoreError::io("cannot use", self.link.as_ref().unwrap_or(&self.directory)))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&self.directory, flags, Mode::empty()) {
            Ok(directory) => Ok(Some(directory)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(StoreError::io("cannot open", &self.directory)(error.into())),
        }
    }

    /// Makes the directory of task files where there is none, and opens it.
    pub(in crate::store) fn make(&self) -> Result<OwnedFd, StoreError> {
        if let Some(directory) = self.open()? {
            return Ok(directory);
        }
        if !self.makes_directory {
            return Err(StoreError::io("cannot open", &self.directory)(io::ErrorKind::NotFound.into()));
        }
        fs::create_dir_all(&self.directory).map_err(StoreError::io("cannot create", &self.directory))?;
        self.open()?.ok_or_else(|| StoreError::io("cannot open", &self.directory)(io::ErrorKind::NotFound.into()))
    }
}

/// Returns the file name of a task.
pub(in crate::store) fn file_name(id: &TaskId) -> CString {
    c_name(&format!("{}.json", id.file_stem()))
}

/// Returns the name of the lock beside a file.
pub(in crate::store) fn lock_name(file: &str) -> CString {
    c_name(&format!("{file}.lock"))
}

/// Returns a file name for the system. Our names never hold a zero byte; one that did would name nothing.
pub(in crate::store) fn c_name(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// The file of a list that is kept as a document, in the same place.
const DOCUMENT: &str = "tasks.json";

/// Returns the task a file name belongs to, where the client would look at it. A document is no task, though its name is like one.
pub(in crate::store) fn task_of(name: &str) -> Option<TaskId> {
    if name == DOCUMENT {
        return None;
    }
    name.strip_suffix(".json")?.parse().ok().filter(|id: &TaskId| !name.starts_with('#') && !id.as_str().is_empty())
}

/// Reads the names in a directory, `.` and `..` left out; names that are no UTF-8 are no program's.
pub(in crate::store) fn names(directory: BorrowedFd<'_>, path: &Path) -> Result<Vec<String>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A descriptor of its own: two readers must not share one position.
    let own = rustix::fs::openat(directory, c".", flags, Mode::empty());
    own.and_then(read_names).map_err(|error| StoreError::io("cannot list", path)(error.into()))
}

#[cfg(target_os = "linux")]
fn read_names(directory: OwnedFd) -> rustix::io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut buffer = Vec::with_capacity(64 * 1024);
    let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        push_name(&mut names, entry?.file_name());
    }
    Ok(names)
}

#[cfg(not(target_os = "linux"))]
fn read_names(directory: OwnedFd) -> rustix::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        push_name(&mut names, entry?.file_name());
    }
    Ok(names)
}

fn push_name(names: &mut Vec<String>, name: &CStr) {
    match name.to_str() {
        Ok("." | "..") | Err(_) => {}
        Ok(name) => names.push(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::task_of;

    #[test]
    fn only_names_the_client_would_look_at_are_tasks() {
        assert_eq!(task_of("7.json").unwrap().as_str(), "7");
        assert_eq!(task_of("abc_-9.json").unwrap().as_str(), "abc_-9");
        for name in [
            ".json",
            "a b.json",
            "7.json.lock",
            ".lock",
            "#7.json",
            "é.json",
            "a.json.json",
            ".taskyard-1.tmp",
            "tasks.json",
        ] {
            assert_eq!(task_of(name), None, "{name}");
        }
    }
}
