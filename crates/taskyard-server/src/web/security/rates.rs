//! Rate limits per client.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Maximum number of clients remembered. Forgetting one only benefits that client.
const REMEMBERED: usize = 4_096;

/// A token bucket per client: a sustained rate and a burst.
#[derive(Debug)]
pub(crate) struct Rates<K> {
    a_second: f64,
    at_once: f64,
    known: Mutex<HashMap<K, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl<K: Clone + Eq + Hash> Rates<K> {
    /// Returns limits of this many requests per second and at once.
    pub(crate) fn new(a_second: u32, at_once: u32) -> Self {
        Self { a_second: a_second.into(), at_once: at_once.into(), known: Mutex::default() }
    }

    /// Counts a request and returns whether it is within the limits.
    pub(crate) fn take(&self, who: &K) -> bool {
        self.take_at(who, Instant::now())
    }

    /// Returns whether one more request would be within the limits.
    pub(crate) fn has_room(&self, who: &K) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(who).is_none_or(|bucket| self.filled(*bucket, Instant::now()) >= 1.0)
    }

    fn take_at(&self, who: &K, now: Instant) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED && !known.contains_key(who) {
            // A client with a full bucket is like a new one.
            known.retain(|_, bucket| self.filled(*bucket, now) < self.at_once);
            if known.len() >= REMEMBERED {
                known.clear();
            }
        }
        let bucket = known.entry(who.clone()).or_insert(Bucket { left: self.at_once, at: now });
        let left = self.filled(*bucket, now);
        let is_within = left >= 1.0;
        *bucket = Bucket { left: if is_within { left - 1.0 } else { left }, at: now };
        is_within
    }

    fn filled(&self, bucket: Bucket, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.left + passed * self.a_second).min(self.at_once)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{REMEMBERED, Rates};

    #[test]
    fn so_many_at_once_and_then_so_many_a_second() {
        let (rates, now) = (Rates::new(10, 3), Instant::now());
        let taken = |at: Instant| (0..5).filter(|_| rates.take_at(&"ana", at)).count();
        assert_eq!(taken(now), 3);
        assert!(rates.take_at(&"bob", now), "others have rates of their own");
        assert_eq!(taken(now + Duration::from_millis(210)), 2);
        assert_eq!(taken(now + Duration::from_secs(60)), 3);
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let (rates, now) = (Rates::new(1, 1), Instant::now());
        for who in 0..REMEMBERED * 3 {
            assert!(rates.take_at(&who, now));
        }
        assert!(rates.known.lock().unwrap().len() <= REMEMBERED);
    }
}
