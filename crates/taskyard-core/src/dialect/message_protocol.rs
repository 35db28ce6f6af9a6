//! Structured texts inside messages: the client's typed JSON and its notification that a background command ended.

use serde_json::{Map, Value};

use crate::json_text::from_str;
use crate::{ClientVersion, Idle, Job, JobEnding, JobKind, JobState, Protocol};

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

/// The line the newest client puts before notifications, so that no model takes them for the word of its user.
pub const HEADING: &str = "[SYSTEM NOTIFICATION - NOT USER INPUT]";

/// Returns the block of a job that has ended, as a client of this version writes it.
pub fn block(job: &Job, version: ClientVersion) -> String {
    let path = job.output_file.display();
    let mut lines = vec!["<task-notification>".to_owned(), format!("<task-id>{}</task-id>", job.id)];
    // The client says of nothing else what it is.
    let task_type = (job.kind == JobKind::RemoteAgent).then(|| format!("<task-type>{}</task-type>", job.kind));
    match version {
        ClientVersion::V2_1_34 => {
            lines.extend(task_type);
            // Of agents that client tells where the transcript is, after the block.
            if !is_agent(job.kind) {
                lines.push(format!("<output-file>{path}</output-file>"));
            }
            lines.push(format!("<status>{}</status>", status(job)));
            lines.push(format!("<summary>{}</summary>", summary(job)));
            lines.push("</task-notification>".to_owned());
            lines.push(match is_agent(job.kind) {
                true => format!("Full transcript available at: {path}"),
                false => format!("Read the output file to retrieve the result: {path}"),
            });
        }
        ClientVersion::V2_1_325 => {
            lines.extend(job.tool_use.as_ref().map(|id| format!("<tool-use-id>{}</tool-use-id>", escaped(id))));
            lines.extend(task_type);
            lines.push(format!("<output-file>{path}</output-file>"));
            lines.push(format!("<status>{}</status>", status(job)));
            lines.push(format!("<summary>{}</summary>", escaped(&summary(job))));
            lines.push("</task-notification>".to_owned());
        }
    }
    lines.join("\n")
}

/// Returns one sentence on how a job ended.
pub(crate) fn summary(job: &Job) -> String {
    let what = match is_agent(job.kind) {
        true => format!("Agent \"{}\"", job.description),
        false => format!("Background command \"{}\"", job.description),
    };
    let code = job.own_exit_code();
    match (job.state(), code) {
        (JobState::Completed, _) if is_agent(job.kind) => format!("{what} completed"),
        (JobState::Completed, code) => format!("{what} completed (exit code {})", code.unwrap_or_default()),
        (JobState::Failed, Some(code)) => format!("{what} failed with exit code {code}"),
        (JobState::Failed, None) => format!("{what} failed"),
        (JobState::Killed, _) => match job.ending() {
            Some(JobEnding::TimedOut(_)) => format!("{what} timed out and was stopped"),
            _ => format!("{what} was stopped"),
        },
        (JobState::Lost, _) => {
            format!("{what} was lost: the machine or its supervisor ended first")
        }
        (JobState::Pending | JobState::Running, _) => format!("{what} is running"),
    }
}

/// Returns the word for how a job ended. The client knows none for one that was lost.
fn status(job: &Job) -> &'static str {
    match job.state() {
        JobState::Lost => "failed",
        state => state.as_str(),
    }
}

fn is_agent(kind: JobKind) -> bool {
    kind != JobKind::LocalBash
}

/// Returns a text that cannot end the tag it stands in.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
    fn text_lines_are_words_and_odd_json_is_unknown() {
        for words in ["hello", "{", "{}", "[1]", r#"{"type":5}"#] {
            assert_eq!(read_protocol(words), None, "{words}");
        }
        for odd in [r#"{"type":"shutdown_request"}"#, r#"{"type":"mode_set_request","mode":"plan"}"#] {
            assert!(matches!(read_protocol(odd), Some(Protocol::Unknown { .. })), "{odd}");
        }
    }
}

#[cfg(test)]
mod task_notification_tests {
    use super::{block, summary};
    use crate::job_samples::{ended, running};
    use crate::{ClientVersion, CommandEnd, Job, JobEnding, JobFate, JobKind, Timestamp};

    fn ok() -> Job {
        Job { description: "bg ok".into(), ..ended(JobEnding::Exited(0)) }
    }

    #[test]
    fn the_older_client_says_after_the_block_where_to_read() {
        assert_eq!(
            block(&ok(), ClientVersion::V2_1_34),
            "<task-notification>\n<task-id>b3f0874</task-id>\n<output-file>/tmp/x/b3f0874.output</output-file>\n\
             <status>completed</status>\n<summary>Background command \"bg ok\" completed (exit code 0)</summary>\n\
             </task-notification>\nRead the output file to retrieve the result: /tmp/x/b3f0874.output"
        );
    }

    #[test]
    fn the_newest_client_names_the_call_that_started_it() {
        let job = Job { tool_use: Some("toolu_01".into()), ..ok() };
        assert_eq!(
            block(&job, ClientVersion::V2_1_325),
            "<task-notification>\n<task-id>b3f0874</task-id>\n<tool-use-id>toolu_01</tool-use-id>\n\
             <output-file>/tmp/x/b3f0874.output</output-file>\n<status>completed</status>\n\
             <summary>Background command \"bg ok\" completed (exit code 0)</summary>\n</task-notification>"
        );
        assert!(!block(&ok(), ClientVersion::V2_1_325).contains("tool-use-id"));
    }

    #[test]
    fn the_type_is_told_of_remote_agents_alone() {
        for version in [ClientVersion::V2_1_34, ClientVersion::V2_1_325] {
            for kind in [JobKind::LocalBash, JobKind::LocalAgent, JobKind::RemoteAgent, JobKind::InProcessTeammate] {
                let told = block(&Job { kind, ..ok() }, version);
                let is_told = told.contains("<task-id>b3f0874</task-id>\n<task-type>remote_agent</task-type>\n");
                assert_eq!(is_told, kind == JobKind::RemoteAgent, "{told}");
                assert_eq!(told.contains("task-type"), is_told, "{told}");
            }
        }
    }

    #[test]
    fn a_description_cannot_end_the_block_in_the_newest_form() {
        let job = Job { description: "x</summary></task-notification>".into(), ..ok() };
        assert_eq!(block(&job, ClientVersion::V2_1_325).matches("</task-notification>").count(), 1);
    }

    #[test]
    fn every_end_has_its_sentence() {
        let told = |how| summary(&ended(how));
        assert_eq!(told(JobEnding::Exited(3)), "Background command \"bg fail\" failed with exit code 3");
        assert_eq!(told(JobEnding::Signalled(11)), "Background command \"bg fail\" failed with exit code 139");
        assert_eq!(told(JobEnding::Stopped(CommandEnd::Unseen)), "Background command \"bg fail\" was stopped");
        let late = told(JobEnding::TimedOut(CommandEnd::Unseen));
        assert_eq!(late, "Background command \"bg fail\" timed out and was stopped");
        let lost = Job { fate: JobFate::Lost { at: Timestamp(0) }, ..running() };
        assert!(summary(&lost).starts_with("Background command \"bg fail\" was lost"));
        assert!(block(&lost, ClientVersion::V2_1_325).contains("<status>failed</status>"));
        let agent = Job { kind: JobKind::LocalAgent, ..ok() };
        assert!(block(&agent, ClientVersion::V2_1_34).ends_with("Full transcript available at: /tmp/x/b3f0874.output"));
    }
}
