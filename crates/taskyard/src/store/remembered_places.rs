//! Places of lists that are gone while our memory of them is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::journal::{Journal, archived_with_tasks, canonical, is_leaving, sidecar_name};

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
