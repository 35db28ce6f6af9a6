//! The shape of a message in our JSON output, specified in `docs/formats/json-output.md`.

use serde_json::{Value, json};
use taskyard::core::tools::inbox_read;
use taskyard::teams::Delivery;

/// Returns a message for programs.
pub(crate) fn message_shape(delivery: &Delivery) -> Value {
    let message = &delivery.message;
    json!({
        "id": inbox_read::id(delivery),
        "from": message.from,
        "text": message.text,
        "summary": message.summary,
        "timestamp": message.timestamp,
        "color": message.color,
        "repeats": delivery.keys.len().saturating_sub(1),
    })
}
