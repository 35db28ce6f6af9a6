//! Values in which half a surrogate pair is told from U+FFFD, and `1.50` from `1.5`, while they are values of ours.
//!
//! In the texts of such a value U+FDD0, which is no character and is never exchanged, stands before four hexadecimal digits: those of
//! the half pair, or `fdd0` for a U+FDD0 that was there itself. A number that would be printed otherwise than it is written is a text:
//! U+FDD0, `num:` and the number as it is written. So every JSON text has one exact form, and every exact form one JSON text.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::lone_surrogates::{ESCAPE, code_unit, lone_surrogates};
use super::numbers::{odd_numbers, shown_number};

/// How the numbers of a value are printed that say what they said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// As they were written.
    AsWritten,
    /// As the printer prints them.
    AsPrinted,
}

const MARK: char = '\u{fdd0}';
const MARK_ITSELF: &str = "\u{fdd0}fdd0";
const MARK_NUMBER: &str = "\u{fdd0}num:";
const DIGITS: usize = 4;

/// Parses JSON into a value whose texts are exact, and with them its numbers where they are to be kept.
pub(super) fn parse(json: &[u8], numbers: Numbers) -> Result<Value, serde_json::Error> {
    let mut exact: Vec<u8> = Vec::with_capacity(json.len());
    let mut halves = lone_surrogates(json).peekable();
    let mut odd = odd_numbers(json).take_while(|_| numbers == Numbers::AsWritten).peekable();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        if let Some(range) = odd.next_if(|range| range.start == at) {
            exact.extend([b"\"", MARK_NUMBER.as_bytes(), &json[range.clone()], b"\""].concat());
            at = range.end;
        } else if halves.next_if_eq(&at).is_some() {
            exact.extend(MARK.to_string().bytes().chain(json[at + 2..at + ESCAPE].iter().copied()));
            at += ESCAPE;
        } else if *byte == b'\\' && code_unit(json, at) == Some(MARK as u16) {
            exact.extend_from_slice(MARK_ITSELF.as_bytes());
            at += ESCAPE;
        } else if json[at..].starts_with(MARK.to_string().as_bytes()) {
            exact.extend_from_slice(MARK_ITSELF.as_bytes());
            at += MARK.len_utf8();
        } else {
            // A backslash takes the byte after it along.
            let end = json.len().min(at + if *byte == b'\\' { 2 } else { 1 });
            exact.extend_from_slice(&json[at..end]);
            at = end;
        }
    }
    serde_json::from_slice(&exact)
}

/// Makes the texts of a value exact that were read with U+FFFD for every half.
pub(super) fn exact(value: &Value) -> Value {
    mapped(value, &|text| Value::String(text.replace(MARK, MARK_ITSELF)))
}

/// Returns a value as it is read and shown, with U+FFFD for every half and numbers for numbers.
pub(super) fn shown(value: &Value) -> Value {
    mapped(value, &|text| match text.strip_prefix(MARK_NUMBER) {
        Some(number) => shown_number(number),
        None => Value::String(shown_text(text).into_owned()),
    })
}

/// Returns a text as it is read and shown.
pub(super) fn shown_text(text: &str) -> Cow<'_, str> {
    replaced(text, |digits| match digits {
        "fdd0" => MARK.to_string(),
        _ => char::REPLACEMENT_CHARACTER.to_string(),
    })
}

/// Returns the JSON text of a value whose texts are exact, given it as it was printed.
pub(super) fn print(printed: &str) -> String {
    let escaped = |digits: &str| match digits {
        "fdd0" => MARK.to_string(),
        digits => format!("\\u{digits}"),
    };
    replaced(&without_number_marks(printed), escaped).into_owned()
}

/// Takes the marks and the quotes of exact numbers away.
fn without_number_marks(printed: &str) -> Cow<'_, str> {
    let mark = format!("\"{MARK_NUMBER}");
    if !printed.contains(&mark) {
        return Cow::Borrowed(printed);
    }
    let mut pieces = printed.split(&mark);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once('"').unwrap_or((piece, ""));
        whole.extend([number, rest]);
    }
    Cow::Owned(whole)
}

fn replaced(text: &str, by: impl Fn(&str) -> String) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(MARK);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(DIGITS).unwrap_or(("fdd0", piece));
        whole.push_str(&by(digits));
        whole.push_str(rest);
    }
    Cow::Owned(whole)
}

fn mapped(value: &Value, map: &impl Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => map(text),
        Value::Array(items) => Value::Array(items.iter().map(|item| mapped(item, map)).collect()),
        Value::Object(object) => Value::Object(mapped_object(object, map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn mapped_object(object: &Map<String, Value>, map: &impl Fn(&str) -> Value) -> Map<String, Value> {
    let key = |key: &str| map(key).as_str().unwrap_or(key).to_owned();
    object.iter().map(|(name, value)| (key(name), mapped(value, map))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop, proptest};
    use serde_json::{Value, json};

    use super::{Numbers, exact, parse, print, shown};
    use crate::json_text::from_str;

    #[test]
    fn what_is_parsed_exactly_is_printed_as_it_was() {
        for text in [
            r#""Fix \ud83d""#,
            r#""\udE00 \uD83D""#,
            "\"\u{fdd0}d83d \\ud83d\"",
            "{\"\\udfff\":[\"\u{fdd0}\u{fdd0}fdd0\"]}",
            r#"["\\ud83d","\\\ud83d",1.50,null]"#,
            r#"{"a":1e400,"b":[-0,1.0,12345678901234567890123,0.10],"c":"1.50"}"#,
            "[\"\u{fdd0}num:1.50\",1.50]",
        ] {
            let value = parse(text.as_bytes(), Numbers::AsWritten).unwrap();
            assert_eq!(print(&value.to_string()), text);
            assert_eq!(shown(&value), from_str::<Value>(text).unwrap(), "{text}");
        }
        assert_eq!(parse(br#""\ufdd0\uFDD0""#, Numbers::AsPrinted).unwrap(), exact(&json!("\u{fdd0}\u{fdd0}")));
    }

    fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
        let pool = [
            "\\ud83d", "\\ude00", "\\uD800", "\\ufdd0", "\u{fdd0}", "fdd0", "d83d", "\\\\", "\\n", "é", "\u{fffd}", "u",
        ];
        prop::collection::vec(prop::sample::select(pool.to_vec()), 0..12)
    }

    proptest! {
        #[test]
        fn reading_and_the_exact_form_agree_on_every_text(pieces in pieces()) {
            let text = format!("\"{}\"", pieces.concat());
            let value = parse(text.as_bytes(), Numbers::AsWritten).unwrap();
            assert_eq!(shown(&value), from_str::<Value>(&text).unwrap());
            let again = print(&value.to_string());
            assert_eq!(parse(again.as_bytes(), Numbers::AsWritten).unwrap(), value, "{}", again);
            let read: Value = from_str(&text).unwrap();
            assert_eq!(shown(&exact(&read)), read);
        }
    }
}
