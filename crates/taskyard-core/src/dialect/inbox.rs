//! Claude Code's inboxes: one JSON array of messages per agent, specified in `docs/formats/teams.md`.

use std::collections::HashSet;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

pub use crate::dialect::message_protocol::{read_protocol, write_protocol};
use crate::dialect::native::stringify;
use crate::json_text::{from_slice, parseable, print_over_as_javascript};
use crate::{ClientVersion, Message, MessageKey, Rules, SpecialFile};

/// The contents of an empty inbox.
pub const EMPTY: &str = "[]";

/// The maximum size of an inbox in bytes, for reading and writing.
pub const LARGEST: u64 = 256 * 1024 * 1024;

/// Why an inbox cannot be read. Such an inbox is never rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadInbox {
    /// It is not valid JSON; it may have been read during a write.
    #[error("no JSON: {why}")]
    NotJson {
        /// The parser's message.
        why: String,
        /// Whether it may have been read during a write.
        may_be_torn: bool,
    },
    /// It is JSON, but not an array.
    #[error("a JSON {kind}, not a list of messages")]
    NotAList {
        /// The actual type.
        kind: &'static str,
    },
    /// It exceeds the size limit.
    #[error("{size} bytes are too large (the limit is {LARGEST})")]
    TooLarge {
        /// The size in bytes.
        size: u64,
    },
    /// It is not a regular file.
    #[error("it is {found}, not a regular file")]
    NotAFile {
        /// The type of the file.
        found: SpecialFile,
    },
}

impl BadInbox {
    /// Returns whether reading it again shortly may succeed.
    pub fn may_be_torn(&self) -> bool {
        matches!(self, Self::NotJson { may_be_torn: true, .. })
    }

    fn not_json(error: &serde_json::Error, bytes: &[u8]) -> Self {
        // A client that writes in place can leave an empty file, a truncated one, or a new one followed by the end of
        // the old one.
        let is_behind = bytes.first() == Some(&b'[');
        Self::NotJson { why: error.to_string(), may_be_torn: error.is_eof() || bytes.is_empty() || is_behind }
    }
}

/// The contents of an inbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The elements that are not messages.
    pub malformed: Vec<Value>,
}

/// Parses an inbox.
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

/// Returns all elements of an inbox, including those that are not messages.
fn entries(bytes: &[u8]) -> Result<Vec<Value>, BadInbox> {
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

/// Serializes a new message as this version of the client does, with the keys in its order.
pub fn entry(message: &Message, version: ClientVersion) -> Map<String, Value> {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            entry.insert(key.to_owned(), value);
        }
    };
    let text = |text: &String| Value::String(text.clone());
    put("from", Some(text(&message.from)));
    put("text", Some(text(&message.text)));
    put("summary", message.summary.as_ref().map(text));
    put("timestamp", Some(text(&message.timestamp)));
    put("color", message.color.as_ref().map(text));
    if version >= ClientVersion::V2_1_325 {
        put("msgV", message.msg_id.as_ref().map(|_| 1.into()));
        put("msg_id", message.msg_id.as_ref().map(text));
        put("type", Some("message".into()));
    }
    put("read", Some(message.read.into()));
    entry
}

/// Parses a message. Returns `None` if the value is not a message.
pub(super) fn message(entry: &Value) -> Option<Message> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Message {
        from: text("from")?,
        text: text("text")?,
        summary: text("summary"),
        timestamp: text("timestamp")?,
        color: text("color"),
        msg_id: text("msg_id"),
        read: entry.get("read").and_then(Value::as_bool).unwrap_or(false),
    })
}

/// The end of a non-empty inbox as the client writes it.
const END: &[u8] = b"\n]";

/// Returns the bytes of an inbox with a message appended.
///
/// If the inbox begins and ends as the client writes it, it is not parsed: the message is inserted before the last
/// bracket. Appending therefore costs little more than a copy, however many messages there are. The caller checks
/// with [`is_whole`] whether the inbox was valid; the check gives the same answer for the new bytes and can run while
/// they are being written.
pub fn append(mut bytes: Vec<u8>, message: &Message, version: ClientVersion) -> Result<Vec<u8>, BadInbox> {
    let new = Value::Object(entry(message, version));
    if is_as_the_client_writes(&bytes) {
        bytes.truncate(bytes.len() - END.len());
        bytes.extend_from_slice(b",\n  ");
        bytes.extend_from_slice(indented(&new).as_bytes());
        bytes.extend_from_slice(END);
        return bounded(bytes);
    }
    if bytes == EMPTY.as_bytes() {
        return bounded(format!("[\n  {}\n]", indented(&new)).into_bytes());
    }
    let mut all = entries(&bytes)?;
    all.push(new);
    bounded(print_over_as_javascript(Some(&bytes), &Value::Array(all), stringify).into_bytes())
}

/// Returns whether an inbox begins and ends like a non-empty one written by the client.
fn is_as_the_client_writes(bytes: &[u8]) -> bool {
    bytes.starts_with(b"[\n  ") && bytes.strip_suffix(END).is_some_and(|front| front.ends_with(b"\n  }"))
}

/// Returns whether an inbox is valid, without extracting messages. Appending a message does not change the answer.
pub fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= LARGEST
        && std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<Vec<IgnoredAny>>(text).is_ok())
}

fn indented(value: &Value) -> String {
    stringify(value).replace('\n', "\n  ")
}

fn bounded(bytes: Vec<u8>) -> Result<Vec<u8>, BadInbox> {
    let size = bytes.len() as u64;
    if size > LARGEST { Err(BadInbox::TooLarge { size }) } else { Ok(bytes) }
}

/// What happens to a message after it has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It stays and is marked as read.
    Marked,
    /// It is removed.
    Removed,
    /// It is removed if it has an id and marked otherwise, as the client that wrote it would do.
    AsWritten,
}

/// Returns what happens to read messages under these rules.
pub fn manner(rules: Rules) -> Manner {
    match rules {
        Rules::Strict => Manner::AsWritten,
        Rules::Client(ClientVersion::V2_1_34) => Manner::Marked,
        Rules::Client(ClientVersion::V2_1_325) => Manner::Removed,
    }
}

/// The result of [`consume`].
#[derive(Clone, Debug, PartialEq)]
pub struct Consumed {
    /// The new contents; `None` if nothing changed.
    pub bytes: Option<Vec<u8>>,
    /// The consumed messages that were unread before.
    pub taken: HashSet<MessageKey>,
    /// The elements removed because they are not messages, if the caller asked for that.
    pub set_aside: Vec<Value>,
}

/// Removes or marks the messages that `is_read` selects. Elements that are not messages stay in place unless
/// `sets_aside` is true.
pub fn consume(
    bytes: &[u8],
    is_read: impl Fn(&MessageKey) -> bool,
    manner: Manner,
    sets_aside: bool,
) -> Result<Consumed, BadInbox> {
    let mut consumed = Consumed { bytes: None, taken: HashSet::new(), set_aside: Vec::new() };
    let mut kept = Vec::new();
    let mut is_different = false;
    for mut entry in entries(bytes)? {
        let Some(message) = message(&entry) else {
            is_different |= sets_aside;
            let place = if sets_aside { &mut consumed.set_aside } else { &mut kept };
            place.push(entry);
            continue;
        };
        let key = message.key();
        if !is_read(&key) {
            kept.push(entry);
            continue;
        }
        let goes = match manner {
            Manner::Marked => false,
            Manner::Removed => true,
            Manner::AsWritten => message.msg_id.is_some(),
        };
        is_different |= goes || !message.read;
        if !message.read {
            consumed.taken.insert(key);
        }
        if !goes {
            entry["read"] = Value::Bool(true);
            kept.push(entry);
        }
    }
    consumed.bytes =
        is_different.then(|| print_over_as_javascript(Some(bytes), &Value::Array(kept), stringify).into_bytes());
    Ok(consumed)
}

/// What could be recovered from a damaged inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Salvaged {
    /// A valid inbox with the recovered messages.
    pub bytes: Vec<u8>,
    /// The number of recovered messages.
    pub messages: usize,
}

/// Recovers every complete message of a damaged inbox, in order and without duplicates. Everything else is dropped.
///
/// A client that writes in place and is killed leaves a truncated text, or a new one followed by the end of the old
/// one.
pub fn salvage(bytes: &[u8]) -> Salvaged {
    let bytes = &*parseable(bytes);
    let mut kept: Vec<Value> = Vec::new();
    let mut seen = HashSet::new();
    let mut at = 0;
    while let Some(brace) = bytes[at..].iter().position(|byte| *byte == b'{') {
        at += brace;
        let mut values = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(entry)) => {
                if let Some(message) = message(&entry)
                    && seen.insert(message.key())
                {
                    kept.push(entry);
                }
                at += values.byte_offset().max(1);
            }
            _ => at += 1,
        }
    }
    Salvaged { messages: kept.len(), bytes: stringify(&Value::Array(kept)).into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::{BadInbox, read};

    #[test]
    fn messages_of_both_generations_are_read_and_invalid_told() {
        let text = r#"[{"from":"ana","text":"a","timestamp":"t","read":true},7,
            {"from":"ben","text":"b","timestamp":"t","msgV":1,"msg_id":"x","type":"message","read":false,"new":[1]},
            {"from":"eve","text":5,"timestamp":"t"}]"#;
        let contents = read(text.as_bytes()).unwrap();
        assert_eq!(contents.messages.iter().map(|message| message.from.as_str()).collect::<Vec<_>>(), ["ana", "ben"]);
        assert_eq!((contents.messages[0].read, contents.messages[1].msg_id.as_deref()), (true, Some("x")));
        assert_eq!(contents.malformed.len(), 2);
    }

    #[test]
    fn half_written_inbox_is_told_apart_from_invalid_one() {
        for torn in ["", "[", r#"[{"from":"#, "[]\n  }\n]"] {
            assert!(read(torn.as_bytes()).unwrap_err().may_be_torn(), "{torn}");
        }
        for other in ["hello", "{}", "7", "\"x\""] {
            assert!(!read(other.as_bytes()).unwrap_err().may_be_torn(), "{other}");
        }
        assert_eq!(read(b"{}"), Err(BadInbox::NotAList { kind: "object" }));
    }
}

#[cfg(test)]
mod appending_tests {
    use serde_json::{Value, json};

    use super::{append, is_whole};
    use crate::dialect::inbox::read;
    use crate::dialect::native::stringify;
    use crate::{ClientVersion, Message};

    fn message(text: &str) -> Message {
        Message {
            from: "ana".into(),
            text: text.into(),
            summary: Some("hi\nthere".into()),
            timestamp: "2026-11-15T00:56:34.105Z".into(),
            color: None,
            msg_id: Some("x".into()),
            read: false,
        }
    }

    #[test]
    fn the_first_message_is_written_as_each_client_writes_it() {
        let old = append(b"[]".to_vec(), &message("hello"), ClientVersion::V2_1_34).unwrap();
        let recorded = "[\n  {\n    \"from\": \"ana\",\n    \"text\": \"hello\",\n    \"summary\": \"hi\\nthere\",\n    \
                        \"timestamp\": \"2026-11-15T00:56:34.105Z\",\n    \"read\": false\n  }\n]";
        assert_eq!(String::from_utf8(old).unwrap(), recorded);
        let new = append(b"[]".to_vec(), &message("hello"), ClientVersion::V2_1_325).unwrap();
        let tail = "\"msgV\": 1,\n    \"msg_id\": \"x\",\n    \"type\": \"message\",\n    \"read\": false\n  }\n]";
        assert!(String::from_utf8(new).unwrap().ends_with(tail));
    }

    #[test]
    fn appending_equals_writing_everything_anew() {
        let foreign = json!([{"from": "b", "zz": {"deep": [1, 2]}, "text": "]\n  }"}, {"a": []}]);
        for before in [stringify(&foreign), foreign.to_string(), "[]".into(), " [ ] ".into(), "[\n  1\n]".into()] {
            let after = append(before.clone().into_bytes(), &message("x\u{2028}é😀"), ClientVersion::V2_1_325).unwrap();
            let value: Value = serde_json::from_slice(&after).unwrap();
            assert_eq!(String::from_utf8(after).unwrap(), stringify(&value), "{before}");
            let count = serde_json::from_str::<Vec<Value>>(&before).unwrap().len();
            assert_eq!(value.as_array().unwrap().len(), count + 1);
        }
    }

    #[test]
    fn two_messages_are_two() {
        let one = append(b"[]".to_vec(), &message("a"), ClientVersion::V2_1_325).unwrap();
        let two = append(one, &message("b"), ClientVersion::V2_1_325).unwrap();
        assert_eq!(read(&two).unwrap().messages.len(), 2);
        assert!(append(Vec::new(), &message("c"), ClientVersion::V2_1_325).unwrap_err().may_be_torn());
    }

    #[test]
    fn what_was_not_whole_is_not_whole_with_a_message_behind_it() {
        let whole = append(b"[]".to_vec(), &message("a ]\n  }\n]"), ClientVersion::V2_1_325).unwrap();
        let whole = append(whole, &message("b"), ClientVersion::V2_1_325).unwrap();
        for cut in 0..whole.len() {
            for end in [&b"\n  }\n]"[..], b"", b"}\n  }\n]", b"]\n  }\n]"] {
                let torn = [&whole[..cut], end].concat();
                let Ok(appended) = append(torn.clone(), &message("c"), ClientVersion::V2_1_325) else {
                    continue;
                };
                assert_eq!(is_whole(&appended), is_whole(&torn), "{:?}", String::from_utf8_lossy(&torn));
            }
        }
    }
}

#[cfg(test)]
mod consuming_tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::{Manner, consume};
    use crate::MessageKey;

    fn inbox() -> Vec<u8> {
        json!([
            {"from": "ana", "text": "old", "timestamp": "1", "read": false, "extra": 1},
            "foreign",
            {"from": "ana", "text": "new", "timestamp": "2", "msgV": 1, "msg_id": "x", "read": false},
            {"from": "ben", "text": "other", "timestamp": "3", "msg_id": "y", "read": false},
        ])
        .to_string()
        .into_bytes()
    }

    fn keys() -> HashSet<MessageKey> {
        HashSet::from([MessageKey::Id("x".into()), MessageKey::Words("ana".into(), "1".into(), "old".into())])
    }

    fn left(manner: Manner) -> Vec<(String, bool)> {
        let consumed = consume(&inbox(), |key| keys().contains(key), manner, false).unwrap();
        assert_eq!(consumed.taken, keys());
        let left: Vec<Value> = serde_json::from_slice(&consumed.bytes.unwrap()).unwrap();
        let told = |entry: &Value| {
            (entry["text"].as_str().unwrap_or("foreign").to_owned(), entry["read"].as_bool().unwrap_or(false))
        };
        left.iter().map(told).collect()
    }

    #[test]
    fn read_messages_are_marked_by_old_client_removed_by_new() {
        let told =
            |words: &[(&str, bool)]| words.iter().map(|(text, read)| ((*text).to_owned(), *read)).collect::<Vec<_>>();
        assert_eq!(left(Manner::Marked), told(&[("old", true), ("foreign", false), ("new", true), ("other", false)]));
        assert_eq!(left(Manner::Removed), told(&[("foreign", false), ("other", false)]));
        assert_eq!(left(Manner::AsWritten), told(&[("old", true), ("foreign", false), ("other", false)]));
    }

    #[test]
    fn invalid_message_is_set_aside_only_on_request() {
        let consumed = consume(&inbox(), |_| false, Manner::Removed, true).unwrap();
        assert_eq!(consumed.set_aside, [json!("foreign")]);
        let left: Vec<Value> = serde_json::from_slice(&consumed.bytes.unwrap()).unwrap();
        assert_eq!((left.len(), &left[0]["extra"]), (3, &json!(1)));
        assert_eq!(consume(&inbox(), |_| false, Manner::Marked, false).unwrap().bytes, None);
    }
}

#[cfg(test)]
mod salvaging_tests {
    use serde_json::{Value, json};

    use super::salvage;
    use crate::dialect::native::stringify;

    fn message(number: usize) -> Value {
        json!({"from": "ana", "text": format!("{{\"n\":{number}}} [ ] {{"), "timestamp": "t", "msg_id": format!("m{number}"),
            "read": false, "more": {"from": 1}})
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        let saved = salvage(bytes);
        let entries: Vec<Value> = serde_json::from_slice(&saved.bytes).unwrap();
        assert_eq!(entries.len(), saved.messages);
        entries.iter().map(|entry| entry["msg_id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn of_a_text_that_is_cut_off_everything_before_the_cut_is_saved() {
        let whole = stringify(&json!([message(1), message(2), message(3)]));
        let (mut most, ends) = (0, [(whole.len(), 3)]);
        for cut in 0..whole.len() {
            let saved = texts(&whole.as_bytes()[..cut]);
            let expected: Vec<String> = (1..=saved.len()).map(|number| format!("m{number}")).collect();
            assert_eq!(saved, expected, "cut at {cut}");
            assert!(saved.len() >= most, "cut at {cut}");
            most = saved.len();
        }
        for (end, count) in ends {
            assert_eq!(texts(&whole.as_bytes()[..end]).len(), count);
        }
    }

    #[test]
    fn two_saved_texts_with_shared_end_are_kept_without_repeat() {
        let old = stringify(&json!([message(1), message(2), message(3)]));
        let new = stringify(&json!([message(2)]));
        let torn = [new.as_bytes(), &old.as_bytes()[new.len()..]].concat();
        assert_eq!(texts(&torn), ["m2", "m3"]);
    }

    #[test]
    fn what_holds_no_message_saves_none() {
        for text in ["", "{", "[7, {\"a\": 1}", "\u{fffd}{{{{", "{\"from\":\"a\"}"] {
            assert_eq!(salvage(text.as_bytes()).messages, 0, "{text}");
        }
        assert_eq!(salvage(b"{}").bytes, b"[]");
    }
}
