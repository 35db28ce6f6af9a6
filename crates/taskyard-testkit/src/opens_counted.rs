//! Counting how often files are opened, whoever does it.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Counts how often one file is opened, by whatever process.
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

    /// Returns how often it was opened since this was last asked.
    pub fn take(&self) -> usize {
        let mut buffer = [MaybeUninit::uninit(); 64 * 1024];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut opens = 0;
        while let Ok(event) = events.next() {
            opens += usize::from(event.events().contains(ReadFlags::OPEN));
        }
        opens
    }
}
