//! Finding the directories of lists, and our data directories for them.

use std::collections::{BTreeSet, HashSet};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{AtFlags, FileType, RenameFlags, lstat, stat};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;
use taskyard_core::{ListId, TaskId, Timestamp};

use super::journal::{
    Journal, LEAVING, TidiedJournal, TidyTerms, archived_with_tasks, canonical, is_leaving, list_of,
    remove_what_is_leaving, sidecar_name, tidy, try_tidy,
};
use super::{StoreError, journal};

/// Returns the subdirectories whose names are list names, in no particular order; empty if the directory does not
/// exist.
pub(super) fn list_directories(root: &Path) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("cannot list", root)(error)),
    };
    let mut lists = Vec::new();
    for entry in entries {
        let path = entry.map_err(StoreError::io("cannot list", root))?.path();
        if let Some(list) = named(&path).filter(|_| path.is_dir()) {
            lists.push((list, path));
        }
    }
    Ok(lists)
}

/// Returns the list that a directory is named after.
pub(super) fn named(directory: &Path) -> Option<ListId> {
    let list = directory.file_name().and_then(|name| ListId::new(name.to_str()?).ok())?;
    (list.directory() == list.as_str()).then_some(list)
}

/// Returns the name of the only list in a store: that of the directory that contains it.
pub(super) fn only_list(path: &Path) -> Option<ListId> {
    let named = || path.parent()?.file_name()?.to_str().and_then(|name| ListId::new(name).ok());
    named().or_else(|| ListId::new("tasks").ok())
}

/// Maximum length in characters of a list name that appears in full in the name of its data directory.
const LONGEST_NAME: usize = 80;

/// Returns the directories directly below a root that contained lists and are gone, in no particular order.
pub(super) fn directories_gone(data: &Path, root: &Path) -> Vec<PathBuf> {
    let root = canonical(root);
    let directory = |(sidecar, name): (PathBuf, String)| {
        let directory = root.join(&name);
        if sidecar.file_name().is_some_and(|known| known.to_string_lossy() == sidecar_name(&directory)) {
            return Some(directory);
        }
        let is_cut = name.chars().count() == LONGEST_NAME;
        path_in(&sidecar).filter(|path| is_cut && path.parent() == Some(&root))
    };
    let archived = archived_with_tasks(data).into_iter().filter(|path| path.parent() == Some(&root));
    let directories = sidecars(data).into_iter().filter_map(directory).chain(archived);
    let gone: BTreeSet<PathBuf> = directories.filter(|directory| !directory.exists()).collect();
    gone.into_iter().collect()
}

/// Returns the files with this name in directories directly below a root that contained lists and are gone, in no
/// particular order.
pub(super) fn files_gone(data: &Path, root: &Path, file: &str) -> Vec<PathBuf> {
    let root = canonical(root);
    let is_here = |path: &PathBuf| path.parent().and_then(Path::parent) == Some(&root) && !path.exists();
    let of_that_name = sidecars(data).into_iter().filter(|(_, name)| name == file);
    let archived =
        archived_with_tasks(data).into_iter().filter(|path| path.file_name().is_some_and(|name| name == file));
    let paths = of_that_name.filter_map(|(sidecar, _)| path_in(&sidecar)).chain(archived);
    let gone: BTreeSet<PathBuf> = paths.filter(is_here).collect();
    gone.into_iter().collect()
}

/// Returns our directories for lists with the list name each begins with. Lists that moved to another store are
/// omitted.
fn sidecars(data: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = fs::read_dir(data.join("lists")) else { return Vec::new() };
    let named = |path: PathBuf| {
        if is_leaving(&path) {
            return None;
        }
        let name = path.file_name()?.to_str()?.rsplit_once('-')?.0.to_owned();
        Some((path, name))
    };
    entries.filter_map(|entry| named(entry.ok()?.path())).collect()
}

/// Returns the path of the list that a data directory belongs to.
fn path_in(sidecar: &Path) -> Option<PathBuf> {
    let journal = Journal::open_to_read(sidecar).ok().flatten()?;
    journal.fact::<String>("path").ok().flatten().map(PathBuf::from)
}

/// Fails if one of the paths is a link to a directory that belongs to another user. Paths that are not links, and
/// dangling links, are accepted here.
pub(super) fn must_not_be_foreign<'a>(paths: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
    for path in paths {
        let is_link = lstat(path).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
        if !is_link {
            continue;
        }
        if let Ok(found) = stat(path)
            && found.st_uid != geteuid().as_raw()
        {
            let why = format!("it is a link to a directory of another user (uid {})", found.st_uid);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Renames a file to an unused name. If anything has that name, including a dangling link, fails with `AlreadyExists`.
pub(super) fn rename_to_new(directory: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> io::Result<()> {
    let directory = directory.as_fd();
    match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // Not every file system supports the flag. A hard link never replaces an existing file.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::linkat(directory, from, directory, to, AtFlags::empty()) {
                Ok(()) => Ok(rustix::fs::unlinkat(directory, from, AtFlags::empty())?),
                Err(Errno::PERM | Errno::NOSYS | Errno::NOTSUP) => rename_after_a_look(directory, from, to),
                Err(error) => Err(error.into()),
            }
        }
        renamed => Ok(renamed?),
    }
}

/// Renames a file after checking that the name is free, for file systems with neither `NOREPLACE` nor hard links.
fn rename_after_a_look(directory: impl AsFd, from: impl Arg, to: impl Arg + Copy) -> io::Result<()> {
    let directory = directory.as_fd();
    match rustix::fs::statat(directory, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(rustix::fs::renameat(directory, from, directory, to)?),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error.into()),
    }
}

/// Our records of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListMemory {
    /// Our directory for the list.
    pub sidecar: PathBuf,
    /// The list's path; `None` if the records do not state it or are unreadable.
    pub list: Option<PathBuf>,
    pub(crate) bytes: u64,
}

impl ListMemory {
    /// Cleans up the journal; `None` if there is none. Tasks in `named` may be removed although no agent deleted them
    /// on purpose.
    pub(crate) fn tidy(&self, terms: &TidyTerms, named: &HashSet<TaskId>) -> Result<Option<TidiedJournal>, StoreError> {
        tidy(&self.sidecar, terms, named)
    }

    /// Returns what cleaning up would do, by doing it to a copy.
    pub(crate) fn try_tidy(
        &self,
        terms: &TidyTerms,
        named: &HashSet<TaskId>,
    ) -> Result<Option<TidiedJournal>, StoreError> {
        try_tidy(&self.sidecar, terms, named)
    }
}

/// Returns our records of every list in a data directory, sorted by name.
pub(crate) fn list_memories(data: &Path) -> Vec<ListMemory> {
    list_sidecars(data).iter().map(|sidecar| memory_in(sidecar)).collect()
}

fn memory_in(sidecar: &Path) -> ListMemory {
    let list = list_of(sidecar).ok().flatten();
    let files = fs::read_dir(sidecar).into_iter().flatten().flatten().filter_map(|file| file.metadata().ok());
    let bytes = files.filter(fs::Metadata::is_file).map(|file| file.len()).sum();
    ListMemory { sidecar: sidecar.to_owned(), list, bytes }
}

/// Cleans up the journal in a data directory of a list; `None` if there is none.
pub(crate) fn tidy_journal(sidecar: &Path, terms: &TidyTerms) -> Result<Option<TidiedJournal>, StoreError> {
    tidy(sidecar, terms, &HashSet::new())
}

/// Returns the time of the newest entry in a data directory of a list; `None` if there is none.
pub(crate) fn newest_time(sidecar: &Path) -> Result<Option<Timestamp>, StoreError> {
    journal::newest_time(sidecar)
}

/// Returns our directories for lists, sorted by name. Those of lists that moved to another store are omitted.
pub(crate) fn list_sidecars(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join("lists")).into_iter().flatten().flatten();
    let mut sidecars: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_sidecar(path)).collect();
    sidecars.sort();
    sidecars
}

fn is_sidecar(path: &Path) -> bool {
    let is_leaving = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(LEAVING);
    path.is_dir() && !journal::is_leaving(path) && !path.file_name().is_some_and(is_leaving)
}

/// Removes data directories that a process had already set aside for removal when it died.
pub(crate) fn finish_putting_away(data: &Path) {
    remove_what_is_leaving(data);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::path::PathBuf;

    use super::must_not_be_foreign;

    #[test]
    fn link_to_own_directory_is_followed_and_foreign_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["own", "theirs"] {
            fs::create_dir(path(name)).unwrap();
        }
        // Without permission to change ownership, use a directory that belongs to root.
        let theirs = chown(path("theirs"), Some(12_345), None).map_or(PathBuf::from("/"), |()| path("theirs"));
        symlink(path("own"), path("to-own")).unwrap();
        symlink(&theirs, path("to-theirs")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        for name in ["own", "theirs", "to-own", "dangling", "nothing"] {
            assert!(must_not_be_foreign([&*path(name)]).is_ok(), "{name}");
        }
        let refused = must_not_be_foreign([&*path("own"), &*path("to-theirs")]).unwrap_err();
        assert!(refused.to_string().contains("another user"), "{refused}");
    }
}

#[cfg(test)]
mod new_name_tests {
    use std::fs;
    use std::io::ErrorKind;

    use rustix::fs::CWD;

    use super::{rename_after_a_look, rename_to_new};

    #[test]
    fn what_has_the_name_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [from, file, link, directory] = ["from", "file", "link", "directory"].map(|name| folder.path().join(name));
        fs::write(&from, "new").unwrap();
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        fs::create_dir(&directory).unwrap();
        for taken in [&file, &link, &directory] {
            for rename in [|from, to| rename_to_new(CWD, from, to), |from, to| rename_after_a_look(CWD, from, to)] {
                assert_eq!(rename(&from, taken).unwrap_err().kind(), ErrorKind::AlreadyExists, "{}", taken.display());
            }
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert!(link.is_symlink());
    }

    #[test]
    fn a_free_name_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = ["first", "second", "third"].map(|name| folder.path().join(name));
        fs::write(&first, "new").unwrap();
        rename_to_new(CWD, &first, &second).unwrap();
        rename_after_a_look(CWD, &second, &third).unwrap();
        assert_eq!(fs::read(&third).unwrap(), b"new");
        assert!(!first.exists() && !second.exists());
    }
}
