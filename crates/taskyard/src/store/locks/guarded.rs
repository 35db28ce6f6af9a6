//! Reading and replacing a single file of the client's, for example an inbox, under the client's lock on it.
//!
//! Turns work as for a list: our own processes queue in the kernel, rivals get their chance in between, and locks of
//! dead processes are removed. A file is not renamed into place if the lock is no longer ours or the file is no longer
//! the one we read.
//!
//! The client does not wait for a lock on an inbox, and loses its message if the lock is held. Therefore the file is
//! read, and the new one written and flushed, with only our turn; the client's lock is taken just for a final check and
//! the rename. Only if another program wrote in the meantime, or the file was half written when read, is everything
//! done under the lock.

use std::ffi::CString;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, thread};

use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use taskyard_core::SpecialFile;

use super::client_lock::temporary_name;
use super::dead_locks::maker_is_dead;
use super::list_paths;
use super::list_paths::{ListPaths, OURS, c_name};
use super::queue::{PATIENCE, queue_of};
use super::turn::WriteTurn;
use crate::failpoint::reach;
use crate::regular_file::NotRead;
use crate::store::StoreError;
use crate::store::journal::canonical;
use crate::store::list_directories::must_not_be_foreign;
use crate::store::locks::list_paths::{Fingerprint, look_at, look_through};
use crate::store::locks::turn_record;
use crate::{private, regular_file, system};

/// Fewer bytes than this are checked faster than a thread is started.
const WORTH_A_THREAD: usize = 64 * 1024;

/// A file of the client's that we have locked. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Guarded {
    turn: WriteTurn,
    name: CString,
    path: PathBuf,
    /// The fingerprint and mode of the file when it was read.
    seen: Option<(Fingerprint, u32)>,
    /// The hash of its contents, if it was read without the lock and so recently written that its time cannot
    /// distinguish two writes.
    sum: Option<u64>,
}

/// What exists under a name.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    /// A file too large to read, with its size in bytes.
    TooLarge(u64),
    /// Something other than a regular file.
    NotAFile(SpecialFile),
    /// The contents of the file.
    Bytes(Vec<u8>),
}

impl Guarded {
    /// Waits for the lock on a file. If the file does not exist, creates it with the contents `first`. Its directory
    /// must exist. Our processes queue on a file in `queues`.
    pub(crate) fn lock(path: &Path, queues: &Path, first: &[u8]) -> Result<Self, StoreError> {
        let mut guarded = Self::wait_for_turn(path, queues, first)?;
        guarded.turn.lock_list()?;
        Ok(guarded)
    }

    /// Waits until no other process of ours works on a file, and creates it as [`Self::lock`] does. The client is only
    /// locked out while the file is replaced; until then, what is read may be half written.
    pub(crate) fn wait_for_turn(path: &Path, queues: &Path, first: &[u8]) -> Result<Self, StoreError> {
        // The client locks beside the real file. A symbolic link in place of the file itself is refused when it is
        // read.
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
            // Check that we can queue before creating anything.
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

    /// Reads the file, if it is not larger than `largest` bytes.
    pub(crate) fn read(&mut self, largest: u64) -> Result<Found, StoreError> {
        (self.seen, self.sum) = (None, None);
        let read = regular_file::open_at(self.turn.directory.as_fd(), &self.name).and_then(|file| {
            let look = look_through(file.as_fd())?;
            self.seen = Some((look.print, look.mode));
            regular_file::must_fit(look.kind, look.print.size, largest)?;
            let bytes = regular_file::read_open(file, look.print.size, largest)?;
            if !self.turn.locks.has_list() && !look.print.is_settled(system::wall()) {
                self.sum = Some(sum_of(&bytes));
            }
            Ok(bytes)
        });
        Found::of(read).map_err(StoreError::io("cannot read", &self.path))
    }

    /// Returns the fingerprint of the file as it was last read or written here. It changes when another program writes
    /// the file.
    pub(crate) fn print(&self) -> Option<Print> {
        self.seen.map(|(print, _)| Print(print))
    }

    /// Replaces the file that was read: writes the new one beside it, flushes it and renames it. After a power loss the
    /// file is the old or the new one. Returns false without changing anything if a rival took the lock or wrote the
    /// file since it was read.
    pub(crate) fn replace(&mut self, bytes: &[u8]) -> Result<bool, StoreError> {
        Ok(self.replace_if(bytes, || true)? == Replaced::Yes)
    }

    /// Like [`Self::replace`], but only if `is_right` returns true. It runs while the new contents are being written.
    pub(crate) fn replace_if(
        &mut self,
        bytes: &[u8],
        is_right: impl FnOnce() -> bool + Send,
    ) -> Result<Replaced, StoreError> {
        let shared = Arc::clone(&self.turn.directory);
        let directory = shared.as_fd();
        if self.seen.is_some() {
            // A rename only checks the directory, and would replace a file that we may not write, changing its owner.
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
    /// Returns whether the file still has the contents that were read, if its time cannot tell.
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

/// The result of replacing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// The file was replaced.
    Yes,
    /// A rival took the lock or wrote the file. The file is as the rival left it.
    No,
    /// The check of the new contents failed. The file is unchanged.
    NotRight,
}

/// Identifies one version of a file. Two versions of the same size written within one clock tick are not distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print(Fingerprint);

/// Reads a file without taking its lock.
pub(crate) fn read_unlocked(path: &Path, largest: u64) -> io::Result<Found> {
    // Check the file's directory and that of the team.
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

/// Creates a file together with its contents. Does nothing if the name exists.
fn make(directory: std::os::fd::BorrowedFd<'_>, name: &std::ffi::CStr, first: &[u8]) -> io::Result<()> {
    let temporary = temporary_name("tmp");
    let made = write(directory, &temporary, first, None).and_then(|_| {
        match rustix::fs::renameat_with(directory, &*temporary, directory, name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            // A rival was faster.
            Err(Errno::EXIST) => Ok(false),
            // Not every file system supports rename without replacing; a hard link does not replace anything either.
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
    // A private file must stay private from the start.
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
