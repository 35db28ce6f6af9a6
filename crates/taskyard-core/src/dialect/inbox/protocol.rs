//! What programs say inside the text of a message: compact JSON with a `type`.

use serde_json::{Map, Value};

use crate::json_text::from_str;
use crate::{Idle, Protocol};

/// Reads what a program says in a text; none where the text is words.
pub fn read_protocol(text: &str) -> Option<Protocol> {
    if !text.starts_with('{') {
        return None;
    }
    let value: Value = from_str(text).ok()?;
    let kind = value.get("type")?.as_str()?.to_owned();
    Some(known(&kind, &value).unwrap_or(Protocol::Unknown { kind, value }))
}

fn known(kind: &str, value: &Value) -> Option<Protocol> {
    let maybe = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let text = |key: &str| maybe(key).unwrap_or_default();
    let request = || maybe("requestId").or_else(|| maybe("request_id"));
    Some(match kind {
        "task_assignment" => Protocol::TaskAssignment {
            task: maybe("taskId")?,
            subject: text("subject"),
            description: text("description"),
            assigned_by: text("assignedBy"),
            timestamp: text("timestamp"),
        },
        "idle_notification" => Protocol::IdleNotification(Idle {
            from: maybe("from")?,
            timestamp: text("timestamp"),
            reason: maybe("idleReason"),
            summary: maybe("summary"),
            task: maybe("completedTaskId"),
            status: maybe("completedStatus"),
            failure: maybe("failureReason"),
            result: maybe("result"),
        }),
        "shutdown_request" => Protocol::ShutdownRequest {
            request: request()?,
            from: text("from"),
            reason: maybe("reason"),
            timestamp: text("timestamp"),
        },
        "shutdown_approved" => Protocol::ShutdownApproved {
            request: request()?,
            from: text("from"),
            timestamp: text("timestamp"),
            pane: maybe("paneId"),
            backend: maybe("backendType"),
        },
        "shutdown_rejected" => Protocol::ShutdownRejected {
            request: request()?,
            from: text("from"),
            reason: text("reason"),
            timestamp: text("timestamp"),
        },
        "plan_approval_request" => Protocol::PlanApprovalRequest {
            request: request()?,
            from: text("from"),
            plan: maybe("planContent").or_else(|| maybe("plan")).unwrap_or_default(),
            timestamp: text("timestamp"),
        },
        "plan_approval_response" => Protocol::PlanApprovalResponse {
            request: request()?,
            approved: value.get("approved").and_then(Value::as_bool)?,
            feedback: maybe("feedback"),
            timestamp: text("timestamp"),
            permission_mode: maybe("permissionMode"),
        },
        _ => return None,
    })
}

/// Writes what a program says, keys in the client's order.
pub fn write_protocol(protocol: &Protocol) -> String {
    let said = match protocol {
        Protocol::TaskAssignment { task, subject, description, assigned_by, timestamp } => Said::new("task_assignment")
            .with("taskId", task)
            .with("subject", subject)
            .with("description", description)
            .with("assignedBy", assigned_by)
            .with("timestamp", timestamp),
        Protocol::IdleNotification(idle) => Said::new("idle_notification")
            .with("from", &idle.from)
            .with("timestamp", &idle.timestamp)
            .maybe("idleReason", idle.reason.as_ref())
            .maybe("summary", idle.summary.as_ref())
            .maybe("completedTaskId", idle.task.as_ref())
            .maybe("completedStatus", idle.status.as_ref())
            .maybe("failureReason", idle.failure.as_ref())
            .maybe("result", idle.result.as_ref()),
        Protocol::ShutdownRequest { request, from, reason, timestamp } => Said::new("shutdown_request")
            .with("requestId", request)
            .with("from", from)
            .maybe("reason", reason.as_ref())
            .with("timestamp", timestamp),
        Protocol::ShutdownApproved { request, from, timestamp, pane, backend } => Said::new("shutdown_approved")
            .with("requestId", request)
            .with("from", from)
            .with("timestamp", timestamp)
            .maybe("paneId", pane.as_ref())
            .maybe("backendType", backend.as_ref()),
        Protocol::ShutdownRejected { request, from, reason, timestamp } => Said::new("shutdown_rejected")
            .with("requestId", request)
            .with("from", from)
            .with("reason", reason)
            .with("timestamp", timestamp),
        Protocol::PlanApprovalRequest { request, from, plan, timestamp } => Said::new("plan_approval_request")
            .with("from", from)
            .with("timestamp", timestamp)
            .with("planContent", plan)
            .with("requestId", request),
        Protocol::PlanApprovalResponse { request, approved, feedback, timestamp, permission_mode } => {
            let mut said = Said::new("plan_approval_response").with("requestId", request);
            said.0.insert("approved".to_owned(), Value::Bool(*approved));
            said.maybe("feedback", feedback.as_ref())
                .with("timestamp", timestamp)
                .maybe("permissionMode", permission_mode.as_ref())
        }
        Protocol::Unknown { value, .. } => return value.to_string(),
    };
    Value::Object(said.0).to_string()
}

/// An object whose keys stay in the order in which they were said.
struct Said(Map<String, Value>);

impl Said {
    fn new(kind: &str) -> Self {
        Self(Map::new()).with("type", kind)
    }

    fn with(mut self, key: &str, value: &str) -> Self {
        self.0.insert(key.to_owned(), Value::String(value.to_owned()));
        self
    }

    fn maybe(self, key: &str, value: Option<&String>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{read_protocol, write_protocol};
    use crate::Protocol;

    #[test]
    fn every_recorded_message_is_written_as_it_was_read() {
        for text in [
            r#"{"type":"task_assignment","taskId":"1","subject":"T1","description":"d","assignedBy":"team-lead","timestamp":"2026-11-15T00:56:34.365Z"}"#,
            r#"{"type":"shutdown_request","requestId":"shutdown-1794704194621@bob","from":"team-lead","reason":"bye","timestamp":"2026-11-15T00:56:34.621Z"}"#,
            r#"{"type":"shutdown_approved","requestId":"x","from":"teammate","timestamp":"2026-11-15T00:56:34.655Z"}"#,
            r#"{"type":"shutdown_approved","requestId":"N","from":"bob","timestamp":"t","paneId":"in-process","backendType":"in-process"}"#,
            r#"{"type":"shutdown_rejected","requestId":"x","from":"teammate","reason":"busy","timestamp":"2026-11-15T00:56:34.860Z"}"#,
            r#"{"type":"idle_notification","from":"bob","timestamp":"2026-11-15T00:57:03.859Z","idleReason":"available"}"#,
            r#"{"type":"idle_notification","from":"bob","timestamp":"t","idleReason":"available","result":"bob got 1"}"#,
            r#"{"type":"plan_approval_response","requestId":"x","approved":true,"timestamp":"t","permissionMode":"default"}"#,
            r#"{"type":"permission_request","zz":{"b":1,"a":[2]}}"#,
        ] {
            let read = read_protocol(text).unwrap();
            assert_eq!(write_protocol(&read), text);
        }
    }

    #[test]
    fn what_is_no_protocol_message_is_words_and_what_is_odd_is_unknown() {
        for words in ["hello", "{", "{}", "[1]", r#"{"type":5}"#] {
            assert_eq!(read_protocol(words), None, "{words}");
        }
        for odd in [r#"{"type":"shutdown_request"}"#, r#"{"type":"mode_set_request","mode":"plan"}"#] {
            assert!(matches!(read_protocol(odd), Some(Protocol::Unknown { .. })), "{odd}");
        }
    }
}
