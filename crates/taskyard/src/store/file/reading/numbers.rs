//! The numbers a list has used, without reading its directory for every new task.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;

use taskyard_core::rules::changes::numbering::{number_of_any_file, number_of_file, read_mark};

use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::locks::fingerprint::Fingerprint;
use crate::store::locks::list_paths;
use crate::watching::{DirectoryWatch, Happened, watch};

/// The highest number among the file names of one directory. The first answer comes from reading the directory, later ones
/// from the kernel's word about what was added since.
#[derive(Debug, Default)]
pub(in crate::store) struct HighestFile {
    asked: u32,
    watched: Option<Watched>,
}

#[derive(Debug)]
struct Watched {
    changes: DirectoryWatch,
    inode: u64,
    highest: f64,
}

impl HighestFile {
    /// Returns the highest number there is now, or was while we watched: a task that another program made and removed in
    /// between has used its number up.
    pub(in crate::store) fn get(&mut self, directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
        let inode = crate::store::locks::fingerprint::look_through(directory).map(|look| look.print.inode).unwrap_or(0);
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.inode == inode)
            && watched.catch_up()
        {
            return Ok(watched.highest);
        }
        // A process that adds one task and ends does not need to be told of the next.
        self.asked += 1;
        let changes = if self.asked > 1 { watch(path, has_number).ok() } else { None };
        let highest = scan(directory, path)?;
        self.watched = changes.map(|changes| Watched { changes, inode, highest });
        Ok(highest)
    }
}

/// Reads the highest number from the names themselves, those included that are hidden from the client.
pub(in crate::store) fn scan(directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
    highest(directory, path, number_of_any_file)
}

/// Reads the highest number that the client would find.
pub(in crate::store) fn scan_as_the_client(directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
    highest(directory, path, number_of_file)
}

fn highest(directory: BorrowedFd<'_>, path: &Path, number: impl Fn(&str) -> Option<f64>) -> Result<f64, StoreError> {
    let names = list_paths::names(directory, path)?;
    Ok(names.iter().filter_map(|name| number(name)).fold(0.0, f64::max))
}

/// A mark larger than this is none: numbers are short.
const LARGEST_MARK: u64 = 4 * 1024;

/// Reads the number in `.highwatermark`; no file, one that is not a regular one, and no number are zero.
pub(in crate::store) fn mark(path: &Path) -> f64 {
    mark_file(path).map_or(0.0, |bytes| read_mark(&String::from_utf8_lossy(&bytes)))
}

/// Returns how `.highwatermark` looks; `None` if there is none.
pub(in crate::store) fn mark_look(path: &Path) -> Option<Fingerprint> {
    fs::symlink_metadata(path.join(".highwatermark")).ok().map(|found| Fingerprint::of(&found))
}

/// Reads what `.highwatermark` holds.
pub(in crate::store) fn mark_file(path: &Path) -> Result<Vec<u8>, NotRead> {
    regular_file::read(&path.join(".highwatermark"), LARGEST_MARK)
}

fn has_number(name: &OsStr) -> bool {
    name.to_str().and_then(number_of_any_file).is_some()
}

impl Watched {
    /// Takes in what was added since; returns whether the highest number is known all the same.
    fn catch_up(&mut self) -> bool {
        let names = match self.changes.take() {
            Happened::Nothing => return true,
            Happened::To(names) => names,
            Happened::Anything | Happened::Gone => return false,
        };
        let numbers = names.keys().filter_map(|name| number_of_any_file(name.to_str()?));
        self.highest = numbers.fold(self.highest, f64::max);
        true
    }
}
