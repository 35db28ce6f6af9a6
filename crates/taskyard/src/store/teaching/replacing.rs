//! Putting one file of a folder in its place. No other program keeps to a lock here, so that the last look at a file is the last thing
//! before it is replaced.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::CWD;
use taskyard_core::dialect::native::LARGEST;

use crate::failpoint::reach;
use crate::regular_file::{self, NotRead};
use crate::replacement::create_replacement;
use crate::store::StoreError;
use crate::store::new_name::rename_to_new;

/// What our temporary files begin with.
pub(super) const TEMPORARY: &str = ".taskyard-";

/// A file that was replaced, kept open: a program that opened it before may still write to it.
#[derive(Debug)]
pub(super) struct Replaced {
    /// Its name.
    pub(super) name: String,
    /// What was there before.
    pub(super) old: File,
    /// What it held.
    pub(super) before: Vec<u8>,
    /// What was put in its place.
    pub(super) ours: Vec<u8>,
}

/// Writes a file, whatever is there.
pub(super) fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write(folder, name, bytes, |from, to| fs::rename(from, to).map(|()| true)).map(drop)
}

/// Writes a file where there is none.
pub(super) fn put_new(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write(folder, name, bytes, |from, to| rename_to_new(CWD, from, to).map(|()| true)).map(drop)
}

/// Replaces a file that holds this; none where it holds something else at the last moment.
pub(super) fn replace(folder: &Path, name: &str, before: &[u8], ours: &[u8]) -> Result<Option<Replaced>, StoreError> {
    let path = folder.join(name);
    let old = match regular_file::open(&path, LARGEST) {
        Ok((old, _)) => old,
        Err(why) if why.is_missing() => return Ok(None),
        Err(why) => return Err(StoreError::not_read(&path, why)),
    };
    let is_put = write(folder, name, ours, |from, to| {
        // Nothing may come between this look and the renaming.
        let is_same = is_at(&old, to)? && contents(&old)? == before;
        if is_same { fs::rename(from, to).map(|()| true) } else { Ok(false) }
    })?;
    let replaced = || Replaced { name: name.to_owned(), old, before: before.to_vec(), ours: ours.to_vec() };
    Ok(is_put.then(replaced))
}

/// Reads an open file from its beginning.
pub(super) fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Tells whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((open.dev(), open.ino()) == (found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes a file beside its place and lets `rename` put it there. Returns what that said.
fn write(
    folder: &Path,
    name: &str,
    bytes: &[u8],
    rename: impl FnOnce(&Path, &Path) -> io::Result<bool>,
) -> Result<bool, StoreError> {
    let path = folder.join(name);
    let temporary = folder.join(format!("{TEMPORARY}{}-{name}.tmp", std::process::id()));
    let written = || -> io::Result<bool> {
        regular_file::must_be_replaceable(&path)?;
        // A process of our number may have died here, and another user may have put a link there.
        let _ = fs::remove_file(&temporary);
        let mut file = create_replacement(&temporary, &path)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        reach("dialect: temporary file written");
        let is_put = rename(&temporary, &path)?;
        reach("dialect: a file in its place");
        Ok(is_put)
    };
    let is_put = written();
    if !matches!(is_put, Ok(true)) {
        let _ = fs::remove_file(&temporary);
    }
    is_put.map_err(StoreError::io("cannot write", path))
}

/// Reads the file at a path; none where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match regular_file::read(path, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) if why.is_missing() => Ok(None),
        Err(NotRead::NotRegular { .. } | NotRead::TooLarge { .. }) => Ok(None),
        Err(why) => Err(StoreError::not_read(path, why)),
    }
}
