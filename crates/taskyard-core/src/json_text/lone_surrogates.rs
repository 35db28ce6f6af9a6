//! JSON text that JavaScript writes but the parser would reject or change.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The length of an escape: `\ud83d`.
pub(super) const ESCAPE: usize = 6;

/// Replaces every escape of a lone surrogate with `\ufffd`, which has the same length, so that no offset changes.
///
/// Borrows the text if it has none; then it only costs the search for a backslash.
pub(crate) fn without_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = Cow::Borrowed(json);
    for at in lone_surrogates(json) {
        replaced.to_mut()[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
    }
    replaced
}

/// Returns whether a JSON text has an escaped lone surrogate.
pub fn has_lone_surrogates(json: &[u8]) -> bool {
    lone_surrogates(json).next().is_some()
}

/// Writes every escape of a lone surrogate in lower case, as `JSON.stringify` does.
pub(crate) fn lower_case_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let mut lowered = Cow::Borrowed(json);
    for at in lone_surrogates(json) {
        lowered.to_mut()[at..at + ESCAPE].make_ascii_lowercase();
    }
    lowered
}

/// Returns the positions of escaped lone surrogates.
///
/// JSON has no backslashes outside of strings, so there are no false matches.
pub(super) fn lone_surrogates(json: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += json.get(at..)?.iter().position(|byte| *byte == b'\\')?;
            let begin = at;
            match code_unit(json, begin) {
                Some(0xd800..=0xdbff) if matches!(code_unit(json, begin + ESCAPE), Some(0xdc00..=0xdfff)) => {
                    at = begin + 2 * ESCAPE;
                }
                Some(0xd800..=0xdfff) => {
                    at = begin + ESCAPE;
                    return Some(begin);
                }
                // A backslash escapes the next byte: `\\ud83d` is a backslash and five characters.
                _ => at = begin + 2,
            }
        }
    })
}

/// Returns the UTF-16 code unit of the `\uXXXX` escape at this position.
pub(super) fn code_unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

/// Parses JSON as `serde_json` does, but reads a lone surrogate as U+FFFD and a number larger than any float as null.
/// Costs nothing if there is neither.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match parseable(json) {
        Cow::Owned(whole) => serde_json::from_slice(&whole),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Replaces what JavaScript may write but the parser rejects with something of the same length: a lone surrogate with
/// U+FFFD, a number larger than any float with null. Borrows a text that has neither.
pub fn parseable(json: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = without_lone_surrogates(json);
    for range in endless_numbers(json) {
        let null = b"null".iter().copied().chain(std::iter::repeat(b' '));
        replaced.to_mut()[range].iter_mut().zip(null).for_each(|(byte, with)| *byte = with);
    }
    replaced
}

/// Parses JSON as [`from_slice`] does.
pub fn from_str<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    from_slice(json.as_bytes())
}

/// The number of digits that always fit, and are printed as they were written.
const FITTING_DIGITS: usize = 18;

/// Returns the positions of the numbers that would be printed differently from their spelling. The parser checks
/// whether the rest is JSON.
pub(super) fn odd_numbers(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    numbers(json).filter(|range| is_odd(&json[range.clone()]))
}

/// Returns the positions of the numbers that are larger than any float.
pub(super) fn endless_numbers(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    numbers(json).filter(|range| text_of(&json[range.clone()]).parse().is_ok_and(f64::is_infinite))
}

/// Returns a number in its displayed form; one that is larger than any float is null, as in JavaScript.
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

/// Returns the end of the string whose first character is at this position.
fn end_of_text(json: &[u8], mut at: usize) -> usize {
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            // A backslash escapes the next byte.
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
    use std::borrow::Cow;

    use super::without_lone_surrogates;

    fn replaced(json: &str) -> String {
        String::from_utf8(without_lone_surrogates(json.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn half_a_pair_becomes_the_replacement_character() {
        for (given, expected) in [
            (r#""Fix \ud83d""#, r#""Fix \ufffd""#),
            (r#""\uDE00 low""#, r#""\ufffd low""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\\ude00""#, r#""\ufffd\\ude00""#),
            (r#"{"\udfff":["\uD800"]}"#, r#"{"\ufffd":["\ufffd"]}"#),
            (r#""\ud83d\n\ude00""#, r#""\ufffd\n\ufffd""#),
        ] {
            assert_eq!(replaced(given), expected, "{given}");
        }
    }

    #[test]
    fn what_holds_no_half_pair_is_borrowed() {
        for whole in [
            r#""\ud83d\ude00""#,
            r#""\\ud83d""#,
            r#""\\\\ud83d""#,
            r#""\ufffd\u0041\ue000\ud7ff""#,
            r#""\ud83"#,
            r#""\ud8xy""#,
            "\"é\u{1f600}\"",
            "\\",
            "",
        ] {
            assert!(matches!(without_lone_surrogates(whole.as_bytes()), Cow::Borrowed(_)), "{whole}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_left_alone() {
        assert_eq!(&*without_lone_surrogates(b"\xff\\ud83d\xfe"), b"\xff\\ufffd\xfe");
        assert_eq!(&*without_lone_surrogates(b"\\u\xff\\ud83d"), b"\\u\xff\\ufffd");
    }
}

#[cfg(test)]
mod parsing_tests {
    use serde_json::Value;

    use super::from_str;

    #[test]
    fn half_a_pair_is_read_as_the_replacement_character() {
        let value: Value = from_str(r#"{"a\udc00":"\ud83d","b":"\ud83d\ude00"}"#).unwrap();
        assert_eq!((&value["a\u{fffd}"], &value["b"]), (&Value::from("\u{fffd}"), &Value::from("😀")));
        assert!(from_str::<Value>(r#"{"a":"\ud83d"#).is_err());
    }

    #[test]
    fn a_number_without_end_is_nothing_as_to_javascript() {
        let value: Value = from_str(r#"{"a":[1e400,-1e999,2],"b":"1e400 \udc00"}"#).unwrap();
        assert_eq!(value, serde_json::json!({ "a": [null, null, 2], "b": "1e400 \u{fffd}" }));
    }
}

#[cfg(test)]
mod numbers_tests {
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
