//! Random secrets and their digests.

use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use taskyard::system::{hexadecimal, random_bytes};

/// Number of random bytes in a secret.
const BYTES: usize = 32;

/// Returns a random secret as hexadecimal digits.
pub(crate) fn random_secret() -> io::Result<String> {
    Ok(hexadecimal(&random_bytes::<BYTES>()?))
}

/// Returns the digest under which a secret is stored. It needs no salt, because secrets are long and random.
pub(crate) fn digest(secret: &str) -> String {
    hexadecimal(&Sha256::digest(secret.as_bytes()))
}

/// Returns an HMAC, which only the owner of the key can compute.
pub(crate) fn seal(key: &str, purpose: &str, text: &str) -> String {
    hexadecimal(&sealing(key, purpose, text).finalize().into_bytes())
}

fn sealing(key: &str, purpose: &str, text: &str) -> Hmac<Sha256> {
    // HMAC accepts keys of any length.
    let mut sealing = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap_or_else(|_| Hmac::new(&Default::default()));
    sealing.update(purpose.as_bytes());
    sealing.update(&[0]);
    sealing.update(text.as_bytes());
    sealing
}

#[cfg(test)]
mod tests {
    use super::{digest, random_secret, seal};

    #[test]
    fn only_the_key_the_purpose_and_the_text_make_the_seal() {
        let sealed = seal("key", "cookie", "text");
        assert_eq!(seal("key", "cookie", "text"), sealed);
        for (key, purpose, text) in [("kez", "cookie", "text"), ("key", "cookiet", "ext"), ("key", "cookie", "texu")] {
            assert_ne!(seal(key, purpose, text), sealed);
        }
    }

    #[test]
    fn secrets_are_long_and_distinct_with_known_digests() {
        let (one, two) = (random_secret().unwrap(), random_secret().unwrap());
        assert!(one.len() == 64 && one != two);
        assert_eq!(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
