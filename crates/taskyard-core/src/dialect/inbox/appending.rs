//! Adding a message to an inbox.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::entry::entry;
use super::reading::{BadInbox, EMPTY, LARGEST, entries};
use crate::dialect::native::stringify;
use crate::json_text::print_over_as_javascript;
use crate::{ClientVersion, Message};

/// How an inbox with messages in it ends.
const END: &[u8] = b"\n]";

/// Returns the bytes of an inbox with a message behind those that are there.
///
/// An inbox that begins and ends as the client writes it is not taken apart: the message is put before its last bracket. So
/// appending costs little more than copying, however many messages there are. Whether it was whole, [`is_whole`] tells as well of the
/// inbox with the message, and can do so while that is being written.
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

/// Tells whether an inbox begins and ends as one that the client writes, with a message in it.
fn is_as_the_client_writes(bytes: &[u8]) -> bool {
    bytes.starts_with(b"[\n  ") && bytes.strip_suffix(END).is_some_and(|front| front.ends_with(b"\n  }"))
}

/// Tells whether an inbox can be read, without taking anything out of it. With a message appended to it, it is whole where it was so
/// before.
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

#[cfg(test)]
mod tests {
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
