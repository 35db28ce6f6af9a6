//! The `InboxRead` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::dialect::inbox::read_protocol;
use crate::rules::hooks::System;
use crate::rules::teams::mailing::Delivery;
use crate::tools::tool_answer::{LONGEST, units};
use crate::{Message, Protocol, Rules};

/// Shows the messages for the caller.
pub(crate) const TOOL: Tool = Tool {
    name: "InboxRead",
    description: "Read the messages your team wrote to you. Each comes again until you acknowledge its id here, so acknowledge \
        what you have dealt with.",
    input: Object {
        fields: &[
            Field::optional("acknowledge", Shape::List(&Shape::Text)).saying("Ids of messages you have dealt with")
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("messages", Shape::List(&Shape::Text)),
        Field::optional("acknowledged", Shape::Integer),
    ]),
    annotations: Annotations::SETTLES,
    scope: Scope::Work,
    set: ToolSet::Team,
    system: System::Tasks,
};

/// Parses an input: the ids of the messages to acknowledge.
pub fn read(input: &Value, rules: Rules) -> Result<Vec<String>, InputError> {
    let mut fields = TOOL.check(input, None, rules)?;
    let ids = fields.list("acknowledge").into_iter();
    Ok(ids.filter_map(|id| id.as_str().map(str::to_owned)).collect())
}

/// Returns the answer: messages as the client presents them to a model, with the ids that acknowledge them. Messages
/// that do not fit follow after the first ones have been acknowledged.
pub fn shown(deliveries: &[Delivery], acknowledged: usize) -> Answer {
    let mut texts: Vec<String> = Vec::new();
    let mut length = 0;
    for delivery in deliveries {
        let text = tagged(&delivery.message, Some(&delivery.id()));
        length += units(&text) + 2;
        if length > LONGEST - ROOM_FOR_NOTICE && !texts.is_empty() {
            break;
        }
        texts.push(text);
    }
    let ids: Vec<String> = deliveries.iter().take(texts.len()).map(Delivery::id).collect();
    match deliveries.len() - texts.len() {
        0 if texts.is_empty() => texts.push("No new messages.".to_owned()),
        0 => {}
        more => texts.push(format!("[{more} more; acknowledge these to get them]")),
    }
    Answer::new(texts.join("\n\n"), json!({ "messages": ids, "acknowledged": acknowledged }))
}

/// Characters reserved for the line about messages that do not fit.
const ROOM_FOR_NOTICE: usize = 200;

/// Returns the answer if the caller is not in a team.
pub fn alone() -> Answer {
    Answer::new("You are not in a team, so you have no messages.", json!({ "messages": [] }))
}

/// Formats a message as the client presents it to a model.
pub fn tagged(message: &Message, id: Option<&str>) -> String {
    let attribute = |name: &str, value: Option<&str>| {
        let value = value.filter(|value| !value.is_empty());
        value.map(|value| format!(" {name}=\"{}\"", value.replace('"', "&quot;"))).unwrap_or_default()
    };
    let advice = match read_protocol(&message.text) {
        Some(Protocol::ShutdownRequest { request, from, .. }) => format!(
            "\n\nThis is a shutdown request. To approve it, call SendMessage with exactly this input, where \"message\" is a JSON \
             object rather than a string: {{\"to\":\"{from}\",\"message\":{{\"type\":\"shutdown_response\",\"request_id\":\
             \"{request}\",\"approve\":true}}}}. Approving ends your process; a plain-text acknowledgment does not shut you \
             down. To decline, for example because you're mid-task, send the same input with \"approve\": false and a \
             \"reason\"."
        ),
        _ => String::new(),
    };
    // The client repeats a summary whatever it says.
    let summary = if id.is_some() { message.telling_summary() } else { message.summary.as_deref() };
    format!(
        "<teammate-message teammate_id=\"{}\"{}{}{}>\n{}{advice}\n</teammate-message>",
        message.from,
        attribute("color", message.color.as_deref()),
        attribute("summary", summary),
        attribute("id", id),
        message.text,
    )
}

#[cfg(test)]
mod tests {
    use super::{shown, tagged};
    use crate::Message;
    use crate::rules::teams::mailing::Delivery;

    #[test]
    fn overflow_messages_follow_once_first_are_acknowledged() {
        let delivery = |number: usize| {
            let message = Message {
                from: "bob".into(),
                text: "x".repeat(30_000),
                summary: None,
                timestamp: "t".into(),
                color: None,
                msg_id: Some(format!("m{number}")),
                read: false,
            };
            Delivery { message, keys: Vec::new() }
        };
        let waiting: Vec<Delivery> = (1..=5).map(delivery).collect();
        let answer = shown(&waiting, 0);
        assert!(answer.text.ends_with("</teammate-message>\n\n[2 more; acknowledge these to get them]"));
        assert_eq!(answer.structured.unwrap()["messages"], serde_json::json!(["m1", "m2", "m3"]));
        assert!(shown(&waiting[3..], 3).text.ends_with("x\n</teammate-message>"));
    }

    #[test]
    fn a_message_is_put_before_a_model_as_the_client_does_it() {
        let message = Message {
            from: "bob".into(),
            text: "T1 done".into(),
            summary: Some("t1 done".into()),
            timestamp: "t".into(),
            color: Some("blue".into()),
            msg_id: None,
            read: false,
        };
        assert_eq!(
            tagged(&message, None),
            "<teammate-message teammate_id=\"bob\" color=\"blue\" summary=\"t1 done\">\nT1 done\n</teammate-message>"
        );
        let text = r#"{"type":"shutdown_request","requestId":"shutdown-1794704443478@bob","from":"team-lead","reason":"bye","timestamp":"2026-11-15T01:00:43.478Z"}"#;
        let request = Message { from: "team-lead".into(), text: text.into(), summary: None, color: None, ..message };
        let recorded = format!(
            "<teammate-message teammate_id=\"team-lead\">\n{text}\n\nThis is a shutdown request. To approve it, call SendMessage with exactly this input, where \"message\" is a JSON object rather than a string: {{\"to\":\"team-lead\",\"message\":{{\"type\":\"shutdown_response\",\"request_id\":\"shutdown-1794704443478@bob\",\"approve\":true}}}}. Approving ends your process; a plain-text acknowledgment does not shut you down. To decline, for example because you're mid-task, send the same input with \"approve\": false and a \"reason\".\n</teammate-message>"
        );
        assert_eq!(tagged(&request, None), recorded);
    }
}
