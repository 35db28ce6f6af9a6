//! Reading and writing single task files, and finding the highest number used.
//!
//! Other tools hide tasks from the client under a dot name, `.7.json`, or `..7.json` if hidden twice. Such a file is
//! the task's file if there is none under the plain name; otherwise the plain one takes precedence. A task stays hidden
//! while we write to it, until it is open again. Under client rules hidden files are ignored.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{Seek as _, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;
use std::{fs, io, thread};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use taskyard_core::dialect::macf::hidden_names;
use taskyard_core::dialect::native::{LARGEST, Unreadable};
use taskyard_core::rules::changes::numbering::{number_of_any_file, number_of_file, read_mark};
use taskyard_core::{Image, Task, TaskId};

use crate::regular_file::NotRead;
use crate::store::list_directories::rename_to_new;
use crate::store::locks::client_lock::temporary_name;
use crate::store::locks::list_paths;
use crate::store::locks::list_paths::{Fingerprint, ListPaths, Look, c_name, file_name, look_at, look_through};
use crate::store::{Lookup, StoreError, UnreadableTask};
use crate::watching::{DirectoryWatch, Happened, watch};
use crate::{regular_file, system};

/// A file unmodified for this long, in nanoseconds, is assumed to be completely written.
const SURELY_WRITTEN: i64 = 2_000_000_000;

/// What exists under a task's name on disk.
#[derive(Clone, Debug)]
pub(in crate::store) enum Contents {
    Missing,
    Task(Box<Task>, Image, Look),
    /// A file that cannot be read as a task, with its contents if they are readable.
    Broken(Unreadable, Option<(Image, Look)>),
}

impl Contents {
    /// Returns the bytes and the metadata.
    pub(in crate::store) fn image(&self) -> Option<(&Image, &Look)> {
        match self {
            Self::Task(_, image, look) | Self::Broken(_, Some((image, look))) => Some((image, look)),
            Self::Missing | Self::Broken(_, None) => None,
        }
    }
}

/// Reads a task file. A file that seems to be half written is reread for a while.
pub(in crate::store) fn read(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<Contents> {
    let mut pause = Duration::from_micros(250);
    loop {
        let contents = read_once(place, directory, id)?;
        let Contents::Broken(why, Some((_, look))) = &contents else { return Ok(contents) };
        let is_fresh = system::wall().saturating_sub(look.print.mtime) < SURELY_WRITTEN;
        if !why.may_be_torn() || !is_fresh || pause > Duration::from_millis(150) {
            return Ok(contents);
        }
        thread::sleep(pause);
        pause *= 2;
    }
}

/// Reads a task file once.
pub(in crate::store) fn read_once(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<Contents> {
    read_and_keep(place, directory, id).map(|(contents, _)| contents)
}

/// Reads a task file once, and also returns the open file.
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

/// Returns the contents of an open file if they differ from `before`.
pub(in crate::store) fn rewritten(file: &File, before: &Image) -> io::Result<Option<Image>> {
    let mut first = vec![0; before.bytes().len() + 1];
    let length = regular_file::read_at(file, &mut first, 0)?;
    if first[..length] == *before.bytes() {
        return Ok(None);
    }
    (&*file).rewind()?;
    Ok(Some(Image::new(regular_file::read_open(file, length as u64, LARGEST)?)))
}

/// Writes contents to a new temporary file in the list's directory, to be renamed later.
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
    // A new file gets the mode the umask allows, as with the client; a private file is private from the first moment.
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

/// Replaces a file in the list's directory by renaming a new one over it. Keeps the mode.
pub(in crate::store) fn replace(directory: BorrowedFd<'_>, name: &CStr, contents: &[u8]) -> io::Result<()> {
    let found = look_at(directory, name)?.filter(|look| look.kind == FileType::RegularFile);
    let mode = found.map(|look| look.mode);
    let rename = |temporary: &CStr| Ok(rustix::fs::renameat(directory, temporary, directory, name)?);
    write_and_rename(directory, contents, mode, rename)
}

/// Adds a file with this mode under an unused name.
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

/// Converts file contents to the result of a lookup.
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

/// Returns the current name of a task's file and its metadata; if there is no file, the name it would get.
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

/// Returns the hidden names a task's file may have, in order of precedence; none if hidden files are ignored.
pub(in crate::store) fn other_names(place: &ListPaths, id: &TaskId) -> impl Iterator<Item = CString> {
    let sees_hidden = place.sees_hidden;
    hidden_names(id).filter(move |_| sees_hidden).map(|name| c_name(&name))
}

/// Returns whether a task is hidden from the client while hidden files are ignored under the rules in force.
pub(in crate::store) fn is_out_of_sight(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<bool> {
    for name in hidden_names(id).filter(|_| !place.sees_hidden) {
        if look_at(directory, &c_name(&name))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Renames a possibly hidden task to its plain name.
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

/// The highest number among the file names of a directory. The first request reads the directory; later ones use the
/// kernel's notifications about added files.
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
    /// Returns the highest number that exists now or existed since watching began: a task that another program created
    /// and removed in between has used its number.
    pub(in crate::store) fn get(&mut self, directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
        let inode = crate::store::locks::list_paths::look_through(directory).map(|look| look.print.inode).unwrap_or(0);
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.inode == inode)
            && watched.catch_up()
        {
            return Ok(watched.highest);
        }
        // A process that adds one task and exits does not need notifications.
        self.asked += 1;
        let changes = if self.asked > 1 { watch(path, has_number).ok() } else { None };
        let highest = scan(directory, path)?;
        self.watched = changes.map(|changes| Watched { changes, inode, highest });
        Ok(highest)
    }
}

/// Reads the highest number from the file names, including those hidden from the client.
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

/// Maximum size in bytes of a high-water mark file.
const LARGEST_MARK: u64 = 4 * 1024;

/// Reads the number in `.highwatermark`; zero if the file is missing, not a regular file or contains no number.
pub(in crate::store) fn mark(path: &Path) -> f64 {
    mark_file(path).map_or(0.0, |bytes| read_mark(&String::from_utf8_lossy(&bytes)))
}

/// Returns the metadata of `.highwatermark`; `None` if it does not exist.
pub(in crate::store) fn mark_look(path: &Path) -> Option<Fingerprint> {
    fs::symlink_metadata(path.join(".highwatermark")).ok().map(|found| Fingerprint::of(&found))
}

/// Returns the contents of `.highwatermark`.
pub(in crate::store) fn mark_file(path: &Path) -> Result<Vec<u8>, NotRead> {
    regular_file::read(&path.join(".highwatermark"), LARGEST_MARK)
}

fn has_number(name: &OsStr) -> bool {
    name.to_str().and_then(number_of_any_file).is_some()
}

impl Watched {
    /// Processes what was added since; returns whether the highest number is still known.
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
