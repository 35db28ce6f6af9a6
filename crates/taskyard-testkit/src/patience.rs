//! Waiting for something, but not for ever.
//!
//! Every limit of a test is here. A starved machine may stretch what takes milliseconds to many seconds, so no limit is a guess at how long
//! something takes: `PATIENCE` is far beyond any load and ends only a test that would never end, and a promise of speed is measured until
//! it is kept once, because load makes a measurement longer and never shorter.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for something before it fails.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// How long to pause between two looks at something that is waited for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Waits until something is so; panics if it never is.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Waits until a look finds something, and returns that; panics if it never does.
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_or(look, || format!("still waiting for {what} after {PATIENCE:?}"))
}

/// Does the same; `explain` says what there is instead.
pub fn wait_or<T>(mut look: impl FnMut() -> Option<T>, explain: impl FnOnce() -> String) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        if started.elapsed() > PATIENCE {
            panic!("{}", explain());
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Runs something on a thread of its own and returns what it returns; panics if it does not come to an end.
pub fn finishes<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = channel();
    let worker = thread::spawn(move || {
        let _ = send.send(work());
    });
    let result = receive.recv_timeout(PATIENCE);
    match result {
        Ok(result) => result,
        Err(_) if worker.is_finished() => std::panic::resume_unwind(worker.join().unwrap_err()),
        Err(_) => panic!("still waiting after {PATIENCE:?}"),
    }
}

/// Measures something until it takes less than a limit; panics if it never does. Other programs on the machine make a measurement longer
/// and never shorter, so that one within the limit shows what the program itself needs.
pub fn is_once_within(limit: Duration, what: &str, mut measure: impl FnMut() -> Duration) {
    let (started, mut best) = (Instant::now(), Duration::MAX);
    while best >= limit {
        assert!(started.elapsed() < PATIENCE, "{what} took {best:?} at best, {limit:?} is promised");
        best = best.min(measure());
    }
}
