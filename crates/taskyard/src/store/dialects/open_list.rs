//! What a process keeps open of one list in another dialect between two operations, and a writer's turn at it: first among ourselves, then
//! with the programs that know the dialect's own lock.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use taskyard_core::{ListId, Rules};

use super::dialect_files::DialectFiles;
use super::seen_list::RestingList;
use crate::lock_table::{flock_holder, is_suspended};
use crate::private;
use crate::store::directories::must_not_be_foreign;
use crate::store::journal::{canonical, sidecar_of};
use crate::store::{Occupant, StoreError, engine};

/// A list in another dialect, as this process knows it.
pub(in crate::store) type OpenList<F> = engine::OpenList<DialectList<F>>;

/// The files of a list in another dialect, and what this process keeps of them.
#[derive(Debug)]
pub(in crate::store) struct DialectList<F: DialectFiles> {
    pub(super) dialect: Arc<F>,
    /// Where it is, links resolved.
    pub(super) path: PathBuf,
    /// The path that leads to it by a link, if one does.
    link: Option<PathBuf>,
    /// What the last look saw, if it can be believed for as long as the files are the same.
    remembered: Mutex<Option<RestingList<F>>>,
}

/// Names a list; nothing is opened yet.
pub(super) fn open_list<F: DialectFiles>(dialect: Arc<F>, list: ListId, data: &Path, rules: Rules) -> OpenList<F> {
    let given = dialect.path(&list);
    let path = real_path(&*dialect, &given);
    let is_linked = std::path::absolute(&given).is_ok_and(|given| given != path);
    let (sidecar, link) = (sidecar_of(data, &path), is_linked.then_some(given));
    OpenList::new(list, rules, Some(sidecar), DialectList { link, ..DialectList::at(dialect, path) })
}

impl<F: DialectFiles> DialectList<F> {
    /// Names the files at a path without links.
    pub(super) fn at(dialect: Arc<F>, path: PathBuf) -> Self {
        Self { dialect, path, link: None, remembered: Mutex::new(None) }
    }

    /// Fails if the list is behind a link to a directory of another user.
    pub(super) fn must_not_be_foreign(&self) -> Result<(), StoreError> {
        let Some(directory) = self.link.as_ref().map(|link| self.dialect.directory(link)) else { return Ok(()) };
        must_not_be_foreign(directory.ancestors().take(3)).map_err(StoreError::io("cannot use", directory))
    }

    /// Returns what the last look at the list at rest saw.
    pub(super) fn remembered(&self) -> MutexGuard<'_, Option<RestingList<F>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns where a list is with the links of its directories resolved. A link in the place of its only file is not.
fn real_path(dialect: &impl DialectFiles, path: &Path) -> PathBuf {
    let directory = dialect.directory(path);
    match path.file_name().filter(|_| directory != path) {
        Some(name) => canonical(directory).join(name),
        None => canonical(path),
    }
}

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long our own writers are waited for, as long as they move: there may be many of them.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// The right to write to a list.
#[derive(Debug)]
pub(in crate::store) struct DialectTurn<F: DialectFiles> {
    /// Given back before the queue moves on.
    held: Option<F::Held>,
    _queue: File,
}

impl<F: DialectFiles> DialectTurn<F> {
    /// Waits for the turn.
    pub(super) fn take(dialect: &F, path: &Path, queue: &Path) -> Result<Self, StoreError> {
        let started = Instant::now();
        // A suspended process does not move, and neither does any process behind it.
        let is_worth_waiting = || started.elapsed() < LONG_PATIENCE && !flock_holder(queue).is_some_and(is_suspended);
        let waited_for = lock_while(open(queue)?, PATIENCE, is_worth_waiting);
        let Some(file) = waited_for.map_err(StoreError::io("cannot lock", queue))? else {
            return Err(held(queue, started.elapsed()));
        };
        let mut turn = Self { held: None, _queue: file };
        turn.hold(dialect, path)?;
        Ok(turn)
    }

    /// Takes the turn where no other process has it.
    pub(super) fn try_take(dialect: &F, path: &Path, queue: &Path) -> Result<Option<Self>, StoreError> {
        let file = open(queue)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(StoreError::io("cannot lock", queue)(error.into())),
        }
        Ok(dialect.hold(path, Duration::ZERO)?.map(|held| Self { held: Some(held), _queue: file }))
    }

    /// Returns the dialect's own lock.
    pub(super) fn held(&mut self) -> &mut F::Held {
        self.held.as_mut().expect("a turn without the lock is given back at once")
    }

    /// Takes the dialect's own lock again where the files have been replaced, and no program uses what is locked any more.
    pub(super) fn keep_held(&mut self, dialect: &F, path: &Path) -> Result<(), StoreError> {
        match dialect.is_held(path, self.held()) {
            true => Ok(()),
            false => self.hold(dialect, path),
        }
    }

    fn hold(&mut self, dialect: &F, path: &Path) -> Result<(), StoreError> {
        let waiting = Instant::now();
        // We let go first: where a rival gave the files their name back, we would wait for our own lock.
        self.held = None;
        self.held = dialect.hold(path, PATIENCE)?;
        if self.held.is_some() { Ok(()) } else { Err(held(path, waiting.elapsed())) }
    }
}

fn held(path: &Path, waited: Duration) -> StoreError {
    let process = flock_holder(path).map(|holder| holder.as_raw_nonzero().get());
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process }, waited }
}

/// Locks a file, waiting no longer than this; none where another process kept it.
pub(in crate::store) fn lock_in_time(file: File, patience: Duration) -> io::Result<Option<File>> {
    lock_while(file, patience, || false)
}

/// Locks a file, waiting for so long, and as often again as that is found to be worth it; none where another process kept it.
fn lock_while(file: File, patience: Duration, is_worth_waiting: impl Fn() -> bool) -> io::Result<Option<File>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(Some(file)),
        Err(Errno::WOULDBLOCK) if patience.is_zero() => return Ok(None),
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(error.into()),
    }
    let (sender, receiver) = channel();
    // The kernel has no flock with a time limit, so a thread sleeps in it. When the receiver is gone, the file is dropped and with it the
    // lock.
    thread::Builder::new().name("taskyard-queue".to_owned()).stack_size(64 * 1024).spawn(move || {
        let locked = flock(&file, FlockOperation::LockExclusive);
        let _ = sender.send(locked.map(|()| file));
    })?;
    loop {
        match receiver.recv_timeout(patience) {
            Ok(locked) => return Ok(Some(locked?)),
            Err(RecvTimeoutError::Timeout) if is_worth_waiting() => {}
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

fn open(queue: &Path) -> Result<File, StoreError> {
    private::open(queue).map_err(StoreError::io("cannot open", queue))
}
