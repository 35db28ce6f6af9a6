//! How JavaScript writes JSON and reads numbers, where that differs from how Rust does.

use serde::Serialize as _;
use serde_json::{Map, Serializer, Value};

use super::javascript_numbers::JavaScriptFormatter;

/// Writes a value as `JSON.stringify(value, null, 2)` does: numbers in their shortest form, keys that are array indices
/// first.
pub fn stringify(value: &Value) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, JavaScriptFormatter::default());
    normalized(value).serialize(&mut serializer).expect("a JSON value always has a text form");
    String::from_utf8(text).expect("JSON is text")
}

/// Writes a value with two spaces of indentation and no newline at the end.
pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value always has a text form")
}

fn normalized(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(normalized).collect()),
        Value::Object(object) => Value::Object(normalized_object(object)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn normalized_object(object: &Map<String, Value>) -> Map<String, Value> {
    keys(object).into_iter().map(|key| (key.clone(), normalized(&object[key]))).collect()
}

/// Returns the keys of an object in the order JavaScript goes through them: array indices first.
pub(crate) fn keys(object: &Map<String, Value>) -> Vec<&String> {
    let mut indices: Vec<(u32, &String)> = object.keys().filter_map(|key| Some((array_index(key)?, key))).collect();
    indices.sort_unstable();
    let names = object.keys().filter(|key| array_index(key).is_none());
    indices.into_iter().map(|(_, key)| key).chain(names).collect()
}

/// Returns the key as an array index (`0` to 2³² − 2, in canonical form), which JavaScript objects list first.
fn array_index(key: &str) -> Option<u32> {
    let index: u32 = key.parse().ok()?;
    (index != u32::MAX && (key == "0" || !key.starts_with(['0', '+']))).then_some(index)
}

/// Reads the number at the beginning of a text as `parseInt(text, 10)` does; `12x` is 12.
pub fn parse_int(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let number: f64 = digits[..end].parse().ok()?;
    Some(if negative { -number } else { number })
}

/// Writes `number + 1` as `String(number + 1)` does.
pub fn next_number(number: f64) -> String {
    ryu_js::Buffer::new().format(number + 1.0).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{next_number, parse_int, stringify};

    #[test]
    fn values_are_written_as_json_stringify_writes_them() {
        // Each pair was taken from `JSON.stringify(JSON.parse(left), null, 2)` with the line breaks taken out.
        for (given, written) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("1e21", "1e+21"),
            ("0.0000001", "1e-7"),
            ("12345678901234567890", "12345678901234567000"),
            ("1e400", "null"),
            ("[]", "[]"),
            ("{}", "{}"),
            (r#""\u0001\b\u007f\u2028é""#, "\"\\u0001\\b\u{7f}\u{2028}é\""),
            (r#"{"b":1,"10":2,"2":3,"01":4}"#, "{\n  \"2\": 3,\n  \"10\": 2,\n  \"b\": 1,\n  \"01\": 4\n}"),
        ] {
            let value: Value = crate::json_text::from_str(given).unwrap();
            assert_eq!(stringify(&value), written, "{given}");
        }
    }

    #[test]
    fn a_number_is_read_from_the_beginning_of_a_name() {
        for (text, number) in [
            ("12x", Some(12.0)),
            (" 90 ", Some(90.0)),
            ("-3", Some(-3.0)),
            ("x1", None),
            ("", None),
            ("0x1f", Some(0.0)),
        ] {
            assert_eq!(parse_int(text), number, "{text}");
        }
        assert_eq!(next_number(90.0), "91");
        assert_eq!(next_number(1e21), "1e+21");
    }
}
