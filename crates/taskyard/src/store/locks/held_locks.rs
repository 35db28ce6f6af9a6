//! The locks and turns this process has: kept alive while it has them; locks are given back when the process is told to end.

use std::ffi::CStr;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use std::{io, mem, thread};

use super::client_lock::{self, Attempt, Candidate, Lock};

/// Well within the 10 s after which the client takes a lock for dead, and our own writers take a turn for abandoned.
const REFRESH: Duration = Duration::from_millis(2500);

static HELD: Mutex<Held> = Mutex::new(Held { locks: Vec::new(), turns: Vec::new(), refreshing: false });

struct Held {
    locks: Vec<Weak<Lock>>,
    /// The files of the queues in which this process has a turn.
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

/// Tries to take a lock, and keeps it alive for as long as it is held.
pub(in crate::store) fn take(candidate: Candidate, name: &CStr) -> io::Result<Attempt<Arc<Lock>>> {
    // Nothing comes between taking it and knowing it: a process that is told to end gives back all it has.
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

/// Shows signs of life in the file of a queue for as long as the turn lasts.
pub(in crate::store) fn keep_turn(queue: &Arc<File>) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.turns.retain(|turn| turn.strong_count() > 0);
    held.turns.push(Arc::downgrade(queue));
    held.begin_refreshing();
}

/// Gives back every lock this process holds, and lets it take no other. For the moment before a process ends on a signal: a commit that is
/// under way is finished by the next command.
pub fn release_held_locks() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    for lock in held.locks.iter().filter_map(Weak::upgrade) {
        lock.remove();
    }
    mem::forget(held);
}

/// Refreshes until nothing has been held for two rounds, so that an idle process has no thread that wakes.
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
