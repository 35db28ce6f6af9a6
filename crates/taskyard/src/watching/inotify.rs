//! The single inotify instance of this process.
//!
//! The kernel queues an event before the call that causes it returns. Therefore a process that asks after such a call,
//! made by any process, sees the event.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use rustix::fs::inotify;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::{Deed, Happened};

/// All changes to the files of a directory and to the directory itself, but not reads.
const ANYTHING: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);
/// Events after which a directory is no longer watched, or has moved.
const END: ReadFlags = ReadFlags::IGNORED.union(ReadFlags::UNMOUNT).union(ReadFlags::MOVE_SELF);
/// Maximum number of names kept for a watcher that does not ask.
const MOST_NAMES: usize = 4096;

static KERNEL: Mutex<Option<Arc<Kernel>>> = Mutex::new(None);

/// A callback for events in a directory; it must return quickly.
pub(super) type Notify = Box<dyn Fn() + Send + Sync>;
/// Returns whether a watcher is interested in the file with this name.
pub(crate) type Wants = fn(&OsStr) -> bool;

/// The inotify instance and its watchers.
#[derive(Debug)]
pub(super) struct Kernel {
    changes: OwnedFd,
    watchers: Mutex<HashMap<i32, Vec<Arc<Watcher>>>>,
}

/// One caller's interest in a directory.
struct Watcher {
    happened: Mutex<Happened>,
    wants: Wants,
    /// `None` for a caller that polls.
    notify: Option<Notify>,
}

/// A watched directory; dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct DirectoryWatch {
    kernel: Arc<Kernel>,
    descriptor: i32,
    watcher: Arc<Watcher>,
}

/// Starts watching a directory, for a caller that polls for events on the selected files.
pub(crate) fn watch(path: &Path, wants: Wants) -> io::Result<DirectoryWatch> {
    Kernel::get()?.watch(path, wants, None)
}

impl DirectoryWatch {
    /// Returns what has happened since the last call.
    pub(crate) fn take(&self) -> Happened {
        self.kernel.take_in();
        let mut happened = self.watcher.happened();
        let after = if *happened == Happened::Gone { Happened::Gone } else { Happened::Nothing };
        std::mem::replace(&mut *happened, after)
    }

    /// Returns whether the directory was removed or moved.
    pub(super) fn is_gone(&self) -> bool {
        *self.watcher.happened() == Happened::Gone
    }
}

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        let mut watchers = self.kernel.watchers();
        let Some(of_directory) = watchers.get_mut(&self.descriptor) else { return };
        of_directory.retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
        if of_directory.is_empty() {
            watchers.remove(&self.descriptor);
            // The kernel may have removed the watch already.
            let _ = inotify::remove_watch(&self.kernel.changes, self.descriptor);
        }
    }
}

impl Kernel {
    /// Returns the instance, creating it if necessary. Creation can fail because the number of instances per user is
    /// limited.
    pub(super) fn get() -> io::Result<Arc<Self>> {
        let mut kernel = KERNEL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = &*kernel {
            return Ok(Arc::clone(kernel));
        }
        let changes = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let made = Arc::new(Self { changes, watchers: Mutex::default() });
        *kernel = Some(Arc::clone(&made));
        Ok(made)
    }

    pub(super) fn watch(
        self: Arc<Self>,
        path: &Path,
        wants: Wants,
        notify: Option<Notify>,
    ) -> io::Result<DirectoryWatch> {
        let watcher = Arc::new(Watcher { happened: Mutex::new(Happened::Nothing), wants, notify });
        // The lock keeps other threads from reading events before this watcher is registered.
        let mut watchers = self.watchers();
        let descriptor = inotify::add_watch(&self.changes, path, ANYTHING)?;
        watchers.entry(descriptor).or_default().push(Arc::clone(&watcher));
        drop(watchers);
        Ok(DirectoryWatch { kernel: self, descriptor, watcher })
    }

    /// Reads pending events and distributes them to all watchers.
    pub(super) fn take_in(&self) {
        let mut watchers = self.watchers();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.changes, &mut buffer);
        let mut to_notify: Vec<Arc<Watcher>> = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let is_end = event.events().intersects(END);
                    if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                        let all = watchers.values().flatten();
                        all.for_each(|watcher| watcher.hear(Happened::Anything, &mut to_notify));
                    }
                    let of_directory = watchers.get(&event.wd()).map(Vec::as_slice).unwrap_or_default();
                    for watcher in of_directory {
                        match event.file_name() {
                            _ if is_end => watcher.hear(Happened::Gone, &mut to_notify),
                            Some(name) => watcher.hear_of(name, deed(event.events()), &mut to_notify),
                            // An event on the directory itself is not about any file.
                            None => watcher.hear(Happened::Nothing, &mut to_notify),
                        }
                    }
                    if is_end && event.events().contains(ReadFlags::IGNORED) {
                        watchers.remove(&event.wd());
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => {
                    tracing::warn!(%error, "the kernel does not tell what it watched");
                    let all = watchers.values().flatten();
                    all.for_each(|watcher| watcher.hear(Happened::Gone, &mut to_notify));
                    break;
                }
            }
        }
        drop(watchers);
        for watcher in to_notify {
            watcher.notify.iter().for_each(|notify| notify());
        }
    }

    /// Returns a descriptor that is readable when events are pending.
    pub(super) fn readable(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }

    /// Returns whether any watcher has a callback.
    pub(super) fn has_anybody_to_call(&self) -> bool {
        self.watchers().values().flatten().any(|watcher| watcher.notify.is_some())
    }

    fn watchers(&self) -> MutexGuard<'_, HashMap<i32, Vec<Arc<Watcher>>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    fn happened(&self) -> MutexGuard<'_, Happened> {
        self.happened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an event on a file, if the watcher is interested.
    fn hear_of(self: &Arc<Self>, name: &CStr, deed: Deed, to_notify: &mut Vec<Arc<Self>>) {
        let name = OsStr::from_bytes(name.to_bytes());
        if self.notify.is_some() {
            return self.hear(Happened::Nothing, to_notify);
        }
        if !(self.wants)(name) {
            return;
        }
        if let Happened::To(names) = &mut *self.happened()
            && let Some(known) = names.get_mut(name)
        {
            *known = deed.max(*known);
            return;
        }
        self.hear(Happened::To(BTreeMap::from([(name.to_owned(), deed)])), to_notify);
    }

    /// Records an event. A watcher with a callback is added to `to_notify`, once.
    fn hear(self: &Arc<Self>, news: Happened, to_notify: &mut Vec<Arc<Self>>) {
        if self.notify.is_some() {
            if news == Happened::Gone {
                *self.happened() = Happened::Gone;
            }
            if !to_notify.iter().any(|other| Arc::ptr_eq(other, self)) {
                to_notify.push(Arc::clone(self));
            }
            return;
        }
        let mut happened = self.happened();
        *happened = match (std::mem::replace(&mut *happened, Happened::Nothing), news) {
            (Happened::Gone, _) | (_, Happened::Gone) => Happened::Gone,
            (Happened::Anything, _) | (_, Happened::Anything) => Happened::Anything,
            (Happened::To(mut names), Happened::To(more)) => {
                names.extend(more);
                if names.len() > MOST_NAMES { Happened::Anything } else { Happened::To(names) }
            }
            (Happened::Nothing, news) => news,
            (happened, Happened::Nothing) => happened,
        };
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let happened = &*self.happened();
        formatter.debug_struct("Watcher").field("happened", happened).finish_non_exhaustive()
    }
}

fn deed(events: ReadFlags) -> Deed {
    if events == ReadFlags::MOVED_TO { Deed::MovedThere } else { Deed::Touched }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::path::Path;

    use super::{Deed, DirectoryWatch, Happened, MOST_NAMES};

    pub(super) fn watch(path: &Path) -> std::io::Result<DirectoryWatch> {
        super::watch(path, |_| true)
    }

    fn to<const N: usize>(names: [(&str, Deed); N]) -> Happened {
        Happened::To(names.into_iter().map(|(name, deed)| (name.into(), deed)).collect())
    }

    #[test]
    fn caller_is_told_once_which_files_were_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (watch(folder.path()).unwrap(), watch(folder.path()).unwrap());
        assert_eq!(one.take(), Happened::Nothing);
        fs::write(folder.path().join("1.json"), "{}").unwrap();
        fs::rename(folder.path().join("1.json"), folder.path().join("2.json")).unwrap();
        let told = to([("1.json", Deed::Touched), ("2.json", Deed::MovedThere)]);
        assert_eq!(one.take(), told);
        assert_eq!(one.take(), Happened::Nothing);
        fs::read(folder.path().join("2.json")).unwrap();
        fs::remove_file(folder.path().join("2.json")).unwrap();
        drop(one);
        let told = to([("1.json", Deed::Touched), ("2.json", Deed::Touched)]);
        assert_eq!(two.take(), told, "another watcher of the directory is told, too");
    }

    #[test]
    fn file_modified_after_move_is_not_a_plain_move() {
        let folder = tempfile::tempdir().unwrap();
        let (from, there) = (folder.path().join("new"), folder.path().join("1.json"));
        let watched = super::watch(folder.path(), |name| name == OsStr::new("1.json")).unwrap();
        let only_moved: [fn(&Path); 2] = [|_| {}, |path| drop(fs::read(path).unwrap())];
        let touched: [fn(&Path); 3] = [
            |path| fs::write(path, "{}").unwrap(),
            |path| fs::remove_file(path).unwrap(),
            |path| fs::rename(path, path.with_extension("away")).unwrap(),
        ];
        for (ways, deed) in [(&only_moved[..], Deed::MovedThere), (&touched[..], Deed::Touched)] {
            for then in ways {
                fs::write(&from, "{}").unwrap();
                fs::rename(&from, &there).unwrap();
                then(&there);
                assert_eq!(watched.take(), to([("1.json", deed)]));
            }
        }
        fs::write(&there, "{}").unwrap();
        fs::write(&from, "{}").unwrap();
        fs::rename(&from, &there).unwrap();
        assert_eq!(watched.take(), to([("1.json", Deed::Touched)]), "whatever was done to it before that");
    }

    #[test]
    fn a_directory_that_was_removed_or_renamed_is_gone_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let ways: [fn(&Path); 2] =
            [|path| fs::remove_dir(path).unwrap(), |path| fs::rename(path, path.with_extension("away")).unwrap()];
        for go in ways {
            let place = folder.path().join("list");
            fs::create_dir(&place).unwrap();
            let watched = watch(&place).unwrap();
            go(&place);
            assert_eq!(watched.take(), Happened::Gone);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("1.json"), "{}").unwrap();
            assert_eq!(watched.take(), Happened::Gone);
            fs::remove_dir_all(&place).unwrap();
        }
    }

    #[test]
    fn more_than_can_be_remembered_is_anything() {
        let folder = tempfile::tempdir().unwrap();
        let watched = watch(folder.path()).unwrap();
        for number in 0..=MOST_NAMES {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(watched.take(), Happened::Anything);
        fs::write(folder.path().join("one"), "").unwrap();
        assert_eq!(watched.take(), to([("one", Deed::Touched)]));
    }

    #[test]
    fn what_cannot_be_watched_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(watch(&folder.path().join("file")).is_err());
        assert!(watch(&folder.path().join("nothing")).is_err());
    }
}
