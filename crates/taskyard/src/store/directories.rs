//! Where lists are on the disk: the directories of lists, those that our memory knows and that are gone, and links to directories of other
//! users.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

use rustix::fs::{FileType, lstat, stat};
use rustix::process::geteuid;
use taskyard_core::{ListId, Timestamp};

use super::StoreError;
use super::journal::{Journal, archived_with_tasks, canonical, is_leaving, sidecar_name};

/// Returns the directories below one that are called like a list, in no order; none where there is no such directory.
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

/// Returns the list that a directory is called like.
pub(super) fn named(directory: &Path) -> Option<ListId> {
    let list = directory.file_name().and_then(|name| ListId::new(name.to_str()?).ok())?;
    (list.directory() == list.as_str()).then_some(list)
}

/// Returns the name of the only list of a store: that of the directory that holds it.
pub(super) fn only_list(path: &Path) -> Option<ListId> {
    let named = || path.parent()?.file_name()?.to_str().and_then(|name| ListId::new(name).ok());
    named().or_else(|| ListId::new("tasks").ok())
}

/// Returns when a file or directory last changed, where the system tells.
pub(super) fn changed(path: &Path) -> Option<Timestamp> {
    let changed = fs::metadata(path).and_then(|found| found.modified()).ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

/// The longest name of a list that the name of its memory has in full.
const LONGEST_NAME: usize = 80;

/// Returns the directories right below a root that lists were in and that are gone, in no order.
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

/// Returns the files of this name, each in a directory right below a root, that lists were in and that are gone, in no order.
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

/// Returns our directories for lists, and the name each begins with. Lists that have moved to another store are not gone.
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

/// Returns the path of the list that a memory is of.
fn path_in(sidecar: &Path) -> Option<PathBuf> {
    let journal = Journal::open_to_read(sidecar).ok().flatten()?;
    journal.fact::<String>("path").ok().flatten().map(PathBuf::from)
}

/// Fails where one of these is a link to a directory that belongs to another user. What is no link, and what leads nowhere, is for other
/// code to judge.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::path::PathBuf;

    use super::must_not_be_foreign;

    #[test]
    fn a_link_to_a_directory_of_ones_own_is_good_and_one_to_anothers_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["own", "theirs"] {
            fs::create_dir(path(name)).unwrap();
        }
        // A user that may not give a directory away finds one of root's.
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
