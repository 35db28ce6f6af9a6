//! One file of the client's that is locked by itself, an inbox say: read and replaced under the client's lock on it.
//!
//! The same turns as for a list: our own processes queue in the kernel, rivals get their chance in between, a dead one's lock is
//! cleared away, and nothing is renamed into place when the lock is no longer ours or the file is no longer the one we read.
//!
//! The client does not wait for a lock on an inbox, and loses its message where one is held. So the file is first read, and the new one
//! written and flushed, with no lock but our turn; the client's lock is taken for a last look and the rename. Only where another program
//! wrote meanwhile, or half a file was seen, is all of it done under the lock.

use std::ffi::CString;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use taskyard_core::SpecialFile;

use super::client_lock::temporary_name;
use super::dead_locks::maker_is_dead;
use super::fingerprint::{Fingerprint, look_at, look_through};
use super::list_paths::{self, ListPaths, OURS, c_name};
use super::queue::PATIENCE;
use super::turn::WriteTurn;
use super::turn_record;
use crate::failpoint::reach;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::directories::must_not_be_foreign;
use crate::store::journal::{canonical, sidecar_name};
use crate::{clock, private};

/// Fewer bytes than this are looked through sooner than a thread is started.
const WORTH_A_THREAD: usize = 64 * 1024;

/// A file of the client's, locked. Dropping it gives the lock back.
#[derive(Debug)]
pub(crate) struct Guarded {
    turn: WriteTurn,
    name: CString,
    path: PathBuf,
    /// What the file was recognised by when it was read, and the rights on it.
    seen: Option<(Fingerprint, u32)>,
    /// What its bytes come to, where it was read without the lock and so lately written that its time does not tell one write from
    /// the next.
    sum: Option<u64>,
}

/// What stands under a name.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A file of so many bytes, too many to read.
    TooLarge(u64),
    /// Something that is no regular file.
    NotAFile(SpecialFile),
    /// A file with these bytes.
    Bytes(Vec<u8>),
}

impl Guarded {
    /// Waits for the lock on a file, first making it with `first` in it where there is none. Its directory has to be there.
    /// Our processes queue on a file in `queues`.
    pub(crate) fn lock(path: &Path, queues: &Path, first: &[u8]) -> Result<Self, StoreError> {
        let mut guarded = Self::wait_for_turn(path, queues, first)?;
        guarded.turn.lock_list()?;
        Ok(guarded)
    }

    /// Waits until none of ours is at a file, first making it as [`Self::lock`] does. The client is kept out of it only at the moment
    /// it is replaced; until then what is read may be half written.
    pub(crate) fn wait_for_turn(path: &Path, queues: &Path, first: &[u8]) -> Result<Self, StoreError> {
        // The client locks beside the real file. A link in the place of the file itself is refused when it is read.
        let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Err(StoreError::io("cannot lock", path)(io::ErrorKind::InvalidInput.into()));
        };
        must_not_be_foreign(directory.ancestors().take(2)).map_err(StoreError::io("cannot use", directory))?;
        let directory = &canonical(directory);
        let path = directory.join(name);
        let queue = queue_of(&path, queues);
        let place = ListPaths::of_file(directory.to_owned(), name);
        let opened = place.open()?;
        let opened = opened.ok_or_else(|| StoreError::io("cannot open", directory)(io::ErrorKind::NotFound.into()))?;
        private::make_directory(queues).map_err(StoreError::io("cannot create", queues))?;
        let is_there = look_at(opened.as_fd(), &c_name(name)).map_err(StoreError::io("cannot read", &path))?.is_some();
        if !is_there {
            // Where we cannot queue, nothing is to be left behind.
            turn_record::open(&queue).map_err(StoreError::io("cannot open", &queue))?;
            make(opened.as_fd(), &c_name(name), first).map_err(StoreError::io("cannot create", &path))?;
            reach("guarded file: made");
        }
        let mut turn = WriteTurn::take(&place, &queue)?;
        turn.locks.patience = PATIENCE;
        if turn.is_after_a_death {
            sweep(&turn, directory);
        }
        Ok(Self { turn, name: c_name(name), path: path.clone(), seen: None, sum: None })
    }

    /// Reads the file, up to a size.
    pub(crate) fn read(&mut self, largest: u64) -> Result<Found, StoreError> {
        (self.seen, self.sum) = (None, None);
        let read = regular_file::open_at(self.turn.directory.as_fd(), &self.name).and_then(|file| {
            let look = look_through(file.as_fd())?;
            self.seen = Some((look.print, look.mode));
            regular_file::must_fit(look.kind, look.print.size, largest)?;
            let bytes = regular_file::read_open(file, look.print.size, largest)?;
            if !self.turn.locks.has_list() && !look.print.is_settled(clock::wall()) {
                self.sum = Some(sum_of(&bytes));
            }
            Ok(bytes)
        });
        Found::of(read).map_err(StoreError::io("cannot read", &self.path))
    }

    /// Returns what tells the file as it was last read or written here from what it will be when another program writes it.
    pub(crate) fn print(&self) -> Option<Print> {
        self.seen.map(|(print, _)| Print(print))
    }

    /// Replaces the file that was read: written beside it, flushed to the disk, and renamed. A power loss leaves the old or the new one.
    /// Returns false, and has done nothing, where a rival took the lock or wrote the file since it was read.
    pub(crate) fn replace(&mut self, bytes: &[u8]) -> Result<bool, StoreError> {
        Ok(self.replace_if(bytes, || true)? == Replaced::Yes)
    }

    /// Does the same where the new contents are as they should be, which is found out while they are being written.
    pub(crate) fn replace_if(
        &mut self,
        bytes: &[u8],
        is_right: impl FnOnce() -> bool + Send,
    ) -> Result<Replaced, StoreError> {
        let shared = Arc::clone(&self.turn.directory);
        let directory = shared.as_fd();
        if self.seen.is_some() {
            // A rename would ask the directory alone, and give a file that is not ours to write to another owner.
            let allowed = rustix::fs::accessat(directory, &*self.name, Access::WRITE_OK, AtFlags::empty());
            allowed.map_err(|error| StoreError::io("cannot write", &self.path)(error.into()))?;
        }
        let temporary = temporary_name("tmp");
        let mode = self.seen.map(|(_, mode)| mode);
        let (written, is_right) = if bytes.len() < WORTH_A_THREAD {
            let is_right = is_right();
            (write(directory, &temporary, bytes, mode), is_right)
        } else {
            thread::scope(|scope| {
                let right = scope.spawn(is_right);
                let written = write(directory, &temporary, bytes, mode);
                (written, right.join().unwrap_or(false))
            })
        };
        reach("guarded file: written");
        let (is_locked, mut locked) = (self.turn.locks.has_list(), Ok(()));
        let replaced = written.and_then(|print| {
            if !is_right {
                return Ok(Replaced::NotRight);
            }
            if !is_locked {
                locked = self.turn.lock_list();
            }
            let now = look_at(directory, &self.name)?.map(|look| look.print);
            if locked.is_err()
                || !self.turn.is_ours()
                || now != self.seen.map(|(print, _)| print)
                || !self.is_still_so()?
            {
                return Ok(Replaced::No);
            }
            rustix::fs::renameat(directory, &*temporary, directory, &*self.name)?;
            self.seen = Some((print, mode.unwrap_or(0o644)));
            Ok(Replaced::Yes)
        });
        if !matches!(replaced, Ok(Replaced::Yes)) {
            let _ = rustix::fs::unlinkat(directory, &*temporary, AtFlags::empty());
        }
        if !is_locked {
            self.turn.unlock();
        }
        reach("guarded file: replaced");
        locked?;
        replaced.map_err(StoreError::io("cannot write", &self.path))
    }
}

impl Guarded {
    /// Tells whether the file still holds what was read from it, where its time does not tell.
    fn is_still_so(&self) -> io::Result<bool> {
        let (Some(sum), Some((print, _))) = (self.sum, self.seen) else { return Ok(true) };
        let read = regular_file::open_at(self.turn.directory.as_fd(), &self.name)
            .and_then(|file| regular_file::read_open(file, print.size, print.size));
        Ok(read.is_ok_and(|bytes| sum_of(&bytes) == sum))
    }
}

fn sum_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// What came of replacing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It is the new one.
    Yes,
    /// A rival took the lock or wrote the file; it is as the rival left it.
    No,
    /// The new contents are not as they should be; it is as it was.
    NotRight,
}

/// What tells a file from what it was before and will be after. Two writes within the clock's grain that leave it at one size are not
/// told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print(Fingerprint);

/// Returns the file on which our processes queue for the lock on a file.
pub(in crate::store) fn queue_of(path: &Path, queues: &Path) -> PathBuf {
    let directory = canonical(path.parent().unwrap_or(Path::new("/")));
    queues.join(format!("{}.queue", sidecar_name(&directory.join(path.file_name().unwrap_or_default()))))
}

/// Reads a file without its lock.
pub(crate) fn read_unlocked(path: &Path, largest: u64) -> io::Result<Found> {
    // The file's directory, and that of the team.
    must_not_be_foreign(path.ancestors().skip(1).take(2))?;
    Found::of(regular_file::read(path, largest))
}

impl Found {
    fn of(read: Result<Vec<u8>, NotRead>) -> io::Result<Self> {
        match read {
            Ok(bytes) => Ok(Self::Bytes(bytes)),
            Err(why) if why.is_missing() => Ok(Self::Nothing),
            Err(NotRead::NotRegular { found }) => Ok(Self::NotAFile(found)),
            Err(NotRead::TooLarge { size, .. }) => Ok(Self::TooLarge(size)),
            Err(NotRead::System(error)) => Err(error),
        }
    }
}

/// Makes a file with its contents in it from the first moment, where there is nothing of that name.
fn make(directory: std::os::fd::BorrowedFd<'_>, name: &std::ffi::CStr, first: &[u8]) -> io::Result<()> {
    let temporary = temporary_name("tmp");
    let made = write(directory, &temporary, first, None).and_then(|_| {
        match rustix::fs::renameat_with(directory, &*temporary, directory, name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            // A rival was faster.
            Err(Errno::EXIST) => Ok(false),
            // Not every file system can rename without replacing; a link cannot replace anything either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match rustix::fs::linkat(directory, &*temporary, directory, name, AtFlags::empty()) {
                    Ok(()) | Err(Errno::EXIST) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    });
    if !matches!(made, Ok(true)) {
        let _ = rustix::fs::unlinkat(directory, &*temporary, AtFlags::empty());
    }
    made.map(drop)
}

fn write(
    directory: std::os::fd::BorrowedFd<'_>,
    name: &std::ffi::CStr,
    bytes: &[u8],
    mode: Option<u32>,
) -> io::Result<Fingerprint> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    // What was private is so from the first moment.
    let first_mode = Mode::from_raw_mode(mode.unwrap_or(0o666));
    let mut file = File::from(rustix::fs::openat(directory, name, flags, first_mode)?);
    file.write_all(bytes)?;
    let look = look_through(file.as_fd())?;
    if let Some(mode) = mode.filter(|mode| *mode != look.mode) {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    }
    file.sync_data()?;
    Ok(look.print)
}

/// Removes what dead processes of ours left in the directory.
fn sweep(turn: &WriteTurn, directory: &Path) {
    let names = list_paths::names(turn.directory.as_fd(), directory).unwrap_or_default();
    for name in names.iter().filter(|name| name.starts_with(OURS) && name.ends_with(".tmp") && maker_is_dead(name)) {
        let _ = rustix::fs::unlinkat(&*turn.directory, &*c_name(name), AtFlags::empty());
    }
}
