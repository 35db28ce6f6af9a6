//! Waiting for something, but not for ever.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for something that should happen at once.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until something is so; panics where it never is.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "still waiting for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs something on a thread of its own and returns what it returns; panics where it does not come to an end.
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
