//! The client's lock: a directory beside the locked file, refreshed while it is held, dead when it is not.
//!
//! This module makes, looks at, takes over and removes single locks. Who waits for whom is `queue.rs` and `turn.rs`.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::clock;
use super::fingerprint::{Look, look_at, look_through};
use super::place::{OURS, c_name};

/// A lock whose holder showed no sign of life for this long is dead, as the client has it.
pub(super) const LIFE: Duration = Duration::from_secs(10);
/// Between making a lock and knowing which directory it is, no more than this may pass, or somebody may have taken it over.
const LONGEST_BIRTH: Duration = Duration::from_secs(5);

/// A lock we made. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lock {
    directory: Arc<OwnedFd>,
    name: CString,
    /// Kept open so that its inode number is not used again while we look for it.
    handle: OwnedFd,
    pub(super) inode: u64,
    pub(super) born: i64,
}

impl Lock {
    /// Makes the lock; `None` where somebody holds it.
    pub(super) fn make(directory: &Arc<OwnedFd>, name: &CStr) -> io::Result<Option<Self>> {
        let started = Instant::now();
        match rustix::fs::mkdirat(&**directory, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(&**directory, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            // Gone already: we were asleep for so long that somebody took it for dead.
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => {
                let _ = rustix::fs::unlinkat(&**directory, name, AtFlags::REMOVEDIR);
                return Err(error.into());
            }
        };
        let look = look_through(handle.as_fd())?;
        if started.elapsed() > LONGEST_BIRTH {
            return Ok(None);
        }
        Ok(Some(Self {
            directory: Arc::clone(directory),
            name: name.to_owned(),
            handle,
            inode: look.print.inode,
            born: look.born,
        }))
    }

    /// Tells whether the lock in place is still the one we made.
    pub(super) fn is_ours(&self) -> bool {
        matches!(look_at(self.directory.as_fd().as_fd(), &self.name), Ok(Some(look)) if look.print.inode == self.inode)
    }

    /// Shows a sign of life. Works on the directory we made, never on one that took its place.
    pub(super) fn refresh(&self) {
        let now = clock::wall();
        let time = Timespec { tv_sec: now / 1_000_000_000, tv_nsec: now % 1_000_000_000 };
        let _ = rustix::fs::futimens(&self.handle, &Timestamps { last_access: time, last_modification: time });
    }

    /// Returns the lock's name in its directory.
    pub(super) fn name(&self) -> &CStr {
        &self.name
    }

    /// Gives the lock back, unless it is no longer ours.
    pub(super) fn remove(&self) {
        if self.is_ours() {
            let _ = rustix::fs::unlinkat(&*self.directory, &*self.name, AtFlags::REMOVEDIR);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Returns how long ago the holder of a lock showed a sign of life; a time in the future is now.
pub(super) fn age(look: &Look) -> Duration {
    Duration::from_nanos(u64::try_from(clock::wall().saturating_sub(look.print.mtime)).unwrap_or(0))
}

/// Takes a dead lock out of the way: it is moved aside, and put back when it turns out not to be the one that was seen.
/// Returns whether the way is free.
pub(super) fn take_aside(directory: BorrowedFd<'_>, name: &CStr, seen: &Look) -> io::Result<bool> {
    let aside = temporary_name("stale");
    match rustix::fs::renameat(directory, name, directory, &*aside) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(true),
        Err(error) => return Err(error.into()),
    }
    let is_the_one = look_at(directory, &aside)?.is_some_and(|look| look.print == seen.print && look.born == seen.born);
    if is_the_one {
        rustix::fs::unlinkat(directory, &*aside, AtFlags::REMOVEDIR)?;
        return Ok(true);
    }
    match rustix::fs::renameat_with(directory, &*aside, directory, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // Its owner lost it in that instant, and will notice; a third one holds the lock now.
        Err(_) => drop(rustix::fs::unlinkat(directory, &*aside, AtFlags::REMOVEDIR)),
    }
    Ok(false)
}

/// Looks twice at a lock, a moment apart, and tells whether nothing moved.
pub(super) fn is_motionless(directory: BorrowedFd<'_>, name: &CStr, seen: &Look, pause: Duration) -> io::Result<bool> {
    thread::sleep(pause);
    Ok(look_at(directory, name)?.is_some_and(|look| look.print == seen.print && look.born == seen.born))
}

/// Tells whether what stands there can be a lock at all.
pub(super) fn is_directory(look: &Look) -> bool {
    look.kind == FileType::Directory
}

/// Returns a name in the list's directory that nobody else uses.
pub(super) fn temporary_name(purpose: &str) -> CString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    c_name(&format!("{OURS}{}-{:x}-{count}.{purpose}", std::process::id(), clock::since_boot()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;

    use super::{Lock, take_aside};
    use crate::store::file::fingerprint::look_at;

    fn folder() -> (tempfile::TempDir, Arc<OwnedFd>) {
        let folder = tempfile::tempdir().unwrap();
        let fd = Arc::new(OwnedFd::from(fs::File::open(folder.path()).unwrap()));
        (folder, fd)
    }

    #[test]
    fn a_lock_has_one_holder_and_is_gone_when_dropped() {
        let (folder, fd) = folder();
        let lock = Lock::make(&fd, c".lock.lock").unwrap().unwrap();
        assert!(lock.is_ours());
        assert!(Lock::make(&fd, c".lock.lock").unwrap().is_none());
        drop(lock);
        assert!(!folder.path().join(".lock.lock").exists());
    }

    #[test]
    fn a_lock_that_somebody_took_over_is_left_alone() {
        let (folder, fd) = folder();
        let lock = Lock::make(&fd, c".lock.lock").unwrap().unwrap();
        fs::remove_dir(folder.path().join(".lock.lock")).unwrap();
        fs::create_dir(folder.path().join(".lock.lock")).unwrap();
        assert!(!lock.is_ours());
        drop(lock);
        assert!(folder.path().join(".lock.lock").exists());
    }

    #[test]
    fn a_lock_that_is_not_the_one_seen_is_put_back() {
        let (folder, fd) = folder();
        fs::create_dir(folder.path().join("a.lock")).unwrap();
        let seen = look_at(fd.as_fd(), c"a.lock").unwrap().unwrap();
        let rival = Lock::make(&fd, c"b.lock").unwrap().unwrap();
        assert!(!take_aside(fd.as_fd(), c"b.lock", &seen).unwrap());
        assert!(rival.is_ours());
        assert!(take_aside(fd.as_fd(), c"a.lock", &seen).unwrap());
        assert!(!folder.path().join("a.lock").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
