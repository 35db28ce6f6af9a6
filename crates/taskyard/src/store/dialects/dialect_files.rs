//! What each dialect implements ([`DialectFiles`]), how the engine sees a list in a dialect, and the write turn on it.
//!
//! A turn first queues among Taskyard processes and then takes the dialect's own lock, which other programs know.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::Value;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{ListId, Revision, Rules, Task, TaskId, Timestamp};

use crate::private;
use crate::store::journal::{Known, canonical, sidecar_of};
use crate::store::kit::{Home, Kept};
use crate::store::list_directories::must_not_be_foreign;
use crate::store::{FileLayout, Litter, Occupant, StoreError, engine};
use crate::system::{flock_holder, is_suspended};

/// The new state of each changed task; `None` for a task to be removed.
pub(in crate::store) type Changes = BTreeMap<TaskId, Option<Task>>;

/// The file of each task as last read: a file with the same metadata need not be read again.
pub(in crate::store) type KnownFiles = BTreeMap<TaskId, Known>;

/// The result of reading files that another Taskyard process may be writing.
#[derive(Debug)]
pub(in crate::store) enum Loaded<R> {
    /// The files do not exist.
    Absent,
    /// The files are complete.
    Whole(R),
    /// A commit was missing or incomplete in the files and was completed from the journal.
    Completed(R),
    /// Another program is writing: read again.
    Moving,
    /// The files cannot be parsed; read again, since another program may be writing.
    Torn(Box<StoreError>),
}

/// The files of a dialect.
///
/// [`DialectFiles::forms`] must be equal for what [`DialectFiles::change`] returned and what [`DialectFiles::load`]
/// reads after [`DialectFiles::save`]: this is how our own writes are told from those of other programs.
pub(in crate::store) trait DialectFiles: Debug + Send + Sync + 'static {
    /// The parsed files of a list.
    type Raw: Debug + Clone + Send + Sync;
    /// The dialect's own lock, released on drop.
    type Held: Debug + Send;

    const LAYOUT: FileLayout;
    /// Whether a dependency on a task that does not exist blocks.
    const COUNTS_MISSING: bool = false;

    /// Returns the path of a list.
    fn path(&self, list: &ListId) -> PathBuf;

    /// Returns all lists with their paths.
    fn lists(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError>;

    /// Returns the directories to watch for lists being created or removed.
    fn directories_of_lists(&self) -> Vec<PathBuf>;

    /// Returns the lists that have records in a data directory but whose directory or file is gone.
    fn lists_without_a_place(&self, data: &Path) -> Vec<(ListId, PathBuf)>;

    /// Returns where the tasks of the list at a path are stored.
    fn home(&self, path: &Path) -> Home;

    /// Returns the directory to watch for changes to the list.
    fn directory<'a>(&self, path: &'a Path) -> &'a Path;

    /// Returns the prefix of our temporary files in that directory; the process id follows it.
    fn temporary(&self, path: &Path) -> String;

    /// Takes the dialect's own lock, waiting at most `patience`. Returns `None` if another program held it throughout.
    fn hold(&self, path: &Path, patience: Duration) -> Result<Option<Self::Held>, StoreError>;

    /// Returns whether the locked file is still the one at the path.
    fn is_held(&self, _path: &Path, _held: &Self::Held) -> bool {
        true
    }

    /// Reads the files without the lock, while another Taskyard process may be writing. `rewrite` is the pending
    /// rewrite that is in the journal but possibly not yet in the files; `is_quiet` returns whether no further one was
    /// begun since; `known` returns what the journal records about the files.
    fn look(
        &self,
        path: &Path,
        rewrite: Option<&[u8]>,
        is_quiet: &dyn Fn() -> Result<bool, StoreError>,
        known: &dyn Fn() -> Result<KnownFiles, StoreError>,
    ) -> Result<Loaded<Self::Raw>, StoreError>;

    /// Returns what a read found out about files that the journal does not know yet; `None` for a file that is gone.
    fn learned(&self, _raw: &Self::Raw) -> BTreeMap<TaskId, Option<Known>> {
        BTreeMap::new()
    }

    /// Returns what the journal should record about the file of a task that is about to be written; `None` if the
    /// dialect keeps no such records.
    fn about_to_be_known(&self, _after: &Self::Raw, _id: &TaskId) -> Option<Known> {
        None
    }

    /// Reads the files; `None` if they do not exist.
    fn load(&self, path: &Path) -> Result<Option<Self::Raw>, StoreError>;

    /// Returns the canonical form of each entry in the files, keyed by its id.
    fn forms(&self, raw: &Self::Raw) -> BTreeMap<TaskId, Vec<u8>>;

    /// Returns a task's position among the others, if the files have an order of their own.
    fn place_of(&self, _raw: &Self::Raw, _id: &TaskId) -> Option<usize> {
        None
    }

    /// Returns whether something other than a task of these files exists where a new task with this id would be stored.
    fn is_occupied(&self, _path: &Path, _raw: Option<&Self::Raw>, _id: &TaskId) -> bool {
        false
    }

    /// Reads one task from the files.
    fn read(&self, raw: &Self::Raw, id: &TaskId) -> Result<Task, Unreadable>;

    /// Returns the files with changes applied as of a given time, without writing them.
    fn change(&self, raw: Option<&Self::Raw>, changes: &Changes, at: Timestamp) -> Self::Raw;

    /// Returns whether files with unchanged metadata have certainly not been rewritten since `seen`, a wall-clock time.
    fn is_settled(&self, raw: &Self::Raw, seen: i64) -> bool;

    /// Returns whether the files are unchanged since they were read.
    fn is_still(&self, path: &Path, raw: Option<&Self::Raw>) -> bool;

    /// Makes sure that the files can be written, before anything has happened. Returns false if the locked files are
    /// not those that were read.
    fn prepare(
        &self,
        _path: &Path,
        _held: &mut Self::Held,
        _before: Option<&Self::Raw>,
        _after: &Self::Raw,
    ) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Returns what the journal must store before the files are written, so that half-written files can be completed.
    fn rewrite(&self, _before: Option<&Self::Raw>, _after: &Self::Raw) -> Option<Vec<u8>> {
        None
    }

    /// Writes the files durably. Returns false if they are not, or are no longer, what was read.
    fn save(
        &self,
        path: &Path,
        held: &mut Self::Held,
        before: Option<&Self::Raw>,
        after: &Self::Raw,
    ) -> Result<bool, StoreError>;

    /// Completes an interrupted write from what the journal stored. Returns false if another program has written since.
    fn finish_rewrite(&self, _path: &Path, _held: &mut Self::Held, _rewrite: &[u8]) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Keeps an unparsable file under another name.
    fn set_aside(&self, _held: &mut Self::Held, torn: &Path, aside: &Path) -> io::Result<()> {
        fs::rename(torn, aside)
    }

    /// Returns the tasks in the dialect's own JSON, if it has one.
    fn elements(&self, _raw: &Self::Raw) -> Vec<Value> {
        Vec::new()
    }

    /// Returns entries stored under a task's name that are not regular files, sorted by name.
    fn special_files(&self, _path: &Path) -> io::Result<Vec<Litter>> {
        Ok(Vec::new())
    }

    /// Returns an id for a new task created at a given time.
    fn new_id(&self, at: Timestamp) -> TaskId;
}

/// An open list in another dialect.
pub(in crate::store) type OpenList<F> = engine::OpenList<DialectList<F>>;

/// A list without pending changes: as long as its files and the journal are the same, so are its tasks.
#[derive(Debug)]
pub(super) struct RestingList<F: DialectFiles> {
    pub(super) raw: Arc<F::Raw>,
    pub(super) forms: Arc<BTreeMap<TaskId, Vec<u8>>>,
    pub(super) newest: Revision,
    pub(super) applied: Revision,
    pub(super) tasks: BTreeMap<TaskId, Arc<Kept>>,
}

/// The files of a list in another dialect, with state cached by this process.
#[derive(Debug)]
pub(in crate::store) struct DialectList<F: DialectFiles> {
    pub(super) dialect: Arc<F>,
    /// The path with links resolved.
    pub(super) path: PathBuf,
    /// The path before resolving links, if it contains one.
    link: Option<PathBuf>,
    /// The result of the last read, if it remains valid for as long as the files are unchanged.
    remembered: Mutex<Option<RestingList<F>>>,
}

/// Creates the handle for a list without opening anything.
pub(super) fn open_list<F: DialectFiles>(dialect: Arc<F>, list: ListId, data: &Path, rules: Rules) -> OpenList<F> {
    let given = dialect.path(&list);
    let path = real_path(&*dialect, &given);
    let is_linked = std::path::absolute(&given).is_ok_and(|given| given != path);
    let (sidecar, link) = (sidecar_of(data, &path), is_linked.then_some(given));
    OpenList::new(list, rules, Some(sidecar), DialectList { link, ..DialectList::at(dialect, path) })
}

impl<F: DialectFiles> DialectList<F> {
    /// Creates the handle for files at a path without links.
    pub(super) fn at(dialect: Arc<F>, path: PathBuf) -> Self {
        Self { dialect, path, link: None, remembered: Mutex::new(None) }
    }

    /// Fails if the list is reached through a link into another user's directory.
    pub(super) fn must_not_be_foreign(&self) -> Result<(), StoreError> {
        let Some(directory) = self.link.as_ref().map(|link| self.dialect.directory(link)) else { return Ok(()) };
        must_not_be_foreign(directory.ancestors().take(3)).map_err(StoreError::io("cannot use", directory))
    }

    pub(super) fn remembered(&self) -> MutexGuard<'_, Option<RestingList<F>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the path with the links in its directories resolved. A link that replaces the list's only file is kept.
fn real_path(dialect: &impl DialectFiles, path: &Path) -> PathBuf {
    let directory = dialect.directory(path);
    match path.file_name().filter(|_| directory != path) {
        Some(name) => canonical(directory).join(name),
        None => canonical(path),
    }
}

/// How long to wait for a lock.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long to wait for other Taskyard writers while they make progress, since there may be many.
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// The exclusive right to write to a list.
#[derive(Debug)]
pub(in crate::store) struct DialectTurn<F: DialectFiles> {
    /// Released before the next process in the queue proceeds.
    held: Option<F::Held>,
    _queue: File,
}

impl<F: DialectFiles> DialectTurn<F> {
    pub(super) fn take(dialect: &F, path: &Path, queue: &Path) -> Result<Self, StoreError> {
        let started = Instant::now();
        // A suspended process makes no progress, and neither does any process queued behind it.
        let is_worth_waiting = || started.elapsed() < LONG_PATIENCE && !flock_holder(queue).is_some_and(is_suspended);
        let waited_for = lock_while(open(queue)?, PATIENCE, is_worth_waiting);
        let Some(file) = waited_for.map_err(StoreError::io("cannot lock", queue))? else {
            return Err(held(queue, started.elapsed()));
        };
        let mut turn = Self { held: None, _queue: file };
        turn.hold(dialect, path)?;
        Ok(turn)
    }

    /// Takes the turn, or returns `None` if another process has it.
    pub(super) fn try_take(dialect: &F, path: &Path, queue: &Path) -> Result<Option<Self>, StoreError> {
        let file = open(queue)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(StoreError::io("cannot lock", queue)(error.into())),
        }
        Ok(dialect.hold(path, Duration::ZERO)?.map(|held| Self { held: Some(held), _queue: file }))
    }

    pub(super) fn held(&mut self) -> &mut F::Held {
        self.held.as_mut().expect("a turn without the lock is given back at once")
    }

    /// Takes the dialect's own lock again if the files were replaced, since no program uses the locked file any more.
    pub(super) fn keep_held(&mut self, dialect: &F, path: &Path) -> Result<(), StoreError> {
        match dialect.is_held(path, self.held()) {
            true => Ok(()),
            false => self.hold(dialect, path),
        }
    }

    fn hold(&mut self, dialect: &F, path: &Path) -> Result<(), StoreError> {
        let waiting = Instant::now();
        // Release first: if another program gave the old file its name back, we would wait for our own lock.
        self.held = None;
        self.held = dialect.hold(path, PATIENCE)?;
        if self.held.is_some() { Ok(()) } else { Err(held(path, waiting.elapsed())) }
    }
}

fn held(path: &Path, waited: Duration) -> StoreError {
    let process = flock_holder(path).map(|holder| holder.as_raw_nonzero().get());
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process }, waited }
}

/// Locks a file, waiting at most `patience`. Returns `None` if another process held it throughout.
pub(in crate::store) fn lock_in_time(file: File, patience: Duration) -> io::Result<Option<File>> {
    lock_while(file, patience, || false)
}

/// Locks a file, waiting for `patience`, and again for as long as `is_worth_waiting` returns true. Returns `None` on
/// timeout.
fn lock_while(file: File, patience: Duration, is_worth_waiting: impl Fn() -> bool) -> io::Result<Option<File>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => return Ok(Some(file)),
        Err(Errno::WOULDBLOCK) if patience.is_zero() => return Ok(None),
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(error.into()),
    }
    let (sender, receiver) = channel();
    // The kernel has no flock with a timeout, so a thread blocks in it. If the receiver is gone, the file is dropped
    // and its lock released.
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
