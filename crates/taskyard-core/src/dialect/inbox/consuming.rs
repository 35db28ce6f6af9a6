//! Taking messages that were read out of an inbox, as each client does it.

use std::collections::HashSet;

use serde_json::Value;

use super::entry::message;
use super::reading::{BadInbox, entries};
use crate::dialect::native::stringify;
use crate::json_text::print_over_as_javascript;
use crate::{ClientVersion, MessageKey, Rules};

/// What becomes of a message that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It stays, marked as read.
    Marked,
    /// It goes.
    Removed,
    /// What has an id goes, and the rest is marked: as the client that wrote each would do.
    AsWritten,
}

/// Returns what becomes of read messages under these rules.
pub fn manner(rules: Rules) -> Manner {
    match rules {
        Rules::Strict => Manner::AsWritten,
        Rules::Client(ClientVersion::V2_1_34) => Manner::Marked,
        Rules::Client(ClientVersion::V2_1_325) => Manner::Removed,
    }
}

/// An inbox after messages were taken out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumed {
    /// Its bytes; none where nothing is different.
    pub bytes: Option<Vec<u8>>,
    /// The messages that were there and unread.
    pub taken: HashSet<MessageKey>,
    /// What was no message and has been taken out, where that was asked for.
    pub set_aside: Vec<Value>,
}

/// Takes the messages out of an inbox that count as read. What is no message stays where it is, unless it is to be set aside.
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

#[cfg(test)]
mod tests {
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
    fn read_messages_are_marked_by_the_old_client_and_removed_by_the_new_one() {
        let told =
            |words: &[(&str, bool)]| words.iter().map(|(text, read)| ((*text).to_owned(), *read)).collect::<Vec<_>>();
        assert_eq!(left(Manner::Marked), told(&[("old", true), ("foreign", false), ("new", true), ("other", false)]));
        assert_eq!(left(Manner::Removed), told(&[("foreign", false), ("other", false)]));
        assert_eq!(left(Manner::AsWritten), told(&[("old", true), ("foreign", false), ("other", false)]));
    }

    #[test]
    fn what_is_no_message_is_set_aside_when_asked_for_and_nothing_else_changes() {
        let consumed = consume(&inbox(), |_| false, Manner::Removed, true).unwrap();
        assert_eq!(consumed.set_aside, [json!("foreign")]);
        let left: Vec<Value> = serde_json::from_slice(&consumed.bytes.unwrap()).unwrap();
        assert_eq!((left.len(), &left[0]["extra"]), (3, &json!(1)));
        assert_eq!(consume(&inbox(), |_| false, Manner::Marked, false).unwrap().bytes, None);
    }
}
