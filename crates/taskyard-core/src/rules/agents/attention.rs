//! What an agent attends to first.

use crate::dialect::inbox::read_protocol;
use crate::{Message, Protocol};

/// How soon something is attended to: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A request to end.
    Shutdown,
    /// What the lead says.
    Lead,
    /// What other members say.
    Others,
}

/// Returns how soon a message is attended to.
pub fn urgency(message: &Message, lead: &str) -> Urgency {
    match read_protocol(&message.text) {
        Some(Protocol::ShutdownRequest { .. }) => Urgency::Shutdown,
        _ if message.from == lead => Urgency::Lead,
        _ => Urgency::Others,
    }
}

/// Returns the message to attend to first: a request to end, then the lead's oldest, then the oldest of all. A task comes
/// after all of them.
pub fn first<'a>(messages: impl IntoIterator<Item = &'a Message>, lead: &str) -> Option<&'a Message> {
    // `min_by_key` returns the first of several that are least.
    messages.into_iter().min_by_key(|message| urgency(message, lead))
}

#[cfg(test)]
mod tests {
    use super::first;
    use crate::Message;

    fn message(from: &str, text: &str) -> Message {
        Message {
            from: from.into(),
            text: text.into(),
            summary: None,
            timestamp: String::new(),
            color: None,
            msg_id: None,
            read: false,
        }
    }

    #[test]
    fn requests_to_end_come_first_then_the_lead_then_others_and_the_oldest_of_each() {
        let end = r#"{"type":"shutdown_request","requestId":"r","from":"team-lead","timestamp":"t"}"#;
        let mut messages = vec![
            message("ana", "1"),
            message("team-lead", "2"),
            message("ana", "3"),
            message("team-lead", "4"),
            message("team-lead", end),
        ];
        let mut order = Vec::new();
        while let Some(next) = first(&messages, "team-lead").cloned() {
            let place = messages.iter().position(|message| *message == next).unwrap();
            order.push(messages.remove(place).text);
        }
        assert_eq!(order, [end, "2", "4", "1", "3"]);
    }
}
