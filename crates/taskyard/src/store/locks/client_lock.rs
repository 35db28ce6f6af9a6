//! The client's lock: a directory beside the locked file, refreshed while it is held, dead when it is not.
//!
//! This module makes, looks at, takes over and removes single locks. Which writer waits for which is `queue.rs` and `turn.rs`.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{io, thread};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::fingerprint::{Look, look_at, look_through};
use super::list_paths::{OURS, c_name};
use crate::clock;

/// A lock whose holder showed no sign of life for this long is dead, as the client has it.
pub(in crate::store) const LIFE: Duration = Duration::from_secs(10);

/// What our locks are made with. The sticky bit means nothing on a directory that stays empty; by it we tell our own from a rival's that
/// got the inode of one of ours within the same tick of the clock.
const MODE: u32 = 0o777 | STICKY;
const STICKY: u32 = 0o1000;
/// A candidate older than this, in nanoseconds, shows a sign of life when it becomes a lock.
const YOUNG: i64 = 1_000_000_000;

/// A lock we made. Dropping it gives it back.
#[derive(Debug)]
pub(in crate::store) struct Lock {
    directory: Arc<OwnedFd>,
    name: CString,
    /// Kept open so that its inode number is not used again while we look for it.
    handle: OwnedFd,
    pub(in crate::store) inode: u64,
    pub(in crate::store) born: i64,
}

impl Lock {
    /// Makes a lock in its place, where there is none.
    pub(in crate::store) fn make(directory: &Arc<OwnedFd>, name: &CStr) -> io::Result<Option<Self>> {
        match rustix::fs::mkdirat(&**directory, name, Mode::from_raw_mode(MODE)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let handle = open_directory(directory, name)?;
        let look = look_through(handle.as_fd())?;
        let (inode, born) = (look.print.inode, look.born);
        Ok(Some(Self { directory: Arc::clone(directory), name: name.to_owned(), handle, inode, born }))
    }

    /// Tells whether the lock in place is still the one we made.
    pub(in crate::store) fn is_ours(&self) -> bool {
        matches!(look_at(self.directory.as_fd().as_fd(), &self.name), Ok(Some(look)) if look.print.inode == self.inode)
    }

    /// Shows a sign of life. Works on the directory we made, never on one that took its place.
    pub(in crate::store) fn refresh(&self) {
        touch(&self.handle);
    }

    /// Returns the lock's name in its directory.
    pub(in crate::store) fn name(&self) -> &CStr {
        &self.name
    }

    /// Gives the lock back, unless it is no longer ours.
    pub(in crate::store) fn remove(&self) {
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

/// A lock that is about to be taken: a directory under a name of ours, so that it is known which one it is, and is written down
/// (`turn.rs`), before it becomes the lock. A process that is killed at any moment leaves nothing that our next process cannot tell from a
/// rival's.
#[derive(Debug)]
pub(in crate::store) struct Candidate {
    directory: Arc<OwnedFd>,
    temporary: CString,
    handle: OwnedFd,
    pub(in crate::store) inode: u64,
    pub(in crate::store) born: i64,
    /// When it was made, on the clock that only goes forward.
    made: i64,
}

/// What came of an attempt to take a lock.
#[derive(Debug)]
pub(in crate::store) enum Attempt<L = Lock> {
    /// It is ours.
    Taken(L),
    /// A rival holds it.
    Held(Candidate),
    /// Another process of ours cleared our directory away, taking us for dead.
    Gone,
}

impl Candidate {
    /// Returns a name for a candidate, to be written down before there is one.
    pub(in crate::store) fn name() -> CString {
        temporary_name("lock")
    }

    /// Makes a candidate under a name of ours.
    pub(in crate::store) fn make(directory: &Arc<OwnedFd>, temporary: CString) -> io::Result<Self> {
        let made = clock::since_boot();
        rustix::fs::mkdirat(&**directory, &*temporary, Mode::from_raw_mode(MODE))?;
        let known = open_directory(directory, &temporary).and_then(|handle| {
            let look = look_through(handle.as_fd())?;
            Ok((handle, look))
        });
        match known {
            Ok((handle, look)) => Ok(Self {
                directory: Arc::clone(directory),
                temporary,
                handle,
                inode: look.print.inode,
                born: look.born,
                made,
            }),
            Err(error) => {
                let _ = rustix::fs::unlinkat(&**directory, &*temporary, AtFlags::REMOVEDIR);
                Err(error)
            }
        }
    }

    /// Tries to become the lock of that name. To a rival it looks as if the directory had been made there.
    pub(in crate::store) fn take(self, name: &CStr) -> io::Result<Attempt> {
        let renamed = rustix::fs::renameat_with(
            &*self.directory,
            &*self.temporary,
            &*self.directory,
            name,
            RenameFlags::NOREPLACE,
        );
        match renamed {
            Ok(()) => {
                if clock::since_boot() - self.made > YOUNG {
                    // We waited for it, or were suspended: a rival must not find a lock that is old from the first.
                    touch(&self.handle);
                }
                Ok(Attempt::Taken(Lock {
                    directory: self.directory,
                    name: name.to_owned(),
                    handle: self.handle,
                    inode: self.inode,
                    born: self.born,
                }))
            }
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(Attempt::Held(self)),
            Err(Errno::NOENT) => Ok(Attempt::Gone),
            // Not every file system can rename without replacing; there the lock is made in its place.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.make_in_place(name),
            Err(error) => {
                self.discard();
                Err(error.into())
            }
        }
    }

    /// Removes a candidate that did not become a lock.
    pub(in crate::store) fn discard(&self) {
        let _ = rustix::fs::unlinkat(&*self.directory, &*self.temporary, AtFlags::REMOVEDIR);
    }

    fn make_in_place(self, name: &CStr) -> io::Result<Attempt> {
        let made = Lock::make(&self.directory, name);
        match made {
            Ok(None) => return Ok(Attempt::Held(self)),
            Ok(Some(_)) | Err(_) => self.discard(),
        }
        made.map(|lock| lock.map_or(Attempt::Gone, Attempt::Taken))
    }
}

fn open_directory(directory: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?)
}

/// Shows a sign of life.
pub(in crate::store) fn touch(handle: impl AsFd) {
    let now = clock::wall();
    let time = Timespec { tv_sec: now / 1_000_000_000, tv_nsec: now % 1_000_000_000 };
    let _ = rustix::fs::futimens(handle, &Timestamps { last_access: time, last_modification: time });
}

/// Returns how long ago the holder of a lock showed a sign of life, by the lock's own time; one in the future is now (`dead_locks.rs`).
pub(in crate::store) fn age(look: &Look) -> Duration {
    Duration::from_nanos(u64::try_from(clock::wall().saturating_sub(look.print.mtime)).unwrap_or(0))
}

/// Takes a dead lock out of the way: it is moved aside, and put back when it turns out not to be the one that was seen.
/// Returns whether the way is free.
pub(in crate::store) fn take_aside(
    directory: BorrowedFd<'_>,
    name: &CStr,
    seen: &Look,
    aside: &CStr,
) -> io::Result<bool> {
    match rustix::fs::renameat(directory, name, directory, aside) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(true),
        Err(error) => return Err(error.into()),
    }
    let is_the_one = look_at(directory, aside)?.is_some_and(|look| look.print == seen.print && look.born == seen.born);
    if is_the_one {
        clear(directory, name, aside, seen)?;
        return Ok(true);
    }
    match rustix::fs::renameat_with(directory, aside, directory, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // Its owner lost it in that instant, and will notice; a third one holds the lock now.
        Err(_) => drop(rustix::fs::unlinkat(directory, aside, AtFlags::REMOVEDIR)),
    }
    Ok(false)
}

/// Removes what was moved aside. A file or directory with something in it is a program's: it is kept under another name.
fn clear(directory: BorrowedFd<'_>, name: &CStr, aside: &CStr, seen: &Look) -> io::Result<()> {
    let flags = if is_directory(seen) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    let is_full_file = seen.kind == FileType::RegularFile && seen.print.size > 0;
    let removed = if is_full_file { Err(Errno::NOTEMPTY) } else { rustix::fs::unlinkat(directory, aside, flags) };
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::NOTEMPTY | Errno::EXIST) => set_aside(directory, aside, &format!("{}.old", name.to_string_lossy())),
        Err(error) => Err(error.into()),
    }
}

/// Renames something to a name that no program uses, `wanted` or one like it.
pub(in crate::store) fn set_aside(directory: BorrowedFd<'_>, name: &CStr, wanted: &str) -> io::Result<()> {
    for attempt in 1.. {
        let free = if attempt == 1 { c_name(wanted) } else { c_name(&format!("{wanted}-{attempt}")) };
        let renamed = match rustix::fs::renameat_with(directory, name, directory, &*free, RenameFlags::NOREPLACE) {
            // Not every file system knows the flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match look_at(directory, &free)? {
                Some(_) => Err(Errno::EXIST),
                None => rustix::fs::renameat(directory, name, directory, &*free),
            },
            renamed => renamed,
        };
        match renamed {
            Err(Errno::EXIST | Errno::NOTEMPTY) if attempt < 1000 => {}
            renamed => return Ok(renamed?),
        }
    }
    Ok(())
}

/// Looks twice at a lock, a moment apart, and tells whether nothing moved.
pub(in crate::store) fn is_motionless(
    directory: BorrowedFd<'_>,
    name: &CStr,
    seen: &Look,
    pause: Duration,
) -> io::Result<bool> {
    thread::sleep(pause);
    Ok(look_at(directory, name)?.is_some_and(|look| look.print == seen.print && look.born == seen.born))
}

/// Tells whether a lock was made by one of ours.
pub(in crate::store) fn is_of_ours(look: &Look) -> bool {
    is_directory(look) && look.mode & STICKY != 0
}

/// Tells whether what stands there can be a lock at all.
pub(in crate::store) fn is_directory(look: &Look) -> bool {
    look.kind == FileType::Directory
}

/// Returns our process id, asked for once: names and words that hold it are made for every lock.
pub(in crate::store) fn process() -> u32 {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    *PROCESS.get_or_init(std::process::id)
}

/// Returns a name in the list's directory that no other process uses.
pub(in crate::store) fn temporary_name(purpose: &str) -> CString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    c_name(&format!("{OURS}{}-{:x}-{count}.{purpose}", process(), clock::since_boot()))
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;

    use super::{Attempt, Candidate, Lock, take_aside};
    use crate::store::locks::fingerprint::look_at;

    fn folder() -> (tempfile::TempDir, Arc<OwnedFd>) {
        let folder = tempfile::tempdir().unwrap();
        let fd = Arc::new(OwnedFd::from(fs::File::open(folder.path()).unwrap()));
        (folder, fd)
    }

    fn taken(fd: &Arc<OwnedFd>, name: &CStr) -> Lock {
        match Candidate::make(fd, Candidate::name()).unwrap().take(name).unwrap() {
            Attempt::Taken(lock) => lock,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_lock_has_one_holder_and_is_gone_when_dropped() {
        let (folder, fd) = folder();
        let lock = taken(&fd, c".lock.lock");
        assert!(lock.is_ours());
        let second = Candidate::make(&fd, Candidate::name()).unwrap().take(c".lock.lock").unwrap();
        let Attempt::Held(second) = second else { panic!("taken twice") };
        second.discard();
        drop(lock);
        assert!(!folder.path().join(".lock.lock").exists());
    }

    #[test]
    fn a_lock_that_somebody_took_over_is_left_alone() {
        let (folder, fd) = folder();
        let lock = taken(&fd, c".lock.lock");
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
        let rival = taken(&fd, c"b.lock");
        assert!(!take_aside(fd.as_fd(), c"b.lock", &seen, c"aside").unwrap());
        assert!(rival.is_ours());
        assert!(take_aside(fd.as_fd(), c"a.lock", &seen, c"aside").unwrap());
        assert!(!folder.path().join("a.lock").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
