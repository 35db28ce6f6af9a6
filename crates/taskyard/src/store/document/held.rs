//! Locking a document the way its own programs do, and rewriting it under that lock.
//!
//! Its programs open the path, lock the opened file, read it and write to the path. Therefore we never replace the
//! file: a program waiting for the lock would continue with a file that no longer has a name. The file is overwritten
//! in place, and the data needed to complete it after a crash is kept in the journal.
//!
//! A rewrite in place does not change anything before the first difference, so the rest of the new document suffices to
//! complete a torn one ([`Rewrite`]).

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use taskyard_core::dialect::document::{BadDocument, Document, VERSION};

use super::files::{LARGEST, Raw, temporary_prefix};
use crate::failpoint::reach;
use crate::regular_file::NotRead;
use crate::store::dialects::{clear_away, lock_in_time};
use crate::store::{Occupant, StoreError};
use crate::system::random_number;
use crate::{regular_file, system};

/// How long to wait for the lock of a document that is not one of our lists.
const PATIENCE: Duration = Duration::from_secs(12);

/// A document locked against other programs that know its lock.
#[derive(Debug)]
pub(in crate::store) struct Held {
    /// The locked file; `None` if the document does not exist.
    file: Option<File>,
    /// The document about to be created.
    new: Option<NewFile>,
}

/// A new document under a temporary name, already locked.
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

/// Locks the file and checks that the path still refers to it, since a program may have replaced it in the meantime,
/// and then no program uses the locked file any more. If there is no file, there is nothing to lock. Returns `None` if
/// another program held the lock throughout.
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

/// Writes a whole document under its lock, creating it if it does not exist. An interrupted write is not recovered.
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

/// Reads a whole document under its lock, or without the lock if another program holds it for too long.
pub(crate) fn read_locked_document(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe cannot be locked.
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
    /// Returns whether the path refers to the locked file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        let locked = self.file.as_ref().and_then(|file| file.metadata().ok()).map(identity);
        locked == fs::symlink_metadata(path).ok().map(identity)
    }

    /// Reserves the space for the new document, before anything has changed. Returns false if the locked file is not
    /// the one that was read.
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

    /// Overwrites the document that was read. Returns false if the path does not, or no longer, refer to it.
    pub(super) fn save(&mut self, path: &Path, before: Option<&Raw>, after: &Raw) -> Result<bool, StoreError> {
        let Some(before) = before else { return self.make(path, &after.bytes) };
        let Some(file) = self.file.as_ref().filter(|_| self.is_at(path)) else { return Ok(false) };
        let failed = |error| StoreError::io("cannot write", path)(error);
        // A program that ignores the lock may have written since; only known contents may be partly overwritten.
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

    /// Completes an interrupted rewrite. Returns false if another program has written to the document since.
    pub(super) fn finish(&self, path: &Path, rewrite: &Rewrite) -> Result<bool, StoreError> {
        let Some(file) = self.file.as_ref().filter(|_| self.is_at(path)) else { return Ok(false) };
        let failed = |error| StoreError::io("cannot write", path)(error);
        let found = contents(file).map_err(failed)?;
        match rewrite.judge(&found, &system::boot_id()) {
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

    /// Copies an unparsable document to `aside`, and replaces its contents by an empty document.
    pub(super) fn set_aside(&self, path: &Path, aside: &Path, empty: &Document) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if file.metadata()?.len() > LARGEST {
            // Too large for a document, and therefore for a copy.
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

    /// Creates the document. Returns false if another program created it in the meantime; that one is kept.
    fn make(&mut self, path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
        let new = match self.new.take() {
            Some(new) => new,
            None => NewFile::write(path, bytes)?,
        };
        // The link makes the complete document visible at once, already locked.
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

/// Keeps a copy of a document in an old format next to it.
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

/// Reads the whole file, regardless of the descriptor's position.
fn contents(file: &File) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    if size > LARGEST {
        return Err(NotRead::TooLarge { size, limit: LARGEST }.into());
    }
    let length = usize::try_from(size).unwrap_or(0);
    let mut bytes = vec![0; length + 1];
    let mut count = regular_file::read_at(file, &mut bytes, 0)?;
    // The file grew while it was read.
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

/// Number of bytes per write.
const PART: usize = 64 * 1024;

/// Reserves space for a file of `wanted` bytes plus one, without changing the file: a full disk is detected before
/// anything has happened.
pub(super) fn reserve(file: &File, present: usize, wanted: usize) -> io::Result<()> {
    let end = length_while_writing(present, wanted);
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| end > limit) {
        return Err(Errno::FBIG.into());
    }
    match allocate(file, end) {
        // Not every file system supports this; then the write itself fails, and its changes are reverted.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Overwrites a file from an offset on, and flushes it. `found` are the file's current contents.
///
/// Until the last step, the file ends with a zero byte. Therefore no reader can mistake a half-written mixture for a
/// document, and the file is never empty.
pub(super) fn overwrite(file: &File, found: &[u8], offset: usize, tail: &[u8]) -> io::Result<()> {
    let written = write_over(file, found.len(), offset, tail);
    if let Err(error) = written {
        // The old contents need no more space than they had.
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

/// A pending change of a document from one state to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rewrite {
    /// The offset of the first difference between the two states.
    pub(super) offset: usize,
    /// The new document from that offset on.
    pub(super) tail: Vec<u8>,
    before: Checksum,
    after: Checksum,
    /// The id of the boot during which it was begun.
    boot: String,
}

/// The progress of a rewrite, as found in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing was written yet.
    NotBegun,
    /// It was partly written.
    Torn,
    /// It was completely written.
    Complete,
    /// Another program has written its own document since.
    Overwritten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checksum {
    length: usize,
    sum: u64,
}

impl Rewrite {
    pub(super) fn between(before: &[u8], after: &[u8], boot: String) -> Self {
        let offset = first_difference(before, after);
        Self { offset, tail: after[offset..].to_vec(), before: Checksum::of(before), after: Checksum::of(after), boot }
    }

    /// Serializes it for the journal.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let sum = |checksum: Checksum| json!({ "length": checksum.length, "sum": format!("{:016x}", checksum.sum) });
        let (before, after) = (sum(self.before), sum(self.after));
        let header = json!({ "offset": self.offset, "before": before, "after": after, "boot": self.boot });
        let mut bytes = header.to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// Parses the form kept in the journal.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Value = serde_json::from_slice(&bytes[..end]).ok()?;
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let checksum = |value: &Value| {
            let sum = u64::from_str_radix(value["sum"].as_str()?, 16).ok()?;
            Some(Checksum { length: number(&value["length"])?, sum })
        };
        Some(Self {
            offset: number(&header["offset"])?,
            tail: bytes[end + 1..].to_vec(),
            before: checksum(&header["before"])?,
            after: checksum(&header["after"])?,
            boot: header["boot"].as_str()?.to_owned(),
        })
    }

    /// Returns the new document, if the contents found begin like it.
    pub(super) fn completed(&self, found: &[u8]) -> Option<Vec<u8>> {
        let mut whole = found.get(..self.offset)?.to_vec();
        whole.extend_from_slice(&self.tail);
        (Checksum::of(&whole) == self.after).then_some(whole)
    }

    /// Determines the rewrite's progress from the contents found in the file and the current boot id.
    pub(super) fn judge(&self, found: &[u8], boot: &str) -> Progress {
        let checksum = Checksum::of(found);
        if checksum == self.after {
            return Progress::Complete;
        }
        if checksum == self.before {
            return Progress::NotBegun;
        }
        // A power loss may leave a mixture of old and new pages, with either length.
        let lost_power = boot != self.boot && [self.before.length, self.after.length].contains(&found.len());
        match self.completed(found) {
            Some(_) if lost_power || is_torn(found) => Progress::Torn,
            _ => Progress::Overwritten,
        }
    }
}

impl Checksum {
    fn of(bytes: &[u8]) -> Self {
        // Like FNV-1a, but by words of eight bytes, since documents can have megabytes. Any single difference changes
        // the sum.
        let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| step(sum, u64::from_le_bytes(*word)));
        Self { length: bytes.len(), sum: rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte))) }
    }
}

fn is_torn(found: &[u8]) -> bool {
    matches!(Document::parse(found), Err(BadDocument::Unreadable(why)) if why.may_be_torn())
}

/// Returns the offset of the first difference.
pub(super) fn first_difference(one: &[u8], two: &[u8]) -> usize {
    let equal_chunks = one.chunks(4096).zip(two.chunks(4096)).take_while(|(one, two)| one == two).count();
    let start = (equal_chunks * 4096).min(one.len()).min(two.len());
    start + one[start..].iter().zip(&two[start..]).take_while(|(one, two)| one == two).count()
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

#[cfg(test)]
mod rewrite_tests {
    use super::{Progress, Rewrite, first_difference};

    fn document(tasks: &[&str]) -> Vec<u8> {
        format!("{{\"tasks\":[{}],\"version\":2}}", tasks.join(",")).into_bytes()
    }

    fn rewrite(before: &[u8], after: &[u8]) -> Rewrite {
        Rewrite::between(before, after, "this boot".to_owned())
    }

    #[test]
    fn only_what_is_different_is_kept() {
        let rewrite = rewrite(&document(&["1", "2"]), &document(&["1", "2", "3"]));
        assert_eq!(rewrite.tail, b",3],\"version\":2}");
        assert_eq!(Rewrite::from_bytes(&rewrite.to_bytes()), Some(rewrite));
        let (long, longer) = (vec![b'x'; 4096 * 3], vec![b'x'; 4096 * 3 + 1]);
        assert_eq!(first_difference(&long, &longer), 4096 * 3);
        assert_eq!(first_difference(&long, &long), 4096 * 3);
        assert_eq!(first_difference(b"", &long), 0);
    }

    #[test]
    fn a_document_torn_at_any_byte_is_made_whole() {
        let states = [document(&["11", "22", "33"]), document(&["11", "22"]), document(&["11", "24", "33", "44"])];
        for (before, after) in [(0, 1), (1, 0), (0, 2), (2, 0), (0, 0)] {
            let (before, after) = (&states[before], &states[after]);
            let rewrite = rewrite(before, after);
            assert_eq!(rewrite.judge(after, "this boot"), Progress::Complete);
            if before != after {
                assert_eq!(rewrite.judge(before, "this boot"), Progress::NotBegun);
            }
            for written in rewrite.offset..=after.len() {
                let mut torn = before.clone();
                torn.resize(before.len().max(after.len()) + 1, 0);
                torn[..written].copy_from_slice(&after[..written]);
                assert_eq!(rewrite.judge(&torn, "this boot"), Progress::Torn, "{torn:?}");
                assert_eq!(rewrite.completed(&torn).as_ref(), Some(after));
            }
        }
    }

    #[test]
    fn newer_foreign_write_is_never_taken_for_torn_document() {
        let rewrite = rewrite(&document(&["1", "2"]), &document(&["1", "2", "3"]));
        for theirs in [document(&["1", "2", "9"]), document(&[]), document(&["1", "7"]), Vec::new(), b"{".to_vec()] {
            assert_eq!(rewrite.judge(&theirs, "this boot"), Progress::Overwritten, "{theirs:?}");
        }
    }

    #[test]
    fn power_loss_may_leave_document_with_mixed_pages() {
        let rewrite = rewrite(&document(&["11", "21"]), &document(&["12", "22"]));
        let mixed = document(&["11", "22"]);
        assert_eq!(rewrite.judge(&mixed, "another boot"), Progress::Torn);
        assert_eq!(rewrite.judge(&mixed, "this boot"), Progress::Overwritten);
    }
}
