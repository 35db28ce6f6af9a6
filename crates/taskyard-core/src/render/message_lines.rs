//! How a message is shown to people.

use super::{Line, Look, Tone, escaping};
use crate::dialect::inbox::read_protocol;
use crate::rules::teams::mailing::Delivery;
use crate::{Idle, Message, Protocol};

/// Returns a message as lines: who, when and what about, and below it what it says.
pub fn message_lines(delivery: &Delivery, look: &Look) -> Vec<Line> {
    let message = &delivery.message;
    let mut head = Line::new().with(Tone::member(message.color.as_deref()), &message.from);
    if let Some(sent) = message.sent() {
        head.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(sent)));
    }
    let said = said_in_words(message);
    if let Some(summary) = message.telling_summary().filter(|summary| !said.starts_with(summary.trim_end_matches('…')))
    {
        head.push(Tone::Dim, look.dot());
        head.push(Tone::Strong, summary);
    }
    if let more @ 1.. = delivery.keys.len().saturating_sub(1) {
        head.push(Tone::Dim, &format!("{}and {more} more of the same", look.dot()));
    }
    let text = escaping::many_lines(said.trim_end()).into_owned();
    let body = text.lines().map(|line| Line::plain(&format!("  {line}")));
    std::iter::once(head).chain(body).collect()
}

/// Returns what a message says, in words also where programs speak to each other.
pub fn said_in_words(message: &Message) -> String {
    match read_protocol(&message.text) {
        None => message.text.clone(),
        Some(Protocol::TaskAssignment { task, subject, assigned_by, .. }) => {
            format!("#{task} {subject} is yours now ({assigned_by} gave it to you)")
        }
        Some(Protocol::IdleNotification(idle)) => idle_in_words(&idle),
        Some(Protocol::ShutdownRequest { request, reason, .. }) => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!(
                "asks you to end{reason}\nagree with `taskyard send --approve {request}`, or go on with `taskyard send --reject \
                 {request} WHY`"
            )
        }
        Some(Protocol::ShutdownApproved { .. }) => "ends, as it was asked to".to_owned(),
        Some(Protocol::ShutdownRejected { reason, .. }) => format!("goes on: {reason}"),
        Some(Protocol::PlanApprovalRequest { request, plan, from, .. }) => format!(
            "shows its plan:\n{plan}\napprove it with `taskyard send --to {from} --approve {request}`, or send it back with \
             `taskyard send --to {from} --reject {request} WHAT TO CHANGE`"
        ),
        Some(Protocol::PlanApprovalResponse { approved: true, .. }) => "approves your plan".to_owned(),
        Some(Protocol::PlanApprovalResponse { feedback, .. }) => {
            format!("sends your plan back: {}", feedback.unwrap_or_default())
        }
        Some(Protocol::Unknown { kind, value }) => format!("{kind}: {value}"),
    }
}

fn idle_in_words(idle: &Idle) -> String {
    let mut words = "has nothing to do".to_owned();
    if let Some(task) = &idle.task {
        let status = idle.status.as_deref().unwrap_or("done");
        words = format!("is through with #{task} ({status})");
    }
    for more in [&idle.summary, &idle.failure, &idle.result].into_iter().flatten().filter(|more| !more.is_empty()) {
        words.push_str(&format!("\n{more}"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::message_lines;
    use crate::Message;
    use crate::render::Look;
    use crate::rules::teams::mailing::Delivery;

    fn shown(text: &str, summary: Option<&str>) -> Vec<String> {
        let message = Message {
            from: "bob".into(),
            text: text.into(),
            summary: summary.map(Into::into),
            timestamp: "2026-11-15T01:02:03.000Z".into(),
            color: Some("blue".into()),
            msg_id: None,
            read: false,
        };
        let delivery = Delivery { keys: vec![message.key(); 3], message };
        message_lines(&delivery, &Look::PIPE).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_are_shown_as_they_are_and_cannot_steer_the_terminal() {
        let lines = shown("one\n\x1b[2Jtwo", Some("hi"));
        assert_eq!(lines[0], "bob · 2026-11-15T01:02:03.000Z · hi · and 2 more of the same");
        assert_eq!(lines[1], "  one");
        assert!(!lines[2].contains('\x1b'));
    }

    #[test]
    fn what_programs_say_is_put_into_words() {
        let request =
            r#"{"type":"shutdown_request","requestId":"r-1","from":"team-lead","reason":"bye","timestamp":"t"}"#;
        assert_eq!(shown(request, None)[1], "  asks you to end: bye");
        let idle = r#"{"type":"idle_notification","from":"bob","timestamp":"t","completedTaskId":"7","completedStatus":"resolved","result":"42"}"#;
        assert_eq!(shown(idle, None)[1..], ["  is through with #7 (resolved)", "  42"]);
    }
}
