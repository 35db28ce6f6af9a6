//! Reading and writing single task files.
//!
//! Other tools hide tasks from the client under a dot name, `.7.json`, or `..7.json` if they did so twice. Such a file is the task's own if
//! there is none under the plain name; if there is, the plain one counts. A task stays hidden while we write to it, until it is open again.
//! In the client's rules it is not seen.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use taskyard_core::dialect::macf::hidden_names;
use taskyard_core::dialect::native::{LARGEST, Unreadable};
use taskyard_core::{Image, Task, TaskId};

use crate::clock;
use crate::regular_file::{self, NotRead};
use crate::store::locks::client_lock::temporary_name;
use crate::store::locks::fingerprint::{Look, look_at, look_through};
use crate::store::locks::list_paths::{self, ListPaths, c_name, file_name};
use crate::store::new_name::rename_to_new;
use crate::store::{Lookup, UnreadableTask};

/// A file that no program touched for this long is not in the middle of being written.
const SURELY_WRITTEN: i64 = 2_000_000_000;

/// What stands under a task's name on disk.
#[derive(Clone, Debug)]
pub(in crate::store) enum Contents {
    /// Nothing.
    Missing,
    /// A task.
    Task(Box<Task>, Image, Look),
    /// A file that no task can be read from, with its contents where it has readable ones.
    Broken(Unreadable, Option<(Image, Look)>),
}

impl Contents {
    /// Returns the bytes and what they were recognised by.
    pub(in crate::store) fn image(&self) -> Option<(&Image, &Look)> {
        match self {
            Self::Task(_, image, look) | Self::Broken(_, Some((image, look))) => Some((image, look)),
            Self::Missing | Self::Broken(_, None) => None,
        }
    }
}

/// Reads a task file. One that seems to be half written at this instant is looked at again for a while.
pub(in crate::store) fn read(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<Contents> {
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

/// Reads a task file as it is at this instant.
pub(in crate::store) fn read_once(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<Contents> {
    read_and_keep(place, directory, id).map(|(contents, _)| contents)
}

/// Reads a task file as it is at this instant, and returns it still open.
pub(in crate::store) fn read_and_keep(
    place: &ListPaths,
    directory: BorrowedFd<'_>,
    id: &TaskId,
) -> io::Result<(Contents, Option<File>)> {
    let open = |name: &CStr| regular_file::open_at(directory, name);
    let mut opened = open(&file_name(id));
    let mut other_names = other_names(place, id);
    while opened.as_ref().is_err_and(NotRead::is_missing)
        && let Some(hidden) = other_names.next()
    {
        opened = open(&hidden);
    }
    let read = opened.and_then(|file| {
        let look = look_through(file.as_fd())?;
        regular_file::must_fit(look.kind, look.print.size, LARGEST)?;
        Ok((regular_file::read_open(&file, look.print.size, LARGEST)?, look, file))
    });
    let (bytes, look, file) = match read {
        Ok(read) => read,
        Err(why) if why.is_missing() => return Ok((Contents::Missing, None)),
        Err(NotRead::System(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            let why = "permission denied".to_owned();
            return Ok((Contents::Broken(Unreadable::Unopenable { why }, None), None));
        }
        Err(why) => return Ok((Contents::Broken(why.of_a_task()?, None), None)),
    };
    let image = Image::new(bytes);
    let contents = match image.task(id) {
        Ok(task) => Contents::Task(Box::new(task), image, look),
        Err(why) => Contents::Broken(why, Some((image, look))),
    };
    Ok((contents, Some(file)))
}

/// Returns what an open file holds now, if that is no longer what it held before.
pub(in crate::store) fn rewritten(file: &File, before: &Image) -> io::Result<Option<Image>> {
    let mut first = vec![0; before.bytes().len() + 1];
    let length = regular_file::read_at(file, &mut first, 0)?;
    if first[..length] == *before.bytes() {
        return Ok(None);
    }
    (&*file).rewind()?;
    Ok(Some(Image::new(regular_file::read_open(file, length as u64, LARGEST)?)))
}

/// Writes contents to a new file beside the tasks, ready to be renamed into its place.
pub(in crate::store) fn write_temporary(
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
    // New files are for every user the umask allows, as the client makes them; what was private is so from the first moment.
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
pub(in crate::store) fn replace(directory: BorrowedFd<'_>, name: &CStr, contents: &[u8]) -> io::Result<()> {
    let found = look_at(directory, name)?.filter(|look| look.kind == FileType::RegularFile);
    let mode = found.map(|look| look.mode);
    let rename = |temporary: &CStr| Ok(rustix::fs::renameat(directory, temporary, directory, name)?);
    write_and_rename(directory, contents, mode, rename)
}

/// Adds a file of this mode under a name that nothing has.
pub(in crate::store) fn add(
    directory: BorrowedFd<'_>,
    name: &CStr,
    contents: &[u8],
    mode: Option<u32>,
) -> io::Result<()> {
    write_and_rename(directory, contents, mode, |temporary| rename_to_new(directory, temporary, name))
}

fn write_and_rename(
    directory: BorrowedFd<'_>,
    contents: &[u8],
    mode: Option<u32>,
    rename: impl FnOnce(&CStr) -> io::Result<()>,
) -> io::Result<()> {
    let (temporary, _) = write_temporary(directory, &Image::new(contents), mode)?;
    rename(&temporary).inspect_err(|_| {
        let _ = rustix::fs::unlinkat(directory, &*temporary, AtFlags::empty());
    })
}

/// Says what stands under a task's name.
pub(in crate::store) fn lookup(contents: Contents, id: &TaskId, place: &list_paths::ListPaths) -> Lookup {
    match contents {
        Contents::Missing => Lookup::Missing,
        Contents::Task(task, image, _) => Lookup::Found(task, image),
        Contents::Broken(why, found) => {
            let (path, contents) = (place.file_in_use(id), found.map(|(image, _)| image));
            Lookup::Unreadable(UnreadableTask { task: id.clone(), path, why, last_known: None, contents })
        }
    }
}

/// Returns the name a task's file has, and what it looks like; where there is none, the name it would get.
pub(in crate::store) fn find(
    place: &ListPaths,
    directory: BorrowedFd<'_>,
    id: &TaskId,
) -> io::Result<(CString, Option<Look>)> {
    let plain = file_name(id);
    if let Some(look) = look_at(directory, &plain)? {
        return Ok((plain, Some(look)));
    }
    for hidden in other_names(place, id) {
        if let Some(look) = look_at(directory, &hidden)? {
            return Ok((hidden, Some(look)));
        }
    }
    Ok((plain, None))
}

/// Returns the other names a task's file may have, where those are looked for, the one that counts first.
pub(in crate::store) fn other_names(place: &ListPaths, id: &TaskId) -> impl Iterator<Item = CString> {
    let sees_hidden = place.sees_hidden;
    hidden_names(id).filter(move |_| sees_hidden).map(|name| c_name(&name))
}

/// Tells whether a task is there for other programs and not for the client, whose rules are ours.
pub(in crate::store) fn is_out_of_sight(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<bool> {
    for name in hidden_names(id).filter(|_| !place.sees_hidden) {
        if look_at(directory, &c_name(&name))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Brings a task that may be hidden back under its plain name.
pub(in crate::store) fn unhide(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<()> {
    let plain = file_name(id);
    for hidden in other_names(place, id) {
        match rename_to_new(directory, &*hidden, &*plain) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => return Ok(()),
        }
    }
    Ok(())
}
