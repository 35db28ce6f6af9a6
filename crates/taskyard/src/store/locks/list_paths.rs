//! The paths of a list, and looking at files to recognise unchanged ones without reading them.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use taskyard_core::dialect::macf::hidden_names;
use taskyard_core::{ListId, Rules, TaskId};

use crate::store::StoreError;
pub(in crate::store) use crate::store::journal::Fingerprint;
use crate::store::journal::{canonical, is_past, sidecar_of};
use crate::store::list_directories::must_not_be_foreign;

/// The prefix of our temporary files and of locks we moved aside. The client ignores names that begin with a dot.
pub(in crate::store) const OURS: &str = ".taskyard-";

/// The paths of a list, or of a single file of the client's that has its own lock.
#[derive(Clone, Debug)]
pub(in crate::store) struct ListPaths {
    /// The directory of task files, with links resolved if it exists.
    pub(in crate::store) directory: PathBuf,
    /// Our own directory for the list, if it has one.
    pub(in crate::store) sidecar: Option<PathBuf>,
    /// The name of the lock on the list.
    pub(in crate::store) lock: CString,
    /// Whether to create the directory if it does not exist.
    pub(in crate::store) makes_directory: bool,
    /// Whether to look for tasks that are hidden from the client.
    pub(in crate::store) sees_hidden: bool,
    /// The path as given, if it leads to the directory by a link.
    pub(in crate::store) link: Option<PathBuf>,
}

impl ListPaths {
    /// Returns the paths of a list in a directory of lists.
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

    /// Returns the paths of a list whose directories are known.
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

    /// Returns the paths of a single file with its own lock. Its directory is never created.
    pub(in crate::store) fn of_file(directory: PathBuf, file: &str) -> Self {
        let lock = lock_name(file);
        Self { directory, sidecar: None, lock, makes_directory: false, sees_hidden: false, link: None }
    }

    /// Returns the path of the lock on the list.
    pub(in crate::store) fn lock_path(&self) -> PathBuf {
        self.directory.join(self.lock.to_string_lossy().as_ref())
    }

    /// Returns the path of a task's file.
    pub(in crate::store) fn task_file(&self, id: &TaskId) -> PathBuf {
        self.directory.join(format!("{}.json", id.file_stem()))
    }

    /// Returns the path of the file a task is in: the hidden one if only that exists, otherwise the plain one.
    pub(in crate::store) fn file_in_use(&self, id: &TaskId) -> PathBuf {
        let plain = self.task_file(id);
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        if !self.sees_hidden || is_there(&plain) {
            return plain;
        }
        hidden_names(id).map(|name| self.directory.join(name)).find(|hidden| is_there(hidden)).unwrap_or(plain)
    }

    /// Opens the directory of task files, or returns `None` if it does not exist.
    pub(in crate::store) fn open(&self) -> Result<Option<OwnedFd>, StoreError> {
        // Check the list, the directory of lists and the client's directory. What is above them belongs to the system.
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

    /// Opens the directory of task files, creating it if necessary.
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

/// Converts a file name for system calls. Our names never contain a NUL byte; a name with one becomes empty and matches
/// nothing.
pub(in crate::store) fn c_name(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// The file of a list stored as a document, in the same place.
const DOCUMENT: &str = "tasks.json";

/// Returns the task that a file name stands for if the client would read it. A document is not a task, although its
/// name looks like one.
pub(in crate::store) fn task_of(name: &str) -> Option<TaskId> {
    if name == DOCUMENT {
        return None;
    }
    name.strip_suffix(".json")?.parse().ok().filter(|id: &TaskId| !name.starts_with('#') && !id.as_str().is_empty())
}

/// Returns the names in a directory, except `.` and `..`. Names that are not UTF-8 are skipped; no program we know
/// creates them.
pub(in crate::store) fn names(directory: BorrowedFd<'_>, path: &Path) -> Result<Vec<String>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Use a new descriptor: two readers must not share one position.
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

/// The metadata of a file at one moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Look {
    pub(in crate::store) print: Fingerprint,
    /// The creation time, if the file system has one, else 0. Distinguishes two inodes with the same number.
    pub(in crate::store) born: i64,
    /// The change time (ctime), which also changes when the file is renamed. No program can set it.
    pub(in crate::store) changed: i64,
    pub(in crate::store) kind: FileType,
    pub(in crate::store) mode: u32,
}

impl Look {
    /// Returns whether a file that had this fingerprint at `seen` certainly has the same contents: nothing was done to
    /// it since, not even by a program that kept its size and reset its time.
    pub(in crate::store) fn is_unchanged(&self, known: &Fingerprint, seen: i64) -> bool {
        self.print == *known && known.is_settled(seen) && is_past(self.changed, seen)
    }

    /// Returns whether two looks saw the same file, whatever happened to it in between.
    pub(in crate::store) fn is_same_file(&self, other: &Self) -> bool {
        (self.print.inode, self.born) == (other.print.inode, other.born)
    }
}

/// Looks at a name in a directory, without following a link. Returns `None` if it does not exist.
pub(in crate::store) fn look_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Look>> {
    match stat_at(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(look) => Ok(Some(look)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks at an open file.
pub(in crate::store) fn look_through(file: BorrowedFd<'_>) -> io::Result<Look> {
    stat_at(file, c"", AtFlags::EMPTY_PATH)
}

#[cfg(target_os = "linux")]
fn stat_at(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<Look> {
    use rustix::fs::{StatxFlags, statx};
    let wanted = StatxFlags::TYPE
        | StatxFlags::MODE
        | StatxFlags::INO
        | StatxFlags::MTIME
        | StatxFlags::CTIME
        | StatxFlags::SIZE
        | StatxFlags::BTIME;
    let stat = statx(directory, name, flags, wanted)?;
    let nanos = |time: rustix::fs::StatxTimestamp| time.tv_sec * 1_000_000_000 + i64::from(time.tv_nsec);
    Ok(Look {
        print: Fingerprint { inode: stat.stx_ino, mtime: nanos(stat.stx_mtime), size: stat.stx_size },
        born: nanos(stat.stx_btime),
        changed: nanos(stat.stx_ctime),
        kind: FileType::from_raw_mode(u32::from(stat.stx_mode)),
        mode: u32::from(stat.stx_mode) & 0o7777,
    })
}

#[cfg(not(target_os = "linux"))]
fn stat_at(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<Look> {
    let stat =
        if name.is_empty() { rustix::fs::fstat(directory)? } else { rustix::fs::statat(directory, name, flags)? };
    Ok(Look {
        print: Fingerprint {
            inode: stat.st_ino,
            mtime: stat.st_mtime * 1_000_000_000 + stat.st_mtime_nsec,
            size: u64::try_from(stat.st_size).unwrap_or(0),
        },
        born: 0,
        changed: stat.st_ctime * 1_000_000_000 + stat.st_ctime_nsec,
        kind: FileType::from_raw_mode(stat.st_mode),
        mode: u32::from(stat.st_mode) & 0o7777,
    })
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

#[cfg(test)]
mod fingerprint_tests {
    use super::Fingerprint;

    #[test]
    fn a_file_changed_within_the_clocks_grain_is_not_trusted() {
        let print = Fingerprint { inode: 1, mtime: 5_000_000_001, size: 1 };
        assert!(!print.is_settled(5_000_000_001));
        assert!(!print.is_settled(5_010_000_001));
        assert!(print.is_settled(5_020_000_001));
    }

    #[test]
    fn whole_seconds_are_a_coarse_clock() {
        let print = Fingerprint { inode: 1, mtime: 5_000_000_000, size: 1 };
        assert!(!print.is_settled(6_900_000_000));
        assert!(print.is_settled(7_000_000_000));
    }
}
