//! The thread that waits for kernel events, for watchers with a callback.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::watching::DirectoryWatch;
use crate::watching::inotify::{Kernel, Notify};

/// Minimum pause between notifications, to combine the events of one change, which moves several files.
const SHORTEST_REST: Duration = Duration::from_millis(2);
/// Maximum pause while events keep coming, so that many followers of a busy list leave its writers time to work.
const LONGEST_REST: Duration = Duration::from_millis(32);
/// Time without events after which the pause is short again.
const QUIET: Duration = Duration::from_millis(100);
/// Interval at which the thread checks whether any callback is left.
const LOOK_AROUND: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

static IS_RUNNING: Mutex<bool> = Mutex::new(false);

/// Starts watching a directory, and calls `notify` whenever something happens there.
pub(super) fn watch_and_tell(path: &Path, notify: Notify) -> io::Result<DirectoryWatch> {
    let kernel = Kernel::get()?;
    begin(&kernel)?;
    kernel.watch(path, |_| true, Some(notify))
}

/// Starts the thread if it is not running.
fn begin(kernel: &Arc<Kernel>) -> io::Result<()> {
    let mut is_running = IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_running {
        let kernel = Arc::clone(kernel);
        thread::Builder::new().name("taskyard-watch".to_owned()).spawn(move || wait(&kernel))?;
        *is_running = true;
    }
    Ok(())
}

fn wait(kernel: &Kernel) {
    let mut rest = SHORTEST_REST;
    let mut last = Instant::now();
    loop {
        let woken = poll(&mut [PollFd::from_borrowed_fd(kernel.readable(), PollFlags::IN)], Some(&LOOK_AROUND));
        if woken == Ok(0) {
            let mut is_running = IS_RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            if !kernel.has_anybody_to_call() {
                *is_running = false;
                return;
            }
            continue;
        }
        rest = if last.elapsed() > QUIET { SHORTEST_REST } else { (rest * 2).min(LONGEST_REST) };
        // Events during the pause wait in the kernel and wake no thread.
        thread::sleep(rest);
        kernel.take_in();
        last = Instant::now();
    }
}
