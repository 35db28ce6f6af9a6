//! Reading base64, in which the driver sends pictures.

/// Returns the bytes that a text stands for; what is none of its characters is passed over.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for value in text.bytes().filter_map(value_of) {
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(((bits >> held) & 0xff).to_le_bytes()[0]);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}

fn value_of(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn texts_of_every_length_are_read() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9v\nYmFy", "foobar")] {
            assert_eq!(decode(text), bytes.as_bytes());
        }
        assert_eq!(decode("/+8A"), [0xff, 0xef, 0]);
    }
}
