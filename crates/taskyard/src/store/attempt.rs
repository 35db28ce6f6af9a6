//! Naming attempts at commits.

use std::hash::{BuildHasher, Hasher, RandomState};

use taskyard_core::AttemptId;

/// Returns the name of a new attempt. The keys of a [`RandomState`] come from the system's source of randomness, and no two are
/// alike.
pub(super) fn new_attempt() -> AttemptId {
    let [high, low] = [(); 2].map(|()| u128::from(RandomState::new().build_hasher().finish()));
    AttemptId(high << 64 | low)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::new_attempt;

    #[test]
    fn no_two_attempts_have_one_name() {
        let threads: Vec<_> =
            (0..4).map(|_| thread::spawn(|| (0..500).map(|_| new_attempt()).collect::<Vec<_>>())).collect();
        let names: HashSet<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(names.len(), 2_000);
    }
}
