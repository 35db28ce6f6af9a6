//! Numbers in JSON text whose writing Rust would not give back: `1.50`, `1e3`, more digits than a float holds.

use std::ops::Range;

use serde_json::Value;

/// So many digits always fit, and are printed as they were written.
const FITTING_DIGITS: usize = 18;

/// Returns where the numbers stand that are printed otherwise than they are written. Whether the rest is JSON, the parser says.
pub(super) fn odd_numbers(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    numbers(json).filter(|range| is_odd(&json[range.clone()]))
}

/// Returns where the numbers stand that are larger than any float.
pub(super) fn endless_numbers(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    numbers(json).filter(|range| text_of(&json[range.clone()]).parse().is_ok_and(f64::is_infinite))
}

/// Returns a number as it is read and shown: one that is larger than any float is nothing, as to JavaScript.
pub(super) fn shown_number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn numbers(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match json.get(at)? {
                b'"' => at = end_of_text(json, at + 1),
                b'-' | b'0'..=b'9' => {
                    let begin = at;
                    let belongs = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    at += json[begin..].iter().take_while(|byte| belongs(byte)).count();
                    return Some(begin..at);
                }
                _ => at += 1,
            }
        }
    })
}

/// Returns where a text ends whose first character stands here.
fn end_of_text(json: &[u8], mut at: usize) -> usize {
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            // A backslash takes the byte after it along.
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn is_odd(number: &[u8]) -> bool {
    let is_plain = number.len() <= FITTING_DIGITS && number[0] != b'-' && number.iter().all(u8::is_ascii_digit);
    !is_plain && shown_number(text_of(number)).to_string().as_bytes() != number
}

fn text_of(number: &[u8]) -> &str {
    std::str::from_utf8(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{endless_numbers, odd_numbers};

    #[test]
    fn numbers_are_odd_that_would_be_printed_otherwise() {
        let json =
            br#"{"1.50":[1.50,1.5,-0,-7,0,1e3,18446744073709551615,18446744073709551616],"a\"2.0":"3.0 \\","n":1e400}"#;
        let text = |range: std::ops::Range<usize>| std::str::from_utf8(&json[range]).unwrap();
        let odd: Vec<&str> = odd_numbers(json).map(text).collect();
        assert_eq!(odd, ["1.50", "-0", "1e3", "18446744073709551616", "1e400"]);
        assert_eq!(endless_numbers(json).map(text).collect::<Vec<_>>(), ["1e400"]);
    }

    #[test]
    fn half_a_text_ends_with_the_bytes() {
        for json in [&b"\"1.50"[..], b"\"\\", b"-", b"1.50"] {
            assert!(odd_numbers(json).count() <= 1);
        }
    }
}
