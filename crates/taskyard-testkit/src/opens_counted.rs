//! Counting how often files are opened, by any process.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Counts how often any process opens one file, or a directory and its contents.
#[derive(Debug)]
pub struct OpensCounted(OwnedFd);

impl OpensCounted {
    /// Counts from now on.
    pub fn of(path: &Path) -> Self {
        let watching = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        // Two alike in a row are told as one, so the closing in between is wanted, too.
        let events = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE | WatchFlags::CLOSE_WRITE;
        inotify::add_watch(&watching, path, events).unwrap();
        Self(watching)
    }

    /// Returns how often it, or for a directory it and its contents, was opened since the last call.
    pub fn take(&self) -> usize {
        self.take_names().len()
    }

    /// Returns the names of the files in a directory that were opened since this was last asked, one for each time.
    pub fn take_files(&self) -> Vec<String> {
        self.take_names().into_iter().flatten().collect()
    }

    /// Returns the name of each opened entry; `None` for the path itself.
    fn take_names(&self) -> Vec<Option<String>> {
        let mut buffer = [MaybeUninit::uninit(); 64 * 1024];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = events.next() {
            if event.events().contains(ReadFlags::OPEN) {
                names.push(event.file_name().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        names
    }
}
