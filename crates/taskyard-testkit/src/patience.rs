//! Waiting without sleeping, the scale of a run, and pseudo-random numbers.

use std::sync::Mutex;
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

/// Runs a closure on its own thread and returns its result; panics if it does not finish.
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

/// The variable that multiplies every count: `1` is the full scale, unset is what fits a continuous build.
const VARIABLE: &str = "TASKYARD_TEST_SCALE";

/// A share of the full scale.
#[derive(Clone, Copy, Debug)]
pub struct Scale(f64);

impl Scale {
    /// Reads the scale from the environment, or returns `otherwise` if it is not set.
    pub fn from_environment(otherwise: f64) -> Self {
        let said = std::env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
        Self(said.unwrap_or(otherwise))
    }

    /// Returns this share of a count, one at least.
    pub fn of(self, full: usize) -> usize {
        // Counts of tests are far below the point where a float loses whole numbers.
        ((full as f64 * self.0).round() as usize).max(1)
    }

    /// Tells whether everything is to be done.
    pub fn is_full(self) -> bool {
        self.0 >= 1.0
    }
}

/// Does something to each of many, on a thread for each processor; panics where one of them does. Other tests run at the same time, and use
/// what a thread leaves that waits.
pub fn side_by_side<T: Send>(all: impl IntoIterator<Item = T, IntoIter: Send>, work: impl Fn(T) + Sync) {
    let rest = Mutex::new(all.into_iter());
    // In a statement of its own: the lock is not held while a thread works.
    let next = || rest.lock().ok().and_then(|mut rest| rest.next());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while let Some(one) = next() {
                    work(one);
                }
            });
        }
    });
}

/// A small generator (xorshift); the same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }

    /// Returns one of several.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::side_by_side;

    #[test]
    fn everything_is_done_once() {
        let sum = AtomicUsize::new(0);
        side_by_side(1..=100, |number| {
            sum.fetch_add(number, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 5050);
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn what_fails_is_heard_of() {
        side_by_side(1..=3, |number| assert_ne!(number, 2));
    }
}
