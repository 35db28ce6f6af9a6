//! The locks this process holds: kept alive while they are held, given back when the process is told to end.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::lock::Lock;

/// Well within the 10 s after which the client takes a lock for dead.
const REFRESH: Duration = Duration::from_millis(2500);

static HELD: Mutex<Held> = Mutex::new(Held { locks: Vec::new(), refreshing: false });

struct Held {
    locks: Vec<Weak<Lock>>,
    refreshing: bool,
}

/// Keeps a lock alive for as long as it is held.
pub(super) fn keep(lock: Lock) -> Arc<Lock> {
    let lock = Arc::new(lock);
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.locks.retain(|lock| lock.strong_count() > 0);
    held.locks.push(Arc::downgrade(&lock));
    if !held.refreshing {
        let thread = thread::Builder::new().name("taskyard-locks".to_owned()).stack_size(64 * 1024);
        held.refreshing = thread.spawn(refresh).is_ok();
    }
    lock
}

/// Gives back every lock this process holds. For the moment before a process ends on a signal: a commit that is under way
/// is finished by the next command.
pub fn release_held_locks() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    for lock in held.locks.iter().filter_map(Weak::upgrade) {
        lock.remove();
    }
}

/// Refreshes until nothing has been held for two rounds, so that an idle process has no thread that wakes.
fn refresh() {
    let mut idle = 0;
    loop {
        thread::sleep(REFRESH);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let locks: Vec<Arc<Lock>> = held.locks.iter().filter_map(Weak::upgrade).collect();
        idle = if locks.is_empty() { idle + 1 } else { 0 };
        if idle == 2 {
            held.refreshing = false;
            return;
        }
        drop(held);
        for lock in locks {
            lock.refresh();
        }
    }
}
