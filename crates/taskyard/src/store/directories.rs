//! Directories that hold lists.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use taskyard_core::{ListId, Timestamp};

use super::StoreError;

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
