//! Names for messages that no other message has.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// Returns a random UUID, as the client names its messages.
pub(super) fn random_id() -> String {
    let mut bytes = [0; 16];
    if File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).is_err() {
        // Without a source of randomness, what no other process and no other message has: place and time.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed) << 32 | u64::from(std::process::id());
        bytes[..8].copy_from_slice(&clock::wall().to_le_bytes());
        bytes[8..].copy_from_slice(&count.to_le_bytes());
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::random_id;

    #[test]
    fn an_id_has_the_form_of_a_uuid_and_no_two_are_alike() {
        let (one, two) = (random_id(), random_id());
        assert_ne!(one, two);
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
    }
}
