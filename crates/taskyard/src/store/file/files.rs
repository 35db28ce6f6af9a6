//! Reading and writing single task files.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use taskyard_core::dialect::native::{LARGEST, Unreadable};
use taskyard_core::{Image, Task, TaskId};

use super::fingerprint::{Look, look_at, look_through};
use super::hidden;
use super::lock::temporary_name;
use super::place::{Place, file_name};
use crate::clock;

/// A file that nobody touched for this long is not in the middle of being written.
const SURELY_WRITTEN: i64 = 2_000_000_000;

/// What stands under a task's name on disk.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    /// Nothing.
    Missing,
    /// A task.
    Task(Box<Task>, Image, Look),
    /// A file that no task can be read from, with its contents where it has readable ones.
    Broken(Unreadable, Option<(Image, Look)>),
}

impl Contents {
    /// Returns the bytes and what they were recognised by.
    pub(super) fn image(&self) -> Option<(&Image, &Look)> {
        match self {
            Self::Task(_, image, look) | Self::Broken(_, Some((image, look))) => Some((image, look)),
            Self::Missing | Self::Broken(_, None) => None,
        }
    }

    /// Returns the bytes that no task can be read from.
    pub(super) fn broken(self) -> Option<Image> {
        match self {
            Self::Broken(_, contents) => contents.map(|(image, _)| image),
            Self::Missing | Self::Task(..) => None,
        }
    }
}

/// Reads a task file. One that seems to be half written at this instant is looked at again for a while.
pub(super) fn read(place: &Place, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<Contents> {
    let mut pause = Duration::from_micros(250);
    loop {
        let contents = read_once(place, directory, id)?;
        let Contents::Broken(why, Some((_, look))) = &contents else { return Ok(contents) };
        let is_fresh = clock::wall().saturating_sub(look.print.mtime) < SURELY_WRITTEN;
        if !why.may_be_torn() || !is_fresh || pause > Duration::from_millis(150) {
            return Ok(contents);
        }
        thread::sleep(pause);
        pause *= 2;
    }
}

fn read_once(place: &Place, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<Contents> {
    // A pipe under a task's name must not make us wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = |name: &CStr| rustix::fs::openat(directory, name, flags, Mode::empty());
    let opened = match (open(&file_name(id)), hidden::other_name(place, id)) {
        (Err(Errno::NOENT), Some(hidden)) => open(&hidden),
        (opened, _) => opened,
    };
    let file = match opened {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(Contents::Missing),
        Err(Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::NXIO) => {
            let why = "permission denied, or a link that leads nowhere".to_owned();
            return Ok(Contents::Broken(Unreadable::Unopenable { why }, None));
        }
        Err(error) => return Err(error.into()),
    };
    let look = look_through(file.as_fd())?;
    if look.kind != FileType::RegularFile {
        return Ok(Contents::Broken(Unreadable::NotAFile, None));
    }
    if look.print.size > LARGEST {
        return Ok(Contents::Broken(Unreadable::TooLarge { size: look.print.size }, None));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(look.print.size).unwrap_or(0) + 1);
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    let image = Image::new(bytes);
    Ok(match image.task(id) {
        Ok(task) => Contents::Task(Box::new(task), image, look),
        Err(why) => Contents::Broken(why, Some((image, look))),
    })
}

/// Writes contents to a new file beside the tasks, ready to be renamed into its place.
pub(super) fn write_temporary(
    directory: BorrowedFd<'_>,
    image: &Image,
    mode: Option<u32>,
) -> io::Result<(CString, Look)> {
    let name = temporary_name("tmp");
    let written = write_new(directory, &name, image, mode);
    if written.is_err() {
        let _ = rustix::fs::unlinkat(directory, &*name, AtFlags::empty());
    }
    Ok((name, written?))
}

fn write_new(directory: BorrowedFd<'_>, name: &CStr, image: &Image, mode: Option<u32>) -> io::Result<Look> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    // New files are for everybody the umask allows, as the client makes them; what was private is so from the first moment.
    let first_mode = Mode::from_raw_mode(mode.unwrap_or(0o666));
    let mut file = File::from(rustix::fs::openat(directory, name, flags, first_mode)?);
    file.write_all(image.bytes())?;
    let mut look = look_through(file.as_fd())?;
    if let Some(mode) = mode.filter(|mode| *mode != look.mode) {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        look.mode = mode;
    }
    Ok(look)
}

/// Replaces a file of the list's by writing another and renaming it. It keeps its mode.
pub(super) fn replace(directory: BorrowedFd<'_>, name: &CStr, contents: &[u8]) -> io::Result<()> {
    bring_back(directory, name, contents, None)
}

/// Does the same where the file may be gone, and had this mode.
pub(super) fn bring_back(directory: BorrowedFd<'_>, name: &CStr, contents: &[u8], mode: Option<u32>) -> io::Result<()> {
    let found = look_at(directory, name)?.filter(|look| look.kind == FileType::RegularFile);
    let mode = found.map(|look| look.mode).or(mode);
    let (temporary, _) = write_temporary(directory, &Image::new(contents), mode)?;
    let renamed = rustix::fs::renameat(directory, &*temporary, directory, name);
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(directory, &*temporary, AtFlags::empty());
    }
    Ok(renamed?)
}
