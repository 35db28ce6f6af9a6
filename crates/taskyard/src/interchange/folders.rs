//! The files of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::InterchangeError;
use crate::regular_file;

/// A file of a folder larger than this is not read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The files of a folder that were wanted, by name.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The contents of those that could be read.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Why the others could not.
    pub(super) unreadable: Vec<(String, io::Error)>,
}

/// Reads the files of a folder whose names are wanted.
pub(super) fn read_folder(
    path: &Path,
    is_wanted: impl Fn(&str) -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Found, InterchangeError> {
    let failed = |source| InterchangeError::Io { doing: "read", path: path.to_owned(), source };
    let mut wanted: Vec<(String, PathBuf)> = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_wanted(&name) {
            wanted.push((name, entry.path()));
        }
    }
    wanted.sort();
    let total = wanted.len();
    let mut found = Found::default();
    for (place, (name, path)) in wanted.into_iter().enumerate() {
        match read_file(&path) {
            Ok(bytes) => found.files.push((name, bytes)),
            Err(error) => found.unreadable.push((name, error)),
        }
        progress(place + 1, total);
    }
    Ok(found)
}

/// Reads a file; a pipe or a device among the tasks would have no end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    Ok(regular_file::read_following(path, LARGEST)?)
}
