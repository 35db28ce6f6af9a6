//! Names for messages that no other message has.

use crate::random::{hexadecimal, random_bytes, random_number};

/// Returns a random UUID, as the client names its messages.
pub(super) fn random_id() -> String {
    let mut bytes: [u8; 16] = random_bytes().unwrap_or_else(|_| {
        // Nobody has to be kept from guessing it.
        (u128::from(random_number()) << 64 | u128::from(random_number())).to_le_bytes()
    });
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hexadecimal(&bytes);
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
