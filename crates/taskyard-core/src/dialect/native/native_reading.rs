//! Parses native task files, diagnoses files that cannot be parsed, and serializes tasks in the native shape.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::json_text::parseable;
use crate::{Image, Metadata, SpecialFile, Status, Task, TaskId};

/// Why no task can be read from a file. The client treats such a file as absent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is larger than the limit for task files.
    #[error("the file is {size} bytes large (the limit is {limit})")]
    TooLarge {
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The path is a link, a directory, a pipe, a socket or a device.
    #[error("it is {found}, not a regular file")]
    NotAFile {
        /// The type of the file.
        found: SpecialFile,
    },
    /// The operating system refuses access.
    #[error("it cannot be opened: {why}")]
    Unopenable {
        /// The operating system's message.
        why: String,
    },
    /// The file begins with a byte order mark, for which the client ignores it.
    #[error("the file begins with a byte order mark")]
    ByteOrderMark,
    /// The file is not valid UTF-8.
    #[error("byte {at} is not UTF-8")]
    NotUtf8 {
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// The text is not valid JSON.
    #[error("not JSON: {why}")]
    NotJson {
        /// The parser's message.
        why: String,
    },
    /// The JSON is not an object.
    #[error("the file holds {found}, not an object")]
    NotAnObject {
        /// The actual type.
        found: &'static str,
    },
    /// A required key is missing.
    #[error("`{key}` is missing")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A value has the wrong type.
    #[error("`{key}` is {found}, not {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        found: &'static str,
    },
    /// The status is not one of the three.
    #[error("invalid status `{}`: expected pending, in_progress or completed", .found.escape_debug())]
    BadStatus {
        /// The status in the file.
        found: String,
    },
    /// Another file holds the same task and takes precedence.
    #[error("another file of task {task} takes precedence")]
    Shadowed {
        /// The task.
        task: TaskId,
    },
}

impl Unreadable {
    /// Returns whether the file is valid JSON but not a task.
    pub fn is_of_schema(&self) -> bool {
        matches!(
            self,
            Self::NotAnObject { .. } | Self::Missing { .. } | Self::WrongType { .. } | Self::BadStatus { .. }
        )
    }

    /// Returns whether the file may have been read while it was being written. If so, read it again before reporting
    /// it.
    pub fn may_be_torn(&self) -> bool {
        matches!(self, Self::Empty | Self::NotUtf8 { .. } | Self::NotJson { .. })
    }
}

/// Parses the task `id` from the bytes of its file.
pub fn read(id: &TaskId, bytes: &[u8]) -> Result<Task, Unreadable> {
    if bytes.len() as u64 > LARGEST {
        return Err(Unreadable::TooLarge { size: bytes.len() as u64, limit: LARGEST });
    }
    // Nearly every file parses directly. Only JSON from JavaScript that Rust strings cannot represent needs
    // preparation.
    match serde_json::from_slice::<Wire<'_>>(bytes) {
        Ok(wire) => wire.into_task(id),
        Err(_) => {
            let whole = parseable(bytes);
            match serde_json::from_slice::<Wire<'_>>(&whole) {
                Ok(wire) => wire.into_task(id),
                Err(_) => Err(diagnose(&whole)),
            }
        }
    }
}

/// The keys of the file, with the types the client requires.
#[derive(Default)]
struct Wire<'a> {
    id: Option<Cow<'a, str>>,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    owner: Option<String>,
    status: Option<Cow<'a, str>>,
    blocks: Option<Vec<String>>,
    blocked_by: Option<Vec<String>>,
    metadata: Option<Metadata>,
    extra: Map<String, Value>,
}

impl Wire<'_> {
    fn into_task(self, id: &TaskId) -> Result<Task, Unreadable> {
        let missing = |key| Unreadable::Missing { key };
        let stated = self.id.ok_or(missing("id"))?;
        let status = self.status.ok_or(missing("status"))?;
        Ok(Task {
            stated_id: (stated != id.as_str()).then(|| stated.into_owned()),
            id: id.clone(),
            subject: self.subject.ok_or(missing("subject"))?,
            description: self.description.ok_or(missing("description"))?,
            active_form: self.active_form,
            owner: self.owner,
            status: status.parse().map_err(|_| Unreadable::BadStatus { found: status.into_owned() })?,
            blocks: self.blocks.ok_or(missing("blocks"))?.into_iter().map(TaskId::stored).collect(),
            blocked_by: self.blocked_by.ok_or(missing("blockedBy"))?.into_iter().map(TaskId::stored).collect(),
            metadata: self.metadata,
            extra: self.extra,
        })
    }
}

impl<'de> Deserialize<'de> for Wire<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(WireVisitor)
    }
}

struct WireVisitor;

impl<'de> Visitor<'de> for WireVisitor {
    type Value = Wire<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a task")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut wire = Wire::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match &*key.0 {
                "id" => wire.id = Some(map.next_value::<Key<'de>>()?.0),
                "subject" => wire.subject = Some(map.next_value()?),
                "description" => wire.description = Some(map.next_value()?),
                "activeForm" => wire.active_form = Some(map.next_value()?),
                "owner" => wire.owner = Some(map.next_value()?),
                "status" => wire.status = Some(map.next_value::<Key<'de>>()?.0),
                "blocks" => wire.blocks = Some(map.next_value()?),
                "blockedBy" => wire.blocked_by = Some(map.next_value()?),
                "metadata" => wire.metadata = Some(map.next_value()?),
                _ => {
                    wire.extra.insert(key.0.into_owned(), map.next_value()?);
                }
            }
        }
        Ok(wire)
    }
}

/// A string, borrowed from the input if it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Finds out why bytes do not parse as a task.
fn diagnose(bytes: &[u8]) -> Unreadable {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Unreadable::Empty;
    }
    if bytes.starts_with("\u{feff}".as_bytes()) {
        return Unreadable::ByteOrderMark;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Unreadable::NotUtf8 { at: error.valid_up_to() },
    };
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Unreadable::NotJson { why: error.to_string() };
    }
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) => return Unreadable::NotJson { why: error.to_string() },
    };
    let Value::Object(object) = &value else {
        return Unreadable::NotAnObject { found: kind(&value) };
    };
    first_wrong_type(object).unwrap_or_else(|| Unreadable::NotJson { why: "a value out of range".to_owned() })
}

fn first_wrong_type(object: &Map<String, Value>) -> Option<Unreadable> {
    type Check = fn(&Value) -> bool;
    let strings: Check = |value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    let checks: [(&'static str, &'static str, bool, Check); 9] = [
        ("id", "a string", true, Value::is_string),
        ("subject", "a string", true, Value::is_string),
        ("description", "a string", true, Value::is_string),
        ("activeForm", "a string", false, Value::is_string),
        ("owner", "a string", false, Value::is_string),
        ("status", "a string", true, Value::is_string),
        ("blocks", "an array of strings", true, strings),
        ("blockedBy", "an array of strings", true, strings),
        ("metadata", "an object", false, Value::is_object),
    ];
    for (key, expected, required, holds) in checks {
        match object.get(key) {
            None if required => return Some(Unreadable::Missing { key }),
            Some(value) if !holds(value) => return Some(Unreadable::WrongType { key, expected, found: kind(value) }),
            _ => {}
        }
    }
    let status = object.get("status")?.as_str()?;
    status.parse::<Status>().is_err().then(|| Unreadable::BadStatus { found: status.to_owned() })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl Image {
    /// Parses the image as the task `id`.
    pub fn task(&self, id: &TaskId) -> Result<Task, Unreadable> {
        read(id, self.bytes())
    }
}

/// The keys the client knows, in the order in which it writes them.
pub(crate) const SCHEMA: [&str; 9] =
    ["id", "subject", "description", "activeForm", "owner", "status", "blocks", "blockedBy", "metadata"];

/// The maximum size of a task file in bytes, for reading and writing.
pub const LARGEST: u64 = 16 * 1024 * 1024;

/// Serializes a task with the client's keys in the client's order. Absent keys are omitted; unknown keys come last.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a>(pub &'a Task);

/// A task. It may have other keys, which are kept as they are.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskKeys<'a> {
    /// The name of its file, which commands accept
    id: &'a str,
    /// The title
    subject: &'a str,
    /// What there is to do
    description: &'a str,
    /// What is being done, while it is in progress
    #[serde(skip_serializing_if = "Option::is_none")]
    active_form: Option<&'a str>,
    /// The agent that has it; empty if none has
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    /// Its state
    status: Status,
    /// The tasks that wait for it
    blocks: Ids<'a>,
    /// The tasks it waits for
    blocked_by: Ids<'a>,
    /// What else is kept with it
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

impl Serialize for Shape<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Task {
            id,
            stated_id: _,
            subject,
            description,
            active_form,
            owner,
            status,
            blocks,
            blocked_by,
            metadata,
            extra,
        } = self.0;
        let keys = TaskKeys {
            id: id.as_str(),
            subject,
            description,
            active_form: active_form.as_deref(),
            owner: owner.as_deref(),
            status: *status,
            blocks: Ids(blocks),
            blocked_by: Ids(blocked_by),
            metadata: metadata.as_ref(),
            extra,
        };
        keys.serialize(serializer)
    }
}

impl JsonSchema for Shape<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Task".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TaskKeys::json_schema(generator)
    }
}

/// Serializes ids as an array of strings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids<'a>(pub &'a [TaskId]);

impl Ids<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Ids<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(TaskId::as_str))
    }
}

impl JsonSchema for Ids<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Ids".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<String>>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::{Unreadable, read};
    use crate::{Status, TaskId};

    fn read_as(id: &str, text: &str) -> Result<crate::Task, Unreadable> {
        read(&TaskId::stored(id), text.as_bytes())
    }

    const WHOLE: &str =
        r#"{"id":"7","subject":"s","description":"d","status":"in_progress","blocks":["8"],"blockedBy":[],"x":1}"#;

    #[test]
    fn unknown_keys_are_kept() {
        let task = read_as("7", WHOLE).unwrap();
        assert_eq!(task.status, Status::InProgress);
        assert_eq!(task.extra["x"], 1);
        assert_eq!(task.stated_id, None);
    }

    #[test]
    fn the_file_name_is_the_id_and_the_stated_one_is_remembered() {
        let task = read_as("70", WHOLE).unwrap();
        assert_eq!((task.id.as_str(), task.shown_id()), ("70", "7"));
    }

    #[test]
    fn each_defect_has_its_name() {
        let wrong = |key, expected, found| Unreadable::WrongType { key, expected, found };
        for (text, problem) in [
            ("", Unreadable::Empty),
            (" \n", Unreadable::Empty),
            ("\u{feff}{}", Unreadable::ByteOrderMark),
            ("[]", Unreadable::NotAnObject { found: "an array" }),
            ("{}", Unreadable::Missing { key: "id" }),
            (&WHOLE.replace(r#""7""#, "7"), wrong("id", "a string", "a number")),
            (&WHOLE.replace(r#"["8"]"#, "[8]"), wrong("blocks", "an array of strings", "an array")),
            (&WHOLE.replace(r#""x":1"#, r#""owner":null"#), wrong("owner", "a string", "null")),
            (&WHOLE.replace("in_progress", "open"), Unreadable::BadStatus { found: "open".into() }),
            (&WHOLE.replace(r#""blockedBy":[],"#, ""), Unreadable::Missing { key: "blockedBy" }),
        ] {
            assert_eq!(read_as("7", text), Err(problem), "{text}");
        }
        assert!(matches!(read_as("7", &WHOLE[..40]), Err(Unreadable::NotJson { .. })));
        assert_eq!(read(&TaskId::number(7), b"{\"id\":\"\xff\"}"), Err(Unreadable::NotUtf8 { at: 7 }));
    }

    #[test]
    fn only_a_file_that_may_be_half_written_counts_as_torn() {
        assert!(read_as("7", &WHOLE[..40]).unwrap_err().may_be_torn());
        assert!(read_as("7", &format!("{WHOLE}tail")).unwrap_err().may_be_torn());
        assert!(!read_as("7", "[]").unwrap_err().may_be_torn());
    }

    #[test]
    fn half_a_surrogate_pair_is_a_task_wherever_it_stands() {
        let text = WHOLE.replace(r#""s""#, r#""Fix \ud83d""#).replace(r#"["8"]"#, r#"["\udc00"]"#);
        let text = text
            .replace(r#""x":1"#, r#""owner":"\ude00\ud83d","metadata":{"\ud83d":["\uDFFF"]},"\ud83d":"\ud83d\ude00""#);
        let task = read_as("7", &text).unwrap();
        assert_eq!((task.subject.as_str(), task.owner()), ("Fix \u{fffd}", Some("\u{fffd}\u{fffd}")));
        assert_eq!(task.blocks, [TaskId::stored("\u{fffd}")]);
        assert_eq!(
            (&task.metadata.unwrap()["\u{fffd}"][0], &task.extra["\u{fffd}"]),
            (&"\u{fffd}".into(), &"😀".into())
        );
        assert!(read_as("7", &text[..60]).unwrap_err().may_be_torn());
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow() {
        let deep = format!(r#"{{"id":"7","metadata":{{"a":{}}}}}"#, "[".repeat(100_000));
        assert!(matches!(read_as("7", &deep), Err(Unreadable::NotJson { .. })));
    }
}
