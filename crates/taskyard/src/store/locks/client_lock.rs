//! The client's lock: a directory beside the locked file, refreshed while it is held, and dead once it no longer is.
//!
//! This module creates, examines, takes over and removes single locks, and refreshes the locks and turns of this
//! process. It does not decide which writer waits for which; see `queue.rs` and `turn.rs`.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;
use std::{io, mem, thread};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::client_lock;
use super::list_paths::{OURS, c_name};
use crate::store::locks::list_paths::{Look, look_at, look_through};
use crate::system;

/// A lock that was not refreshed for this long is dead, under the client's protocol.
pub(in crate::store) const LIFE: Duration = Duration::from_secs(10);

/// The mode of our locks. The sticky bit has no effect on an empty directory. It distinguishes our locks from those of
/// a rival that got the inode of one of ours within the same clock tick.
const MODE: u32 = 0o777 | STICKY;
const STICKY: u32 = 0o1000;
/// A candidate older than this, in nanoseconds, is refreshed when it becomes a lock.
const YOUNG: i64 = 1_000_000_000;

/// A lock we created. Dropping it releases it.
#[derive(Debug)]
pub(in crate::store) struct Lock {
    directory: Arc<OwnedFd>,
    name: CString,
    /// Kept open so that the inode number is not reused while we compare it.
    handle: OwnedFd,
    pub(in crate::store) inode: u64,
    pub(in crate::store) born: i64,
}

impl Lock {
    /// Creates a lock in place. Returns `None` if it exists.
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

    /// Returns whether the lock in place is still the one we created.
    pub(in crate::store) fn is_ours(&self) -> bool {
        matches!(look_at(self.directory.as_fd().as_fd(), &self.name), Ok(Some(look)) if look.print.inode == self.inode)
    }

    /// Refreshes the lock. Works on the directory we created, never on one that replaced it.
    pub(in crate::store) fn refresh(&self) {
        touch(&self.handle);
    }

    /// Returns the lock's name in its directory.
    pub(in crate::store) fn name(&self) -> &CStr {
        &self.name
    }

    /// Releases the lock, unless it is no longer ours.
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

/// A lock about to be taken: a directory under a name of our own, so that its identity is known and recorded
/// (`turn.rs`) before it becomes the lock. Whenever a process is killed, our next process can tell what it left behind
/// from a rival's lock.
#[derive(Debug)]
pub(in crate::store) struct Candidate {
    directory: Arc<OwnedFd>,
    temporary: CString,
    handle: OwnedFd,
    pub(in crate::store) inode: u64,
    pub(in crate::store) born: i64,
    /// When it was created, on the monotonic clock.
    made: i64,
}

/// The result of an attempt to take a lock.
#[derive(Debug)]
pub(in crate::store) enum Attempt<L = Lock> {
    /// The lock is ours.
    Taken(L),
    /// Another holder has the lock.
    Held(Candidate),
    /// Another of our processes removed our directory because it took us for dead.
    Gone,
}

impl Candidate {
    /// Returns a name for a candidate, to be recorded before the candidate is created.
    pub(in crate::store) fn name() -> CString {
        temporary_name("lock")
    }

    /// Creates a candidate under a name of our own.
    pub(in crate::store) fn make(directory: &Arc<OwnedFd>, temporary: CString) -> io::Result<Self> {
        let made = system::since_boot();
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

    /// Tries to turn the candidate into the lock of that name. To a rival it looks as if the directory had been created
    /// there.
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
                if system::since_boot() - self.made > YOUNG {
                    // We waited for it or were suspended. A rival must not find a lock that is old from the start.
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
            // Not every file system supports rename without replacing; create the lock in place instead.
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

/// Refreshes a lock or a queue file by setting its time.
pub(in crate::store) fn touch(handle: impl AsFd) {
    let now = system::wall();
    let time = Timespec { tv_sec: now / 1_000_000_000, tv_nsec: now % 1_000_000_000 };
    let _ = rustix::fs::futimens(handle, &Timestamps { last_access: time, last_modification: time });
}

/// Returns how long ago a lock was refreshed, by the lock's own time. Zero if that is in the future (`dead_locks.rs`).
pub(in crate::store) fn age(look: &Look) -> Duration {
    Duration::from_nanos(u64::try_from(system::wall().saturating_sub(look.print.mtime)).unwrap_or(0))
}

/// Removes a dead lock: moves it aside, and back if it turns out not to be the one that was seen. Returns whether the
/// name is free now.
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
        // Its owner lost it in that instant and will notice; a third process holds the lock now.
        Err(_) => drop(rustix::fs::unlinkat(directory, aside, AtFlags::REMOVEDIR)),
    }
    Ok(false)
}

/// Removes what was moved aside. A non-empty file or directory belongs to some program and is kept under another name.
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

/// Renames something to an unused name: `wanted`, or `wanted` with a number appended.
pub(in crate::store) fn set_aside(directory: BorrowedFd<'_>, name: &CStr, wanted: &str) -> io::Result<()> {
    for attempt in 1.. {
        let free = if attempt == 1 { c_name(wanted) } else { c_name(&format!("{wanted}-{attempt}")) };
        let renamed = match rustix::fs::renameat_with(directory, name, directory, &*free, RenameFlags::NOREPLACE) {
            // Not every file system supports the flag.
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

/// Looks at a lock again after `pause`. Returns whether it is unchanged.
pub(in crate::store) fn is_motionless(
    directory: BorrowedFd<'_>,
    name: &CStr,
    seen: &Look,
    pause: Duration,
) -> io::Result<bool> {
    thread::sleep(pause);
    Ok(look_at(directory, name)?.is_some_and(|look| look.print == seen.print && look.born == seen.born))
}

/// Returns whether a lock was created by one of our processes.
pub(in crate::store) fn is_of_ours(look: &Look) -> bool {
    is_directory(look) && look.mode & STICKY != 0
}

/// Returns whether it can be a lock at all.
pub(in crate::store) fn is_directory(look: &Look) -> bool {
    look.kind == FileType::Directory
}

/// Returns our process id. Cached, because every lock has it in its name and in the record.
pub(in crate::store) fn process() -> u32 {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    *PROCESS.get_or_init(std::process::id)
}

/// Returns a name in the list's directory that no other process uses.
pub(in crate::store) fn temporary_name(purpose: &str) -> CString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    c_name(&format!("{OURS}{}-{:x}-{count}.{purpose}", process(), system::since_boot()))
}

/// Well within the 10 s after which the client considers a lock dead and our own writers consider a turn abandoned.
const REFRESH: Duration = Duration::from_millis(2500);

static HELD: Mutex<Held> = Mutex::new(Held { locks: Vec::new(), turns: Vec::new(), refreshing: false });

struct Held {
    locks: Vec<Weak<Lock>>,
    /// The queue files in which this process has a turn.
    turns: Vec<Weak<File>>,
    refreshing: bool,
}

impl Held {
    fn begin_refreshing(&mut self) {
        if !self.refreshing {
            let thread = thread::Builder::new().name("taskyard-locks".to_owned()).stack_size(64 * 1024);
            self.refreshing = thread.spawn(refresh).is_ok();
        }
    }
}

/// Tries to take a lock, and keeps it refreshed while it is held.
pub(in crate::store) fn take(candidate: Candidate, name: &CStr) -> io::Result<Attempt<Arc<Lock>>> {
    // Taking and registering the lock must be one step: a process that is told to exit releases all registered locks.
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match candidate.take(name)? {
        Attempt::Taken(lock) => {
            let lock = Arc::new(lock);
            held.locks.retain(|lock| lock.strong_count() > 0);
            held.locks.push(Arc::downgrade(&lock));
            held.begin_refreshing();
            Attempt::Taken(lock)
        }
        Attempt::Held(candidate) => Attempt::Held(candidate),
        Attempt::Gone => Attempt::Gone,
    })
}

/// Keeps a queue file refreshed while its turn lasts.
pub(in crate::store) fn keep_turn(queue: &Arc<File>) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.turns.retain(|turn| turn.strong_count() > 0);
    held.turns.push(Arc::downgrade(queue));
    held.begin_refreshing();
}

/// Releases every lock this process holds and prevents it from taking more. Call this just before the process exits on
/// a signal. A commit in progress is finished by the next command.
pub fn release_held_locks() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    for lock in held.locks.iter().filter_map(Weak::upgrade) {
        lock.remove();
    }
    mem::forget(held);
}

/// Refreshes until nothing was held for two rounds, so that an idle process has no thread that wakes up.
fn refresh() {
    let mut idle = 0;
    loop {
        thread::sleep(REFRESH);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let locks: Vec<Arc<Lock>> = held.locks.iter().filter_map(Weak::upgrade).collect();
        let turns: Vec<Arc<File>> = held.turns.iter().filter_map(Weak::upgrade).collect();
        idle = if locks.is_empty() && turns.is_empty() { idle + 1 } else { 0 };
        if idle == 2 {
            held.refreshing = false;
            return;
        }
        drop(held);
        for lock in locks {
            lock.refresh();
        }
        for turn in turns {
            client_lock::touch(&turn);
        }
    }
}

static BEFORE_FIRST_TURN: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Registers a function to call before this process waits for its first turn, for example to handle signals from then
/// on. A process without a turn has no locks that a signal could leave behind.
pub fn before_first_turn(prepare: impl FnOnce() + Send + 'static) {
    *BEFORE_FIRST_TURN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(prepare));
}

/// Calls the registered function, once.
pub(in crate::store) fn prepare_for_turn() {
    let prepare = BEFORE_FIRST_TURN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(prepare) = prepare {
        prepare();
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;

    use super::{Attempt, Candidate, Lock, take_aside};
    use crate::store::locks::list_paths::look_at;

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
