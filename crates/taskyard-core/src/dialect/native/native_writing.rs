//! Writes native task files byte for byte as JavaScript would.

use std::io;
use std::io::Write;

use serde::Serialize as _;
use serde_json::ser::{Formatter, PrettyFormatter};
use serde_json::{Map, Serializer, Value};

use crate::dialect::native::native_reading::{LARGEST, SCHEMA};
use crate::json_text::{is_more_than_read, lower_case_lone_surrogates, print_over, print_over_as_javascript};
use crate::{Image, Rules, Task, TaskId, json_text};

/// The task's file would exceed the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a task of {size} bytes is too large (the limit is {LARGEST})")]
pub struct TooLarge {
    /// The size it would have, in bytes.
    pub size: usize,
}

/// Serializes a task over the current contents of its file.
///
/// Strict rules keep the order of existing keys and every key the client does not know. Client rules do what a write
/// of the client does: unknown keys are dropped, known ones return to the schema's order, and new keys come last.
pub fn write(over: Option<&Image>, task: &Task, rules: Rules) -> Result<Image, TooLarge> {
    let before = over.and_then(|image| json_text::from_slice::<Map<String, Value>>(image.bytes()).ok());
    let over = over.map(Image::bytes);
    let text = match rules {
        Rules::Strict => print_over(over, &Value::Object(strictly(before, task)), pretty),
        Rules::Client(_) => {
            let over = over.map(lower_case_lone_surrogates);
            print_over_as_javascript(over.as_deref(), &Value::Object(as_the_client(before, task)), stringify)
        }
    };
    if text.len() as u64 > LARGEST {
        return Err(TooLarge { size: text.len() });
    }
    Ok(Image::new(text.into_bytes()))
}

/// Restores lone surrogates and number spellings of `origin` in the file of a task that was read from it.
pub fn as_written_in(origin: &Image, image: Image) -> Image {
    match json_text::from_slice::<Value>(image.bytes()) {
        Ok(value) if is_more_than_read(origin.bytes()) => {
            Image::new(print_over(Some(origin.bytes()), &value, pretty).into_bytes())
        }
        _ => image,
    }
}

fn strictly(before: Option<Map<String, Value>>, task: &Task) -> Map<String, Value> {
    let mut object = before.unwrap_or_default();
    object.retain(|key, _| SCHEMA.contains(&key.as_str()) || task.extra.contains_key(key));
    for (place, key) in SCHEMA.iter().enumerate() {
        match field(task, key) {
            None => drop(object.shift_remove(*key)),
            Some(value) if object.contains_key(*key) => object[*key] = value,
            Some(value) => {
                let successor = object.keys().position(|other| SCHEMA[place + 1..].contains(&other.as_str()));
                let end = object.len();
                object.shift_insert(successor.unwrap_or(end), (*key).to_owned(), value);
            }
        }
    }
    for (key, value) in &task.extra {
        object.insert(key.clone(), value.clone());
    }
    object
}

fn as_the_client(before: Option<Map<String, Value>>, task: &Task) -> Map<String, Value> {
    let present = |key: &&&str| before.as_ref().is_none_or(|object| object.contains_key(**key));
    let kept = SCHEMA.iter().filter(present);
    let added = SCHEMA.iter().filter(|key| !present(key));
    kept.chain(added).filter_map(|key| Some(((*key).to_owned(), field(task, key)?))).collect()
}

fn field(task: &Task, key: &str) -> Option<Value> {
    let text = |text: &String| Value::String(text.clone());
    match key {
        "id" => Some(Value::String(task.id.as_str().to_owned())),
        "subject" => Some(text(&task.subject)),
        "description" => Some(text(&task.description)),
        "activeForm" => task.active_form.as_ref().map(text),
        "owner" => task.owner.as_ref().map(text),
        "status" => Some(Value::String(task.status.as_str().to_owned())),
        "blocks" => Some(ids(&task.blocks)),
        "blockedBy" => Some(ids(&task.blocked_by)),
        "metadata" => task.metadata.clone().map(Value::Object),
        _ => None,
    }
}

fn ids(ids: &[TaskId]) -> Value {
    Value::Array(ids.iter().map(|id| Value::String(id.as_str().to_owned())).collect())
}

/// Serializes a value as `JSON.stringify(value, null, 2)` does: numbers in their shortest form, keys that are array
/// indices first.
pub fn stringify(value: &Value) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, JavaScriptFormatter::default());
    normalized(value).serialize(&mut serializer).expect("a JSON value always has a text form");
    String::from_utf8(text).expect("JSON is text")
}

/// Serializes a value with an indentation of two spaces and no final newline.
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

/// Returns the keys of an object in JavaScript's order: array indices first.
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

/// Parses the number at the beginning of a text as `parseInt(text, 10)` does; `12x` is 12.
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

/// Formats `number + 1` as `String(number + 1)` does.
pub fn next_number(number: f64) -> String {
    ryu_js::Buffer::new().format(number + 1.0).to_owned()
}

/// Above this, floats cannot represent every integer.
const LARGEST_EXACT: u64 = 1 << 53;

/// Writes JSON with an indentation of two spaces, and numbers as JavaScript does.
#[derive(Default)]
pub(super) struct JavaScriptFormatter(PrettyFormatter<'static>);

impl Formatter for JavaScriptFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format(value).as_bytes())
    }

    fn write_u64<W: ?Sized + Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > LARGEST_EXACT {
            return self.write_f64(writer, value as f64);
        }
        self.0.write_u64(writer, value)
    }

    fn write_i64<W: ?Sized + Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() > LARGEST_EXACT {
            return self.write_f64(writer, value as f64);
        }
        self.0.write_i64(writer, value)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::{as_written_in, write};
    use crate::dialect::native::read;
    use crate::{ClientVersion, Image, Rules, Task, TaskId};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn keys(image: &Image) -> Vec<String> {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(image.bytes()).unwrap();
        object.keys().cloned().collect()
    }

    #[test]
    fn a_new_file_has_the_schemas_order_and_no_newline_at_the_end() {
        let mut task = Task::new(TaskId::number(1), "First");
        task.description = "Do first".into();
        task.active_form = Some("Doing first".into());
        for rules in [Rules::Strict, CLIENT] {
            let image = write(None, &task, rules).unwrap();
            assert_eq!(
                std::str::from_utf8(image.bytes()).unwrap(),
                "{\n  \"id\": \"1\",\n  \"subject\": \"First\",\n  \"description\": \"Do first\",\n  \"activeForm\": \"Doing first\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": []\n}"
            );
        }
    }

    #[test]
    fn strict_rules_keep_unknown_keys_and_their_order() {
        let before = Image::new(
            br#"{"z":1.50,"status":"pending","id":"4","subject":"s","description":"d","blocks":[],"blockedBy":[],"a":{"y":1,"x":2}}"#
                .as_slice(),
        );
        let mut task = read(&TaskId::number(4), before.bytes()).unwrap();
        task.owner = Some("ana".into());
        let after = write(Some(&before), &task, Rules::Strict).unwrap();
        assert_eq!(keys(&after), ["z", "owner", "status", "id", "subject", "description", "blocks", "blockedBy", "a"]);
        assert!(std::str::from_utf8(after.bytes()).unwrap().contains("\"z\": 1.50"));
        assert_eq!(read(&TaskId::number(4), after.bytes()).unwrap(), task);
    }

    #[test]
    fn client_appends_new_key_and_keeps_its_place_later() {
        let id = TaskId::number(1);
        let mut task = Task::new(id.clone(), "s");
        let created = write(None, &task, CLIENT).unwrap();
        task.owner = Some("bob".into());
        let first = write(Some(&created), &task, CLIENT).unwrap();
        assert_eq!(keys(&first).last().unwrap(), "owner");
        task.subject = "t".into();
        let second = write(Some(&first), &task, CLIENT).unwrap();
        assert_eq!(keys(&second), ["id", "subject", "description", "owner", "status", "blocks", "blockedBy"]);
    }

    #[test]
    fn the_client_drops_what_it_does_not_know() {
        let before = Image::new(
            br#"{"id":"77","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[],"custom":1}"#
                .as_slice(),
        );
        let mut task = read(&TaskId::number(7), before.bytes()).unwrap();
        task.subject = "t".into();
        let after = write(Some(&before), &task, CLIENT).unwrap();
        assert_eq!(keys(&after), ["id", "subject", "description", "status", "blocks", "blockedBy"]);
        assert_eq!(read(&TaskId::number(7), after.bytes()).unwrap().stated_id, None);
    }

    #[test]
    fn half_a_surrogate_pair_is_kept_until_its_field_is_written() {
        let text = r#"{"id":"4","subject":"Fix \uD83d","description":"\udc00","status":"pending","blocks":["\ud83d","9"],"blockedBy":[],"metadata":{"\ud83d":"\ud83e","\ud83e":1,"a":1},"x\ud83d":"\ud83d"}"#;
        let before = Image::new(text.as_bytes());
        let mut task = read(&TaskId::number(4), before.bytes()).unwrap();
        task.owner = Some("ana".into());
        task.description = "new".into();
        task.blocks.pop();
        let strict = write(Some(&before), &task, Rules::Strict).unwrap();
        let compact: serde_json::Value =
            serde_json::from_slice(&crate::json_text::without_lone_surrogates(strict.bytes())).unwrap();
        assert_eq!(compact["metadata"]["a"], 1);
        let said = std::str::from_utf8(strict.bytes()).unwrap();
        for kept in [
            r#""subject": "Fix \uD83d""#,
            r#""description": "new""#,
            r#""\ud83d": "\ud83e""#,
            r#""\ud83e": 1"#,
            r#""x\ud83d": "\ud83d""#,
            r#""\ud83d"
  ]"#,
        ] {
            assert!(said.contains(kept), "{kept}: {said}");
        }
        assert_eq!(read(&TaskId::number(4), strict.bytes()).unwrap(), task);
        let client = write(Some(&before), &task, CLIENT).unwrap();
        let said = std::str::from_utf8(client.bytes()).unwrap();
        assert!(said.contains(r#""subject": "Fix \ud83d""#) && !said.contains("x\\ud83d"), "{said}");
        let elsewhere = as_written_in(&before, write(None, &task, Rules::Strict).unwrap());
        assert!(std::str::from_utf8(elsewhere.bytes()).unwrap().contains(r#""subject": "Fix \uD83d""#));
    }

    #[test]
    fn a_task_beyond_the_limit_is_not_written() {
        let mut task = Task::new(TaskId::number(1), "s");
        task.description = "x".repeat(17 * 1024 * 1024);
        assert!(write(None, &task, Rules::Strict).is_err());
    }
}

#[cfg(test)]
mod javascript_tests {
    use serde_json::Value;

    use super::{next_number, parse_int, stringify};

    #[test]
    fn values_are_written_as_json_stringify_writes_them() {
        // Each pair was generated with `JSON.stringify(JSON.parse(left), null, 2)`, with line breaks removed.
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
