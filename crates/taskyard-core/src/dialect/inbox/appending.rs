//! Adding a message to an inbox.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::entry::entry;
use super::reading::{BadInbox, entries};
use super::{EMPTY, LARGEST};
use crate::dialect::native::stringify;
use crate::{ClientVersion, Message};

/// How an inbox with messages in it ends.
const END: &[u8] = b"\n]";

/// Returns the bytes of an inbox with a message behind those that are there.
///
/// An inbox as the client writes it is not taken apart: it is looked through to see that it is whole, and the message is put
/// before its last bracket. So appending costs little more than copying, however many messages there are.
pub fn append(bytes: Vec<u8>, message: &Message, version: ClientVersion) -> Result<Vec<u8>, BadInbox> {
    if is_as_the_client_writes(&bytes) {
        check(&bytes)?;
    }
    append_to_whole(bytes, message, version)
}

/// Does the same to an inbox that is known to be whole, and does not look through it.
pub fn append_to_whole(mut bytes: Vec<u8>, message: &Message, version: ClientVersion) -> Result<Vec<u8>, BadInbox> {
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
    bounded(stringify(&Value::Array(all)).into_bytes())
}

/// Tells whether an inbox begins and ends as one that the client writes, with a message in it.
fn is_as_the_client_writes(bytes: &[u8]) -> bool {
    bytes.starts_with(b"[\n  ") && bytes.strip_suffix(END).is_some_and(|front| front.ends_with(b"\n  }"))
}

/// Looks through an inbox without taking anything out of it.
fn check(bytes: &[u8]) -> Result<(), BadInbox> {
    if bytes.len() as u64 > LARGEST {
        return Err(BadInbox::TooLarge { size: bytes.len() as u64 });
    }
    let text =
        std::str::from_utf8(bytes).map_err(|error| BadInbox::NotJson { why: error.to_string(), may_be_torn: false })?;
    serde_json::from_str::<Vec<IgnoredAny>>(text).map(drop).map_err(|error| BadInbox::not_json(&error, bytes))
}

fn indented(value: &Value) -> String {
    stringify(value).replace('\n', "\n  ")
}

fn bounded(bytes: Vec<u8>) -> Result<Vec<u8>, BadInbox> {
    let size = bytes.len() as u64;
    if size > LARGEST { Err(BadInbox::TooLarge { size }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::append;
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
    fn appending_to_any_form_gives_what_writing_everything_anew_would_give() {
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
    fn nothing_is_appended_to_what_is_not_whole() {
        let whole = append(b"[]".to_vec(), &message("a"), ClientVersion::V2_1_325).unwrap();
        let whole = append(whole, &message("b"), ClientVersion::V2_1_325).unwrap();
        assert_eq!(read(&whole).unwrap().messages.len(), 2);
        // A new text with the end of the old one behind it, and one cut off.
        let torn = [&whole[..], &whole[whole.len() / 2..]].concat();
        assert!(append(torn, &message("c"), ClientVersion::V2_1_325).unwrap_err().may_be_torn());
        assert!(append(whole[..whole.len() - 9].to_vec(), &message("c"), ClientVersion::V2_1_325).is_err());
        assert!(append(Vec::new(), &message("c"), ClientVersion::V2_1_325).unwrap_err().may_be_torn());
    }
}
