//! One message as its object in an inbox.

use serde_json::{Map, Value};

use crate::{ClientVersion, Message};

/// Returns a new message as the client of that version writes it, keys in its order.
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

/// Reads a message from its object; none where it is no message.
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
