//! The queue of our own writers: a kernel lock on a file of ours, so that waiting costs nothing and dies with the waiter.
//!
//! The holder of the turn shows signs of life by the file's time. A waiter that sees none for as long as a lock lives goes past: a kernel lock
//! lasts as long as its process does, also while that is suspended. A link beside the queue's file keeps apart the processes that go past; it
//! leads nowhere and says whose it is. They leave word that they went past; then the writer that gets to the head makes this link, too,
//! before it has the turn, and leaves word that all is as it was. A process that was passed finds another count of turns than its own, and
//! stops.
//!
//! The kernel has no flock with a time limit, so threads sleep in it for writers that have only so much time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::client_lock::{self, LIFE};
use super::turn_record::{self, TurnRecord};
use crate::clock;
use crate::liveness::{is_seen_dead, space_tag};
use crate::lock_table::flock_holder;
use crate::store::new_name::rename_to_new;
use crate::store::{Occupant, StoreError};

/// How often a waiter looks whether the one ahead still moves.
const GLANCE: Duration = Duration::from_millis(200);
/// How long a process of ours waits for a holder that is alive and does not make way.
pub(in crate::store) const PATIENCE: Duration = Duration::from_secs(12);
/// A clock that is this far off was set.
const CLOCK_WAS_SET: i64 = 2_000_000_000;

/// The file our writers queue on, and whether we are at its head.
#[derive(Debug)]
pub(in crate::store) struct Queue {
    pub(in crate::store) file: Arc<File>,
    pub(in crate::store) path: PathBuf,
    /// False when the one at the head does not move and we went past it.
    pub(in crate::store) is_head: bool,
    /// Keeps other processes from going past.
    passing: Option<Passing>,
}

impl Queue {
    /// Returns the record of the last turn, once no other process can have the turn; none where one kept it for so long.
    pub(in crate::store) fn turn_record(&mut self, patience: Duration) -> Result<Option<TurnRecord>, StoreError> {
        loop {
            let state = turn_record::load_or_new(&self.file, &self.path)?;
            // We are at the head, and yet a writer is said to be busy or to have gone past: it is dead, or went past another head.
            let is_doubtful = self.is_head && (state.busy || state.is_past_queue);
            if !is_doubtful || self.passing.is_some() {
                return Ok(Some(state));
            }
            self.passing = take_passing(&self.path, patience).map_err(StoreError::io("cannot lock", &self.path))?;
            if self.passing.is_none() {
                return Ok(None);
            }
        }
    }

    /// Says who keeps the turn.
    pub(in crate::store) fn held(&self, waited: Duration) -> StoreError {
        held(&self.path, waited)
    }
}

impl Drop for Queue {
    /// Lets the next one in at once: another process may still have the file open for a moment.
    fn drop(&mut self) {
        if self.is_head {
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

/// Goes to the head of the queue if no writer is there.
pub(in crate::store) fn try_enter(path: &Path) -> Result<Option<Queue>, StoreError> {
    let file = turn_record::open(path).map_err(StoreError::io("cannot open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if was_put_away(&file) => Ok(None),
        Ok(()) => Ok(Some(head(file, path))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(StoreError::io("cannot lock", path)(error.into())),
    }
}

/// Waits for its turn in the queue.
pub(in crate::store) fn enter(path: &Path) -> Result<Queue, StoreError> {
    let waiting = match try_enter(path) {
        Ok(Some(queue)) => return Ok(queue),
        Ok(None) => turn_record::open(path).map_err(StoreError::io("cannot open", path))?,
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(held_for_a_moment(path));
        }
        Err(error) => return Err(error),
    };
    let receiver = lock_when_free(waiting).map_err(StoreError::io("cannot wait for", path))?;
    let glances = turn_record::open(path).map_err(StoreError::io("cannot open", path))?;
    let mut ahead = Ahead::first_seen(&glances);
    loop {
        match receiver.recv_timeout(GLANCE) {
            // The list was put away while we waited: a caller that begins anew finds it.
            Ok(Ok(file)) if was_put_away(&file) => return Err(held_for_a_moment(path)),
            Ok(Ok(file)) => return Ok(head(file, path)),
            Ok(Err(error)) => return Err(StoreError::io("cannot lock", path)(error.into())),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(StoreError::io("cannot wait for", path)(std::io::ErrorKind::BrokenPipe.into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if ahead.may_be_passed(&glances)
            && let Some(passing) = pass(path, &glances, &ahead.seen.state)?
        {
            return Ok(Queue {
                file: Arc::new(glances),
                path: path.to_owned(),
                is_head: false,
                passing: Some(passing),
            });
        }
        if ahead.last_move.elapsed() > PATIENCE {
            return Err(held(path, ahead.last_move.elapsed()));
        }
    }
}

fn head(file: File, path: &Path) -> Queue {
    Queue { file: Arc::new(file), path: path.to_owned(), is_head: true, passing: None }
}

/// Goes past the head, if it still is as it was seen.
fn pass(path: &Path, file: &File, seen: &TurnRecord) -> Result<Option<Passing>, StoreError> {
    let taken = try_take_passing(path).map_err(StoreError::io("cannot lock", path))?;
    let now = turn_record::load(file).map_err(StoreError::io("cannot read", path))?.unwrap_or_default();
    // Other processes may have gone past meanwhile, and be done. But where there is a new head, the queue counts again.
    Ok(taken.filter(|_| now.is_past_queue || now.turns == seen.turns))
}

/// Says who keeps the turn.
pub(in crate::store) fn held(path: &Path, waited: Duration) -> StoreError {
    let process = flock_holder(path).map(|holder| holder.as_raw_nonzero().get());
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process }, waited }
}

/// Tells whether the file is not the queue any more, because the memory of the list was put away.
fn was_put_away(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.nlink() == 0)
}

/// Says that a process is at the list that will not be there when it is tried again.
fn held_for_a_moment(path: &Path) -> StoreError {
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process: None }, waited: Duration::ZERO }
}

/// What a waiter sees of the one ahead.
struct Ahead {
    seen: Glance,
    /// When it last did anything, a sign of life included.
    last_sign: Instant,
    /// When the turn last changed hands.
    last_move: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Glance {
    state: TurnRecord,
    /// The time of the queue's file.
    touched: i64,
}

impl Ahead {
    fn first_seen(file: &File) -> Self {
        Self { seen: Glance::at(file), last_sign: Instant::now(), last_move: Instant::now() }
    }

    /// Looks again, and tells whether there is no point in waiting behind the head.
    fn may_be_passed(&mut self, file: &File) -> bool {
        let now = Glance::at(file);
        let is_still = now == self.seen;
        if now.state.turns != self.seen.state.turns {
            self.last_move = Instant::now();
        }
        if !is_still {
            self.last_sign = Instant::now();
        }
        self.seen = now;
        let is_old = now.state.busy
            && is_offset(now.state.clock_offset)
            && clock::wall().saturating_sub(now.touched) > nanos(LIFE);
        now.state.is_past_queue || (is_still && is_old) || self.last_sign.elapsed() > LIFE
    }
}

impl Glance {
    fn at(file: &File) -> Self {
        let touched = file.metadata().map(|found| found.mtime() * 1_000_000_000 + found.mtime_nsec());
        let state = turn_record::load(file).ok().flatten().unwrap_or_default();
        Self { state, touched: touched.unwrap_or(0) }
    }
}

/// Tells whether wall time and time since boot still are so far apart: else the clock was set.
pub(in crate::store) fn is_offset(offset: i64) -> bool {
    (clock::wall() - clock::since_boot() - offset).abs() < CLOCK_WAS_SET
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// The right to go past, or to keep other processes from it. Dropping it gives it back.
#[derive(Debug)]
pub(in crate::store) struct Passing {
    link: PathBuf,
    /// What the link says: the process, its pid namespace, and what no other link says.
    text: String,
}

impl Drop for Passing {
    fn drop(&mut self) {
        if fs::read_link(&self.link).is_ok_and(|text| text.as_os_str() == self.text.as_str()) {
            let _ = fs::remove_file(&self.link);
        }
    }
}

/// Makes the link, where no living process has made it.
pub(in crate::store) fn try_take_passing(queue: &Path) -> io::Result<Option<Passing>> {
    let link = beside(queue, "passing");
    for _ in 0..2 {
        let text = new_link_text();
        match symlink(&text, &link) {
            Ok(()) => return Ok(Some(Passing { link, text })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let Some(text) = fs::read_link(&link).ok().map(PathBuf::into_os_string) else { continue };
        if !is_of_dead_process(&text) && !is_silent(queue, &link) {
            return Ok(None);
        }
        take_away(queue, &link, &text)?;
    }
    Ok(None)
}

/// Makes the link, after a wait for the process that has it.
pub(in crate::store) fn take_passing(queue: &Path, patience: Duration) -> io::Result<Option<Passing>> {
    let (started, mut backoff) = (Instant::now(), Backoff::default());
    loop {
        let taken = try_take_passing(queue)?;
        if taken.is_some() || started.elapsed() >= patience {
            return Ok(taken);
        }
        thread::sleep(backoff.next());
    }
}

/// Removes a link of a dead process; what another process put there in this instant is put back.
fn take_away(queue: &Path, link: &Path, text: &OsString) -> io::Result<()> {
    let aside = beside(queue, &format!("passed-{}", new_link_text()));
    match fs::rename(link, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if fs::read_link(&aside).is_ok_and(|found| found.as_os_str() != text) {
        // Where a third one has it by now, its owner lost it in that instant, and will notice.
        let _ = rename_to_new(rustix::fs::CWD, &aside, link);
    }
    let _ = fs::remove_file(&aside);
    Ok(())
}

fn beside(queue: &Path, ending: &str) -> PathBuf {
    queue.with_added_extension(ending)
}

fn new_link_text() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{:x}-{count}", client_lock::process(), space_tag(), clock::since_boot())
}

/// Tells whether a link was made by a process that this one can see to be gone.
fn is_of_dead_process(text: &OsString) -> bool {
    let text = text.to_string_lossy();
    let mut parts = text.split('-').map(str::parse::<u32>);
    let (Some(Ok(process)), Some(Ok(space))) = (parts.next(), parts.next()) else { return true };
    space == space_tag() && is_seen_dead(process)
}

/// Tells whether the process that made a link showed no sign of life for as long as a lock lives: in the queue's file, once it has the
/// turn.
fn is_silent(queue: &Path, link: &Path) -> bool {
    let changed =
        |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.mtime() * 1_000_000_000 + found.mtime_nsec());
    let last = changed(queue).max(changed(link));
    u128::try_from(clock::wall().saturating_sub(last)).is_ok_and(|silence| silence > LIFE.as_nanos())
}

/// So many threads are kept for the next who wait. Where many processes write at once, every turn is waited for.
const KEPT: usize = 1;
/// ... and for how long.
const KEPT_FOR: Duration = Duration::from_secs(1);

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// A thread that has nothing to wait for.
struct Idle {
    thread: ThreadId,
    next: Sender<Wait>,
}

/// A file that is to be locked, and the channel to the thread that wants it then. When that thread is gone, the file is dropped and with it
/// the lock.
struct Wait {
    file: File,
    locked: Sender<Result<File, Errno>>,
}

/// Has a file locked as soon as every writer ahead has let go of it.
pub(in crate::store) fn lock_when_free(file: File) -> io::Result<Receiver<Result<File, Errno>>> {
    let (locked, receiver) = channel();
    let wait = Wait { file, locked };
    let unsent = match idle().pop() {
        Some(idle) => idle.next.send(wait).err().map(|unsent| unsent.0),
        None => Some(wait),
    };
    unsent.map_or(Ok(()), begin)?;
    Ok(receiver)
}

fn begin(wait: Wait) -> io::Result<()> {
    let thread = thread::Builder::new().name("taskyard-queue".to_owned()).stack_size(64 * 1024);
    thread.spawn(move || lock_one_after_the_other(wait)).map(drop)
}

fn lock_one_after_the_other(mut wait: Wait) {
    let (next, waits) = channel();
    loop {
        let locked = flock(&wait.file, FlockOperation::LockExclusive);
        let _ = wait.locked.send(locked.map(|()| wait.file));
        match stay_for_another(&next, &waits) {
            Some(another) => wait = another,
            None => return,
        }
    }
}

/// Waits for a while until there is something else to lock.
fn stay_for_another(next: &Sender<Wait>, waits: &Receiver<Wait>) -> Option<Wait> {
    let thread = thread::current().id();
    let mut all = idle();
    if all.len() >= KEPT {
        return None;
    }
    all.push(Idle { thread, next: next.clone() });
    drop(all);
    if let Ok(another) = waits.recv_timeout(KEPT_FOR) {
        return Some(another);
    }
    let mut all = idle();
    match all.iter().position(|idle| idle.thread == thread) {
        Some(place) => {
            all.remove(place);
            None
        }
        // Another thread has taken this one up and is about to say for what.
        None => {
            drop(all);
            waits.recv().ok()
        }
    }
}

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pauses that double from 5 to 100 ms, each made a little uneven so that waiters do not march in step.
#[derive(Debug)]
pub(in crate::store) struct Backoff {
    pause: u64,
    seed: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { pause: 5, seed: crate::clock::since_boot().unsigned_abs() ^ (u64::from(std::process::id()) << 32) | 1 }
    }
}

impl Backoff {
    /// Returns the next pause.
    pub(in crate::store) fn next(&mut self) -> Duration {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let base = self.pause * 1000;
        self.pause = (self.pause * 2).min(100);
        Duration::from_micros(base / 2 + self.seed % base)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::{new_link_text, space_tag, try_take_passing};

    #[test]
    fn one_has_it_at_a_time_and_what_a_dead_process_left_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let queue = folder.path().join("queue");
        File::create(&queue).unwrap();
        let first = try_take_passing(&queue).unwrap().unwrap();
        assert!(try_take_passing(&queue).unwrap().is_none());
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // No process has this id.
        symlink(format!("4194305-{}-0-0", space_tag()), folder.path().join("queue.passing")).unwrap();
        let second = try_take_passing(&queue).unwrap().unwrap();
        // Another process took it over: that one gives it back.
        fs::remove_file(&second.link).unwrap();
        symlink(new_link_text(), &second.link).unwrap();
        drop(second);
        assert!(try_take_passing(&queue).unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
