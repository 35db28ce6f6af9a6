//! The same thing done to many, some of them at a time.

use std::sync::Mutex;
use std::thread;

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
