//! The threads that sleep in the kernel's queue for writers that have only so much time. The kernel has no flock with a time limit.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

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
pub(in crate::store) fn lock(file: File) -> io::Result<Receiver<Result<File, Errno>>> {
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
