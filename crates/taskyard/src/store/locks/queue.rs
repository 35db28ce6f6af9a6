//! The queue of our own writers: a kernel lock on a file of ours, so that waiting costs nothing and ends with the
//! waiting process.
//!
//! A kernel lock lasts as long as its process, even while that is suspended. So the holder of a turn keeps refreshing
//! the file's time, and a waiter that sees no refresh for the lifetime of a lock bypasses the queue. A symbolic link
//! beside the queue's file excludes other bypassing processes; its target does not exist but names the owner. A process
//! that bypasses the queue records that. The writer that next gets to the head then also takes the link before it has
//! the turn, and records that the queue is valid again. A process that was bypassed finds a turn count other than its
//! own, and stops.
//!
//! The kernel has no flock with a timeout, so threads wait in it on behalf of writers with limited patience.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::client_lock;
use super::client_lock::LIFE;
use crate::liveness::{is_seen_dead, space_tag};
use crate::store::journal::{canonical, sidecar_name};
use crate::store::list_directories::rename_to_new;
use crate::store::locks::turn_record;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::{Occupant, StoreError};
use crate::system;
use crate::system::flock_holder;

/// How often a waiter checks whether the holder is still alive.
const GLANCE: Duration = Duration::from_millis(200);
/// How long our processes wait for a holder that is alive but does not release the turn.
pub(in crate::store) const PATIENCE: Duration = Duration::from_secs(12);
/// A clock that is off by this much, in nanoseconds, was set.
const CLOCK_WAS_SET: i64 = 2_000_000_000;

/// Our place in the queue of writers: at its head, or past it.
#[derive(Debug)]
pub(in crate::store) struct Queue {
    pub(in crate::store) file: Arc<File>,
    pub(in crate::store) path: PathBuf,
    /// False if the process at the head was unresponsive and we bypassed it.
    pub(in crate::store) is_head: bool,
    /// Keeps other processes from bypassing the queue.
    passing: Option<Passing>,
}

impl Queue {
    /// Returns the record of the last turn once no other process can have the turn, or `None` if one kept it for longer
    /// than `patience`.
    pub(in crate::store) fn turn_record(&mut self, patience: Duration) -> Result<Option<TurnRecord>, StoreError> {
        loop {
            let state = turn_record::load_or_new(&self.file, &self.path)?;
            // We are at the head, and yet the record says that a writer is busy or bypassed the queue: it is dead, or
            // bypassed an earlier head.
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

    /// Returns the error that says who has the turn.
    pub(in crate::store) fn held(&self, waited: Duration) -> StoreError {
        held(&self.path, waited)
    }
}

impl Drop for Queue {
    /// Unlocks explicitly, so that the next writer need not wait: a child process may still have the file open for a
    /// moment.
    fn drop(&mut self) {
        if self.is_head {
            let _ = flock(&self.file, FlockOperation::Unlock);
        }
    }
}

/// Takes the head of the queue if it is free, else returns `None`.
pub(in crate::store) fn try_enter(path: &Path) -> Result<Option<Queue>, StoreError> {
    let file = turn_record::open(path).map_err(StoreError::io("cannot open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if was_put_away(&file) => Ok(None),
        Ok(()) => Ok(Some(head(file, path))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(StoreError::io("cannot lock", path)(error.into())),
    }
}

/// Waits for a turn in the queue.
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
            // The list was archived while we waited. A caller that retries restores it.
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

/// Returns the file on which our processes queue for the lock on a file.
pub(in crate::store) fn queue_of(path: &Path, queues: &Path) -> PathBuf {
    let directory = canonical(path.parent().unwrap_or(Path::new("/")));
    queues.join(format!("{}.queue", sidecar_name(&directory.join(path.file_name().unwrap_or_default()))))
}

fn head(file: File, path: &Path) -> Queue {
    Queue { file: Arc::new(file), path: path.to_owned(), is_head: true, passing: None }
}

/// Bypasses the head if it is still as it was seen.
fn pass(path: &Path, file: &File, seen: &TurnRecord) -> Result<Option<Passing>, StoreError> {
    let taken = try_take_passing(path).map_err(StoreError::io("cannot lock", path))?;
    let now = turn_record::load(file).map_err(StoreError::io("cannot read", path))?.unwrap_or_default();
    // Other processes may have bypassed the queue and finished in the meantime. But if there is a new head, the queue
    // is valid again.
    Ok(taken.filter(|_| now.is_past_queue || now.turns == seen.turns))
}

/// Returns the error that says who has the turn.
pub(in crate::store) fn held(path: &Path, waited: Duration) -> StoreError {
    let process = flock_holder(path).map(|holder| holder.as_raw_nonzero().get());
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process }, waited }
}

/// Returns whether the file is no longer the queue because the list was archived.
fn was_put_away(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.nlink() == 0)
}

/// Returns the error for a holder that will be gone on the next attempt.
fn held_for_a_moment(path: &Path) -> StoreError {
    StoreError::Busy { by: Occupant::FileLocker { file: path.to_owned(), process: None }, waited: Duration::ZERO }
}

/// What a waiter knows about the holder it waits for.
struct Ahead {
    seen: Glance,
    /// When the holder last did anything, including a refresh.
    last_sign: Instant,
    /// When the turn last changed hands.
    last_move: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Glance {
    state: TurnRecord,
    /// The modification time of the queue's file.
    touched: i64,
}

impl Ahead {
    fn first_seen(file: &File) -> Self {
        Self { seen: Glance::at(file), last_sign: Instant::now(), last_move: Instant::now() }
    }

    /// Looks again, and returns whether waiting behind the head is pointless.
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
            && system::wall().saturating_sub(now.touched) > nanos(LIFE);
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

/// Returns whether wall time and time since boot still differ by `offset`. If not, the clock was set.
pub(in crate::store) fn is_offset(offset: i64) -> bool {
    (system::wall() - system::since_boot() - offset).abs() < CLOCK_WAS_SET
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// The right to bypass the queue, or to keep other processes from doing so. Dropping it releases it.
#[derive(Debug)]
pub(in crate::store) struct Passing {
    link: PathBuf,
    /// The target of the link: the process, its pid namespace, and a unique suffix.
    text: String,
}

impl Drop for Passing {
    fn drop(&mut self) {
        if fs::read_link(&self.link).is_ok_and(|text| text.as_os_str() == self.text.as_str()) {
            let _ = fs::remove_file(&self.link);
        }
    }
}

/// Creates the link unless a living process has it.
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

/// Creates the link, waiting up to `patience` for the process that has it.
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

/// Removes a dead process's link. If another process replaced it in this instant, puts that one back.
fn take_away(queue: &Path, link: &Path, text: &OsString) -> io::Result<()> {
    let aside = beside(queue, &format!("passed-{}", new_link_text()));
    match fs::rename(link, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if fs::read_link(&aside).is_ok_and(|found| found.as_os_str() != text) {
        // If a third process has created the link by now, the owner lost it in that instant and will notice.
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
    format!("{}-{}-{:x}-{count}", client_lock::process(), space_tag(), system::since_boot())
}

/// Returns whether a link was created by a process that can be seen to be dead.
fn is_of_dead_process(text: &OsString) -> bool {
    let text = text.to_string_lossy();
    let mut parts = text.split('-').map(str::parse::<u32>);
    let (Some(Ok(process)), Some(Ok(space))) = (parts.next(), parts.next()) else { return true };
    space == space_tag() && is_seen_dead(process)
}

/// Returns whether the owner of a link showed no activity for the lifetime of a lock. Once it has the turn, it
/// refreshes the queue's file.
fn is_silent(queue: &Path, link: &Path) -> bool {
    let changed =
        |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.mtime() * 1_000_000_000 + found.mtime_nsec());
    let last = changed(queue).max(changed(link));
    u128::try_from(system::wall().saturating_sub(last)).is_ok_and(|silence| silence > LIFE.as_nanos())
}

/// How many idle threads are kept for later waiters. If many processes write at once, every turn has to be waited for.
const KEPT: usize = 1;
/// How long an idle thread is kept.
const KEPT_FOR: Duration = Duration::from_secs(1);

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// An idle thread.
struct Idle {
    thread: ThreadId,
    next: Sender<Wait>,
}

/// A file to lock, and the channel to the thread that wants it. If that thread is gone, the file is dropped, and the
/// lock with it.
struct Wait {
    file: File,
    locked: Sender<Result<File, Errno>>,
}

/// Locks a file in a background thread as soon as it is free.
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

/// Waits a while for another file to lock.
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
        // Another thread has claimed this one and is about to send the file.
        None => {
            drop(all);
            waits.recv().ok()
        }
    }
}

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pauses that double from 5 to 100 ms, with jitter so that waiters do not retry in lockstep.
#[derive(Debug)]
pub(in crate::store) struct Backoff {
    pause: u64,
    seed: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { pause: 5, seed: crate::system::since_boot().unsigned_abs() ^ (u64::from(std::process::id()) << 32) | 1 }
    }
}

impl Backoff {
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
    fn lock_is_exclusive_and_dead_owner_is_cleaned_up() {
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
        // Another process took it over, and is the one to release it.
        fs::remove_file(&second.link).unwrap();
        symlink(new_link_text(), &second.link).unwrap();
        drop(second);
        assert!(try_take_passing(&queue).unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
