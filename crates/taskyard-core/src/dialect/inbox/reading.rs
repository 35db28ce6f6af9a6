//! From the bytes of an inbox to its messages.

use serde_json::Value;

use super::entry::message;
use crate::json_text::from_slice;
use crate::{Message, SpecialFile};

/// What a new inbox holds.
pub const EMPTY: &str = "[]";

/// The largest inbox we read or write.
pub const LARGEST: u64 = 256 * 1024 * 1024;

/// Why an inbox cannot be read. It is then never rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadInbox {
    /// It is no JSON; perhaps it is being written this moment.
    #[error("no JSON: {why}")]
    NotJson {
        /// What the parser said.
        why: String,
        /// Whether it may be in the middle of being written.
        may_be_torn: bool,
    },
    /// It is JSON, and no list.
    #[error("a JSON {kind} and no list of messages")]
    NotAList {
        /// What it is.
        kind: &'static str,
    },
    /// It is larger than we read.
    #[error("{size} bytes are too many (the limit is {LARGEST})")]
    TooLarge {
        /// How large it is.
        size: u64,
    },
    /// It is no regular file.
    #[error("it is {found}, not a regular file")]
    NotAFile {
        /// What it is.
        found: SpecialFile,
    },
}

impl BadInbox {
    /// Tells whether another look in a moment may find it whole.
    pub fn may_be_torn(&self) -> bool {
        matches!(self, Self::NotJson { may_be_torn: true, .. })
    }

    pub(super) fn not_json(error: &serde_json::Error, bytes: &[u8]) -> Self {
        // A client that writes in place leaves an empty file, the beginning of one, or a new one with the end of the old behind it.
        let is_behind = bytes.first() == Some(&b'[');
        Self::NotJson { why: error.to_string(), may_be_torn: error.is_eof() || bytes.is_empty() || is_behind }
    }
}

/// What an inbox holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// What lies among them and is none.
    pub malformed: Vec<Value>,
}

/// Reads an inbox.
pub fn read(bytes: &[u8]) -> Result<Contents, BadInbox> {
    let mut contents = Contents::default();
    for entry in entries(bytes)? {
        match message(&entry) {
            Some(message) => contents.messages.push(message),
            None => contents.malformed.push(entry),
        }
    }
    Ok(contents)
}

/// Returns the entries of an inbox, messages or not.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Value>, BadInbox> {
    if bytes.len() as u64 > LARGEST {
        return Err(BadInbox::TooLarge { size: bytes.len() as u64 });
    }
    let value: Value = from_slice(bytes).map_err(|error| BadInbox::not_json(&error, bytes))?;
    match value {
        Value::Array(entries) => Ok(entries),
        Value::Object(_) => Err(BadInbox::NotAList { kind: "object" }),
        Value::String(_) => Err(BadInbox::NotAList { kind: "text" }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Err(BadInbox::NotAList { kind: "value" }),
    }
}

#[cfg(test)]
mod tests {
    use super::{BadInbox, read};

    #[test]
    fn messages_of_both_generations_are_read_and_what_is_none_is_told_apart() {
        let text = r#"[{"from":"ana","text":"a","timestamp":"t","read":true},7,
            {"from":"ben","text":"b","timestamp":"t","msgV":1,"msg_id":"x","type":"message","read":false,"new":[1]},
            {"from":"eve","text":5,"timestamp":"t"}]"#;
        let contents = read(text.as_bytes()).unwrap();
        assert_eq!(contents.messages.iter().map(|message| message.from.as_str()).collect::<Vec<_>>(), ["ana", "ben"]);
        assert_eq!((contents.messages[0].read, contents.messages[1].msg_id.as_deref()), (true, Some("x")));
        assert_eq!(contents.malformed.len(), 2);
    }

    #[test]
    fn an_inbox_in_the_middle_of_being_written_is_told_from_one_that_is_none() {
        for torn in ["", "[", r#"[{"from":"#, "[]\n  }\n]"] {
            assert!(read(torn.as_bytes()).unwrap_err().may_be_torn(), "{torn}");
        }
        for other in ["hello", "{}", "7", "\"x\""] {
            assert!(!read(other.as_bytes()).unwrap_err().may_be_torn(), "{other}");
        }
        assert_eq!(read(b"{}"), Err(BadInbox::NotAList { kind: "object" }));
    }
}
