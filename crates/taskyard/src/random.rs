//! Randomness of the system, for ids and secrets.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

/// Returns random bytes that nobody can guess.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a random number for names that need not be secret. The standard library seeds its hashes from the system's randomness.
pub(crate) fn random_number() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}
