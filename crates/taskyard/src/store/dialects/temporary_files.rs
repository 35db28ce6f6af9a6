//! What lies about beside a list's files and no program uses: temporary files of dead writers. Old versions that were kept are no litter.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::dialect_files::DialectFiles;
use super::open_list::{DialectTurn, OpenList};
use crate::liveness::is_seen_dead;
use crate::regular_file::special_at;
use crate::store::engine::ListFiles as _;
use crate::store::{Litter, StoreError};

/// Finds temporary files of the dead.
pub(super) fn find<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Vec<Litter>, StoreError> {
    let directory = open_list.files.dialect.directory(&open_list.files.path);
    let left = leftovers(directory, &open_list.files.dialect.temporary(&open_list.files.path));
    let mut left = left.map_err(StoreError::io("cannot list", directory))?;
    left.sort();
    let mut litter: Vec<Litter> = left.into_iter().map(|path| Litter::Leftover { path }).collect();
    litter.extend(
        open_list
            .files
            .dialect
            .special_files(&open_list.files.path)
            .map_err(StoreError::io("cannot list", directory))?,
    );
    Ok(litter)
}

/// Removes litter that is still there.
pub(super) fn sweep<F: DialectFiles>(open_list: &OpenList<F>, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
    if litter.is_empty() {
        return Ok(Vec::new());
    }
    let torn = litter.iter().filter(|item| matches!(item, Litter::TornFile { .. }));
    let set_aside: Vec<&Litter> = torn.filter(|item| set_aside(open_list, item)).collect();
    // With the turn in our hands no other process of ours is in the middle of anything.
    let (_turn, journal) = open_list.take_turn()?;
    open_list.give_back(journal);
    let still_there = find(open_list)?;
    let is_gone = |item: &&Litter| match item {
        Litter::TornFile { .. } => set_aside.contains(item),
        Litter::SpecialFile { path, .. } => still_there.contains(item) && rename_aside(path),
        Litter::Leftover { path } if still_there.contains(item) => fs::remove_file(path).is_ok(),
        Litter::Leftover { path } => !path.exists(),
        _ => false,
    };
    Ok(litter.iter().filter(is_gone).cloned().collect())
}

/// Keeps a file from which nothing can be read under another name, where it still is so.
fn set_aside<F: DialectFiles>(open_list: &OpenList<F>, torn: &Litter) -> bool {
    let Litter::TornFile { path } = torn else { return false };
    let is_torn = || matches!(open_list.files.dialect.load(&open_list.files.path), Err(StoreError::NoTask { path: found, .. }) if found == *path);
    // What is no regular file cannot be locked, and no process works behind it.
    if matches!(special_at(path), Ok(Some(_))) {
        return rename_aside(path);
    }
    let Ok(mut turn) = take_bare_turn(open_list) else { return false };
    is_torn() && open_list.files.dialect.set_aside(turn.held(), path, &name_aside(path)).is_ok()
}

/// Waits for a turn, and leaves what a dead writer began as it is: for files that cannot be read.
fn take_bare_turn<F: DialectFiles>(open_list: &OpenList<F>) -> Result<DialectTurn<F>, StoreError> {
    open_list.give_back(open_list.journal()?);
    open_list.files.take_turn(&open_list.queue_file()?)
}

/// Gives something from which nothing can be read another name.
fn rename_aside(path: &Path) -> bool {
    fs::rename(path, name_aside(path)).is_ok()
}

/// Returns a name for a file from which nothing can be read, that no earlier one has.
fn name_aside(path: &Path) -> PathBuf {
    let aside = path.with_added_extension("unreadable");
    let others = (2..).map(|number: u32| aside.with_added_extension(number.to_string()));
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    std::iter::once(aside.clone()).chain(others).find(is_free).unwrap_or(aside)
}

/// Removes temporary files of the dead, as far as that is possible.
pub(in crate::store) fn clear_away(directory: &Path, temporary: &str) {
    for left in leftovers(directory, temporary).unwrap_or_default() {
        let _ = fs::remove_file(left);
    }
}

/// Returns the files that begin like the temporary ones and were made by a process that is no more; its id follows.
fn leftovers(directory: &Path, temporary: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut left = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(temporary)?.split('-').next()?.parse().ok());
        if process.is_some_and(is_seen_dead) {
            left.push(entry.path());
        }
    }
    Ok(left)
}
