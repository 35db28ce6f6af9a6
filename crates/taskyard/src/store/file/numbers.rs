//! The numbers a list has used, without reading its directory for every new task.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use taskyard_core::rules::numbering::{number_of_any_file, number_of_file, read_mark};

use super::place;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;

/// The highest number among the file names of one directory. The first answer comes from reading the directory, later ones
/// from the kernel's word about what was added since.
#[derive(Debug, Default)]
pub(super) struct HighestFile {
    asked: u32,
    watched: Option<Watched>,
}

#[derive(Debug)]
struct Watched {
    changes: OwnedFd,
    inode: u64,
    highest: f64,
}

impl HighestFile {
    /// Returns the highest number there is now, or was while we watched: a task that another program made and removed in
    /// between has used its number up.
    pub(super) fn get(&mut self, directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
        let inode = super::fingerprint::look_through(directory).map(|look| look.print.inode).unwrap_or(0);
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.inode == inode)
            && watched.catch_up().is_ok()
        {
            return Ok(watched.highest);
        }
        // A process that adds one task and ends does not need to be told of the next.
        self.asked += 1;
        let changes = if self.asked > 1 { watch(path).ok() } else { None };
        let highest = scan(directory, path)?;
        self.watched = changes.map(|changes| Watched { changes, inode, highest });
        Ok(highest)
    }
}

/// Reads the highest number from the names themselves, those included that are hidden from the client.
pub(super) fn scan(directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
    highest(directory, path, number_of_any_file)
}

/// Reads the highest number that the client would find.
pub(super) fn scan_as_the_client(directory: BorrowedFd<'_>, path: &Path) -> Result<f64, StoreError> {
    highest(directory, path, number_of_file)
}

fn highest(directory: BorrowedFd<'_>, path: &Path, number: impl Fn(&str) -> Option<f64>) -> Result<f64, StoreError> {
    let names = place::names(directory, path)?;
    Ok(names.iter().filter_map(|name| number(name)).fold(0.0, f64::max))
}

/// A mark larger than this is none: numbers are short.
const LARGEST_MARK: u64 = 4 * 1024;

/// Reads the number in `.highwatermark`; no file, one that is not a regular one, and no number are zero.
pub(super) fn mark(path: &Path) -> f64 {
    mark_file(path).map_or(0.0, |bytes| read_mark(&String::from_utf8_lossy(&bytes)))
}

/// Reads what `.highwatermark` holds.
pub(super) fn mark_file(path: &Path) -> Result<Vec<u8>, NotRead> {
    regular_file::read(&path.join(".highwatermark"), LARGEST_MARK)
}

#[cfg(target_os = "linux")]
fn watch(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let changes = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    add_watch(
        &changes,
        path,
        WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE_SELF | WatchFlags::ONLYDIR,
    )?;
    Ok(changes)
}

#[cfg(not(target_os = "linux"))]
fn watch(_path: &Path) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Watched {
    /// Takes in what was added since; fails when the kernel lost count.
    #[cfg(target_os = "linux")]
    fn catch_up(&mut self) -> io::Result<()> {
        use rustix::fs::inotify::{ReadFlags, Reader};
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.changes, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            if event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
                return Err(io::ErrorKind::Other.into());
            }
            let name = event.file_name().and_then(|name| name.to_str().ok());
            self.highest = name.and_then(number_of_any_file).map_or(self.highest, |number| self.highest.max(number));
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn catch_up(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
