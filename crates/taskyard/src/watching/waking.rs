//! The thread that waits for the kernel, where a watcher is to be called when something happens.

use crate::watching::DirectoryWatch;
use crate::watching::kernel::Notify;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::kernel::Kernel;

/// What happens within this time is told together: one change moves several files.
const SHORTEST_REST: Duration = Duration::from_millis(2);
/// While things keep happening the rest grows up to this, so that fifty who follow a busy list leave its writers room to work.
const LONGEST_REST: Duration = Duration::from_millis(32);
/// After so long without anything the rest is short again.
const QUIET: Duration = Duration::from_millis(100);
/// How often we look whether a watcher is still to be called.
const LOOK_AROUND: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

static IS_RUNNING: Mutex<bool> = Mutex::new(false);

/// Begins to watch a directory, and calls `notify` whenever something happens there.
pub(super) fn watch_and_tell(path: &Path, notify: Notify) -> io::Result<DirectoryWatch> {
    let kernel = Kernel::get()?;
    begin(&kernel)?;
    kernel.watch(path, |_| true, Some(notify))
}

/// Makes sure that the thread runs.
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
        // What comes meanwhile waits in the kernel, and wakes no thread.
        thread::sleep(rest);
        kernel.take_in();
        last = Instant::now();
    }
}
