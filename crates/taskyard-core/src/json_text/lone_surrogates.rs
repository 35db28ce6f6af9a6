//! Halves of surrogate pairs, which JavaScript strings may hold and Rust strings may not.
//!
//! `"\ud83d"` is valid JSON: a JavaScript program that cuts a text in the middle of an emoji writes it. The functions
//! here work on JSON text and change nothing but those escapes; whether the rest is JSON, the parser says.

use std::borrow::Cow;

/// How long an escape is: `\ud83d`.
pub(super) const ESCAPE: usize = 6;

/// Replaces every escape of half a surrogate pair by `\ufffd`, which is as long, so that nothing moves.
///
/// Borrows what holds none: then all it costs is the search for a backslash.
pub(crate) fn without_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = Cow::Borrowed(json);
    for at in lone_surrogates(json) {
        replaced.to_mut()[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
    }
    replaced
}

/// Tells whether a JSON text escapes half a surrogate pair.
pub fn has_lone_surrogates(json: &[u8]) -> bool {
    lone_surrogates(json).next().is_some()
}

/// Writes every escape of half a surrogate pair in lower case, as `JSON.stringify` does.
pub(crate) fn lower_case_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let mut lowered = Cow::Borrowed(json);
    for at in lone_surrogates(json) {
        lowered.to_mut()[at..at + ESCAPE].make_ascii_lowercase();
    }
    lowered
}

/// Returns where the escapes of half a surrogate pair begin.
///
/// Outside of strings JSON has no backslash, so none of them is taken for what it is not.
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
                // A backslash takes the byte after it along: `\\ud83d` is a backslash and four letters.
                _ => at = begin + 2,
            }
        }
    })
}

/// Returns the UTF-16 unit that a `\uXXXX` at this place stands for.
pub(super) fn code_unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
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
