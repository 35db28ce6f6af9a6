//! A document that is locked, as its own programs lock it, and written to under that lock.
//!
//! Its programs open the path, lock what they opened, read that and write to the path. So we never put another file in
//! its place: a program that waits for the lock would go on with a file that has no name any more. The file is overwritten in place, and what
//! makes it whole again after a crash is kept elsewhere.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use taskyard_core::dialect::document::{Document, VERSION};

use super::files::{LARGEST, Raw, temporary_prefix};
use super::rewrite::{Progress, Rewrite, first_difference};
use crate::clock;
use crate::failpoint::reach;
use crate::random::random_number;
use crate::regular_file::{self, NotRead};
use crate::store::dialects::{clear_away, lock_in_time};
use crate::store::{Occupant, StoreError};

/// How long the lock of a document is waited for that is not one of our lists.
const PATIENCE: Duration = Duration::from_secs(12);

/// A document that no other program writes to that knows its lock.
#[derive(Debug)]
pub(in crate::store) struct Held {
    /// The file, locked; none where there is none.
    file: Option<File>,
    /// A document that is about to be made.
    new: Option<NewFile>,
}

/// A document under a temporary name, locked before it has its own.
#[derive(Debug)]
struct NewFile {
    file: File,
    temporary: PathBuf,
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Locks the file, and looks that it is still the one of that name: a program that replaced it meanwhile left us the lock of a file that no
/// program uses any more. Where there is no file there is nothing to lock. Returns none where another program kept it.
pub(super) fn hold(path: &Path, patience: Duration) -> Result<Option<Held>, StoreError> {
    let started = Instant::now();
    loop {
        let file = match regular_file::open_to_change(path) {
            Ok(file) => file,
            Err(why) if why.is_missing() => return Ok(Some(Held { file: None, new: None })),
            Err(why) => return Err(StoreError::not_read(path, why)),
        };
        let left = patience.saturating_sub(started.elapsed());
        let locked = lock_in_time(file, left).map_err(StoreError::io("cannot lock", path))?;
        let Some(file) = locked else { return Ok(None) };
        let held = Held { file: Some(file), new: None };
        if held.is_at(path) {
            return Ok(Some(held));
        }
    }
}

/// Writes a whole document to a path under its lock, making it where there is none. Nothing makes it whole again after a crash.
pub(crate) fn replace_document(path: &Path, text: &str) -> Result<(), StoreError> {
    let directory = directory_of(path);
    fs::metadata(directory).map_err(StoreError::io("cannot find", directory))?;
    loop {
        let Some(mut held) = hold(path, PATIENCE)? else {
            let by = Occupant::FileLocker { file: path.to_owned(), process: None };
            return Err(StoreError::Busy { by, waited: PATIENCE });
        };
        let is_replaced = match held.file.is_some() {
            true => held.overwrite_all(path, text.as_bytes())?,
            false => held.make(path, text.as_bytes())?,
        };
        if is_replaced {
            return Ok(());
        }
    }
}

/// Reads a whole document under its lock, or without it where another program keeps it.
pub(crate) fn read_locked_document(path: &Path) -> io::Result<Vec<u8>> {
    // What comes through a pipe has no file to lock.
    if !fs::metadata(path)?.is_file() {
        return fs::read(path);
    }
    let file = File::open(path)?;
    let locked = lock_in_time(file.try_clone()?, PATIENCE)?;
    let bytes = contents(&file);
    drop(locked);
    bytes
}

impl Held {
    /// Tells whether the file of that name is the one that is locked.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        let locked = self.file.as_ref().and_then(|file| file.metadata().ok()).map(identity);
        locked == fs::symlink_metadata(path).ok().map(identity)
    }

    /// Makes sure that there is room for what is to be written, while nothing has changed. Returns false where what was read is
    /// not what is locked.
    pub(super) fn prepare(&mut self, path: &Path, before: Option<&Raw>, after: &Raw) -> Result<bool, StoreError> {
        if !self.is_at(path) || self.file.is_some() != before.is_some() {
            return Ok(false);
        }
        match (before, &self.file) {
            (Some(before), Some(file)) => reserve(file, before.bytes.len(), after.bytes.len())
                .map_err(StoreError::io("cannot make room in", path))
                .map(|()| true),
            _ => {
                self.new = Some(NewFile::write(path, &after.bytes)?);
                Ok(true)
            }
        }
    }

    /// Writes a document over the one that was read. Returns false where the file of that name is not, or no longer, that one.
    pub(super) fn save(&mut self, path: &Path, before: Option<&Raw>, after: &Raw) -> Result<bool, StoreError> {
        let Some(before) = before else { return self.make(path, &after.bytes) };
        let Some(file) = self.file.as_ref().filter(|_| self.is_at(path)) else { return Ok(false) };
        let failed = |error| StoreError::io("cannot write", path)(error);
        // A program that knows no lock may have written since; only what is known may be overwritten in part.
        match contents(file) {
            Ok(found) if found == before.bytes => {}
            Ok(_) => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        if before.document.version() < VERSION {
            keep_old(path, &before.bytes)?;
        }
        let offset = first_difference(&before.bytes, &after.bytes);
        overwrite(file, &before.bytes, offset, &after.bytes[offset..]).map_err(failed)?;
        Ok(self.is_at(path))
    }

    /// Finishes a rewrite that its writer did not finish. Returns false where another program wrote to the document since.
    pub(super) fn finish(&self, path: &Path, rewrite: &Rewrite) -> Result<bool, StoreError> {
        let Some(file) = self.file.as_ref().filter(|_| self.is_at(path)) else { return Ok(false) };
        let failed = |error| StoreError::io("cannot write", path)(error);
        let found = contents(file).map_err(failed)?;
        match rewrite.judge(&found, &clock::boot_id()) {
            Progress::Overwritten => return Ok(false),
            Progress::Complete => file.sync_data().map_err(failed)?,
            progress @ (Progress::NotBegun | Progress::Torn) => {
                if progress == Progress::NotBegun && Document::parse(&found).is_ok_and(|old| old.version() < VERSION) {
                    keep_old(path, &found)?;
                }
                overwrite(file, &found, rewrite.offset, &rewrite.tail).map_err(failed)?;
            }
        }
        Ok(self.is_at(path))
    }

    /// Keeps a copy of a document from which nothing can be read, and leaves one without tasks in its place.
    pub(super) fn set_aside(&self, path: &Path, aside: &Path, empty: &Document) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if file.metadata()?.len() > LARGEST {
            // Too large for a document, and so for a copy.
            return fs::rename(path, aside);
        }
        let found = contents(file)?;
        write_new(aside, &found)?;
        overwrite(file, &found, 0, empty.print().as_bytes())
    }

    fn overwrite_all(&self, path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
        let Some(file) = &self.file else { return Ok(false) };
        let write = || {
            let found = contents(file)?;
            reserve(file, found.len(), bytes.len())?;
            overwrite(file, &found, 0, bytes)
        };
        write().map_err(StoreError::io("cannot write", path))?;
        Ok(self.is_at(path))
    }

    /// Makes a document where there is none. Returns false where another program made one meanwhile: that one stays.
    fn make(&mut self, path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
        let new = match self.new.take() {
            Some(new) => new,
            None => NewFile::write(path, bytes)?,
        };
        // It has its name at once with all that is in it, and is locked by then.
        match fs::hard_link(&new.temporary, path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(StoreError::io("cannot make", path)(error)),
        }
        reach("dialect: a file in its place");
        self.file = Some(new.file.try_clone().map_err(StoreError::io("cannot lock", path))?);
        drop(new);
        let directory = directory_of(path);
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(StoreError::io("cannot flush", directory))?;
        Ok(self.is_at(path))
    }
}

impl NewFile {
    fn write(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        let directory = directory_of(path);
        fs::create_dir_all(directory).map_err(StoreError::io("cannot create", directory))?;
        clear_away(directory, &temporary_prefix(path));
        let temporary =
            directory.join(format!("{}{}-{:x}", temporary_prefix(path), std::process::id(), random_number()));
        let failed = |error| StoreError::io("cannot write", &temporary)(error);
        let file = File::options().read(true).write(true).create_new(true).open(&temporary).map_err(failed)?;
        let mut new = Self { file, temporary: temporary.clone() };
        flock(&new.file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        new.file.write_all(bytes).and_then(|()| new.file.sync_data()).map_err(failed)?;
        reach("dialect: temporary file written");
        Ok(new)
    }
}

/// Keeps the file of an old version beside the one that takes its place.
fn keep_old(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let backup = path.with_added_extension("v1");
    let temporary = directory_of(path).join(format!("{}{}-v1", temporary_prefix(path), std::process::id()));
    if backup.exists() {
        return Ok(());
    }
    let kept = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, &backup));
    kept.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        StoreError::io("cannot keep the old version as", &backup)(error)
    })
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Reads all of a file, wherever its descriptor stands.
fn contents(file: &File) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(NotRead::TooLarge { size, limit: LARGEST }.into());
    }
    let length = usize::try_from(size).unwrap_or(0);
    let mut bytes = vec![0; length + 1];
    let mut count = regular_file::read_at(file, &mut bytes, 0)?;
    // It grows while it is read.
    while count == bytes.len() {
        bytes.resize(count * 2, 0);
        count += regular_file::read_at(file, &mut bytes[count..], count as u64)?;
    }
    bytes.truncate(count);
    Ok(bytes)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// How much is written at once.
const PART: usize = 64 * 1024;

/// Sees to it that a file can grow to a length, one byte more included, without changing it yet: a full disk is noticed while
/// nothing has happened.
pub(super) fn reserve(file: &File, present: usize, wanted: usize) -> io::Result<()> {
    let end = length_while_writing(present, wanted);
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| end > limit) {
        return Err(Errno::FBIG.into());
    }
    match allocate(file, end) {
        // Not every file system can; there the writing finds out, and what it changed is put back.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Overwrites a file from an offset on, and flushes it. `found` is what the file holds now.
///
/// Until the last step a zero stands at the file's end. So no reader can take what is half written for a document, whatever it
/// is a mixture of, and the file is never empty.
pub(super) fn overwrite(file: &File, found: &[u8], offset: usize, tail: &[u8]) -> io::Result<()> {
    let written = write_over(file, found.len(), offset, tail);
    if let Err(error) = written {
        // What was there needs no more room than it had.
        let _ = write_parts(file, &found[offset..], offset).and_then(|()| file.set_len(found.len() as u64));
        return Err(error);
    }
    file.sync_data()
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, length: u64) -> rustix::io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, length)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_file: &File, _length: u64) -> rustix::io::Result<()> {
    Err(Errno::OPNOTSUPP)
}

fn write_over(file: &File, present: usize, offset: usize, tail: &[u8]) -> io::Result<()> {
    let wanted = offset + tail.len();
    reach("document: before the overwriting");
    file.set_len(length_while_writing(present, wanted))?;
    reach("document: lengthened");
    write_parts(file, tail, offset)?;
    reach("document: overwritten");
    file.set_len(wanted as u64)?;
    reach("document: truncated");
    Ok(())
}

fn write_parts(file: &File, bytes: &[u8], offset: usize) -> io::Result<()> {
    let mut at = offset as u64;
    for part in bytes.chunks(PART) {
        file.write_all_at(part, at)?;
        at += part.len() as u64;
        reach("document: a part written");
    }
    Ok(())
}

fn length_while_writing(present: usize, wanted: usize) -> u64 {
    present.max(wanted) as u64 + 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{overwrite, reserve};

    #[test]
    fn a_file_holds_what_was_written_whether_it_grows_or_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let long = "x".repeat(200_000);
        for (before, after) in
            [("one", "onetwothree"), ("onetwothree", "one"), ("one", "two"), ("one", &long), (&long, "")]
        {
            fs::write(&path, before).unwrap();
            let file = fs::File::options().read(true).write(true).open(&path).unwrap();
            reserve(&file, before.len(), after.len()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
            overwrite(&file, before.as_bytes(), 0, after.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        }
    }

    #[test]
    fn what_cannot_be_written_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "as it was").unwrap();
        let read_only = fs::File::open(&path).unwrap();
        assert!(overwrite(&read_only, b"as it was", 3, b"new").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "as it was");
    }
}
