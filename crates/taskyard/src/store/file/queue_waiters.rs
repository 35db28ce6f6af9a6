//! The threads that sleep in the kernel's queue for those who have only so much time. The kernel has no flock with a time limit.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// So many threads are kept for the next who wait. Where many processes write at once, every turn is waited for.
const KEPT: usize = 2;

static IDLE: Mutex<Vec<Sender<Wait>>> = Mutex::new(Vec::new());

/// A file that is to be locked, and who wants to have it then. When nobody does any more, the file is dropped and with it the lock.
struct Wait {
    file: File,
    locked: Sender<Result<File, Errno>>,
}

/// Has a file locked as soon as everybody ahead has let go of it.
pub(super) fn lock(file: File) -> io::Result<Receiver<Result<File, Errno>>> {
    let (locked, receiver) = channel();
    let wait = Wait { file, locked };
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let unsent = match idle {
        Some(thread) => thread.send(wait).err().map(|unsent| unsent.0),
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
    let (sender, receiver) = channel();
    loop {
        let locked = flock(&wait.file, FlockOperation::LockExclusive);
        let _ = wait.locked.send(locked.map(|()| wait.file));
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= KEPT {
            return;
        }
        idle.push(sender.clone());
        drop(idle);
        match receiver.recv() {
            Ok(next) => wait = next,
            Err(_) => return,
        }
    }
}
