//! A file overwritten in place: a program that waits for the lock of this very file finds the new contents in it.
//!
//! Only the caller knows whether it may: it holds the lock, and keeps elsewhere what makes the file whole again after a crash.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::failpoint::reach;

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
