//! What can still be read of an inbox that is not whole.

use std::collections::HashSet;

use serde_json::Value;

use super::entry::message;
use crate::dialect::native::stringify;
use crate::json_text::parseable;

/// What was saved of an inbox that is not whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Salvaged {
    /// An inbox that is whole, with what could be read.
    pub bytes: Vec<u8>,
    /// How many messages are in it.
    pub messages: usize,
}

/// Saves every message of an inbox that is there in full, in its order and each once. Whatever stands between them is left out.
///
/// A client that writes in place and is killed leaves the beginning of a text, or a new one with the end of the old one behind it.
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
    fn of_a_new_text_with_the_end_of_the_old_one_behind_it_both_are_saved_and_nothing_twice() {
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
