//! Random numbers, for ids.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns a random number. The standard library seeds its hashes from the system's randomness.
pub(in crate::store) fn random_number() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}
