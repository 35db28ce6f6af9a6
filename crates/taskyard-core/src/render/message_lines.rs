//! Displays of messages and jobs.

use super::{Line, Look, Tone, escaping};
use crate::dialect::inbox::read_protocol;
use crate::rules::teams::mailing::Delivery;
use crate::{Idle, Job, JobEnding, JobFate, JobState, Message, Protocol};

/// Formats a message: sender, time and summary, then the text.
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

/// Returns the text of a message; protocol messages are described in words.
pub fn said_in_words(message: &Message) -> String {
    match read_protocol(&message.text) {
        None => message.text.clone(),
        Some(Protocol::TaskAssignment { task, subject, assigned_by, .. }) => {
            format!("#{task} {subject} is assigned to you (by {assigned_by})")
        }
        Some(Protocol::IdleNotification(idle)) => idle_in_words(&idle),
        Some(Protocol::ShutdownRequest { request, reason, .. }) => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!(
                "asks you to shut down{reason}\nagree with `taskyard send --approve {request}`, or decline with `taskyard \
                 send --reject \
                 {request} WHY`"
            )
        }
        Some(Protocol::ShutdownApproved { .. }) => "is shutting down as requested".to_owned(),
        Some(Protocol::ShutdownRejected { reason, .. }) => format!("declines to shut down: {reason}"),
        Some(Protocol::PlanApprovalRequest { request, plan, from, .. }) => format!(
            "submits its plan:\n{plan}\napprove it with `taskyard send --to {from} --approve {request}`, or reject it with \
             `taskyard send --to {from} --reject {request} WHAT TO CHANGE`"
        ),
        Some(Protocol::PlanApprovalResponse { approved: true, .. }) => "approves your plan".to_owned(),
        Some(Protocol::PlanApprovalResponse { feedback, .. }) => {
            format!("rejects your plan: {}", feedback.unwrap_or_default())
        }
        Some(Protocol::Unknown { kind, value }) => format!("{kind}: {value}"),
    }
}

/// Returns the text of a message for the agent that sent it; protocol messages are described in words.
pub(crate) fn sent_in_words(text: String) -> String {
    match read_protocol(&text) {
        None => text,
        Some(Protocol::TaskAssignment { task, subject, .. }) => format!("gave them #{task} {subject}"),
        Some(Protocol::IdleNotification(idle)) => idle_in_words(&idle),
        Some(Protocol::ShutdownRequest { reason, .. }) => {
            format!("asked them to end{}", reason.map(|reason| format!(": {reason}")).unwrap_or_default())
        }
        Some(Protocol::ShutdownApproved { .. }) => "ended, as they asked".to_owned(),
        Some(Protocol::ShutdownRejected { reason, .. }) => format!("went on: {reason}"),
        Some(Protocol::PlanApprovalRequest { plan, .. }) => format!("showed them this plan:\n{plan}"),
        Some(Protocol::PlanApprovalResponse { approved: true, .. }) => "approved their plan".to_owned(),
        Some(Protocol::PlanApprovalResponse { feedback, .. }) => {
            format!("sent their plan back: {}", feedback.unwrap_or_default())
        }
        Some(Protocol::Unknown { kind, value }) => format!("{kind}: {value}"),
    }
}

fn idle_in_words(idle: &Idle) -> String {
    let mut words = "is idle".to_owned();
    if let Some(task) = &idle.task {
        let status = idle.status.as_deref().unwrap_or("done");
        words = format!("is finished with #{task} ({status})");
    }
    for more in [&idle.summary, &idle.failure, &idle.result].into_iter().flatten().filter(|more| !more.is_empty()) {
        words.push_str(&format!("\n{more}"));
    }
    words
}

/// Returns the colour of a job state, as in the client: yellow running, green completed, red failed, others dim.
pub(crate) fn job_tone(state: JobState) -> Tone {
    match state {
        JobState::Running => Tone::Warning,
        JobState::Completed => Tone::Done,
        JobState::Failed => Tone::Error,
        JobState::Pending | JobState::Killed | JobState::Lost => Tone::Dim,
    }
}

/// Formats a job on one line: id, state, description, ending and time.
pub fn job_line(indent: &str, job: &Job, look: &Look) -> Line {
    let state = job.state();
    let mut line = Line::plain(indent).with(job_tone(state), job_mark(state, look)).with(Tone::Plain, " ");
    line.push(Tone::Id, &format!("{:<9}", job.id.as_str()));
    line.push(job_tone(state), &format!(" {:<9} ", state.as_str()));
    line.push(Tone::Plain, &job.description);
    let mut facts: Vec<String> = how_job_ended(job).into_iter().collect();
    facts.push(match &job.fate {
        JobFate::Ended { at, .. } => look.time(*at),
        // When the loss was noticed is of no interest.
        JobFate::Lost { .. } => format!("last seen {}", look.time(job.last_seen)),
        JobFate::Pending | JobFate::Running { .. } => format!("since {}", look.time(job.started)),
    });
    if let Some(task) = &job.task {
        facts.push(format!("for #{task}"));
    }
    facts.extend(job.machine.as_ref().map(|machine| format!("on {machine}")));
    line.push(Tone::Dim, &format!("{}{}", look.dot(), facts.join(look.dot())));
    look.fitted(line)
}

/// Returns how a job ended, in words; `None` if the state says it all.
pub(crate) fn how_job_ended(job: &Job) -> Option<String> {
    match &job.fate {
        JobFate::Ended { how, .. } => match how {
            JobEnding::Exited(0) | JobEnding::Stopped(_) => None,
            JobEnding::Exited(code) => Some(format!("exit code {code}")),
            JobEnding::Signalled(signal) => Some(format!("signal {signal}")),
            JobEnding::TimedOut(_) => Some("timed out".to_owned()),
            JobEnding::NotStarted { why, .. } => Some(format!("could not be started: {why}")),
        },
        JobFate::Pending | JobFate::Running { .. } | JobFate::Lost { .. } => None,
    }
}

/// Returns the mark of a state.
pub(crate) fn job_mark(state: JobState, look: &Look) -> &'static str {
    match state {
        JobState::Pending => look.either("○", "[ ]"),
        JobState::Running => look.either("●", "[>]"),
        JobState::Completed => look.either("✔", "[x]"),
        JobState::Failed => look.either("✘", "[!]"),
        JobState::Killed => look.either("■", "[-]"),
        JobState::Lost => look.either("?", "[?]"),
    }
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
        assert_eq!(shown(request, None)[1], "  asks you to shut down: bye");
        let idle = r#"{"type":"idle_notification","from":"bob","timestamp":"t","completedTaskId":"7","completedStatus":"resolved","result":"42"}"#;
        assert_eq!(shown(idle, None)[1..], ["  is finished with #7 (resolved)", "  42"]);
    }
}

#[cfg(test)]
mod job_line_tests {
    use super::job_line;
    use crate::render::Look;
    use crate::{
        AgentName, ClientVersion, Job, JobEnding, JobFate, JobKind, JobOutput, JobUsage, ListId, TaskId, Timestamp,
    };

    fn job(fate: JobFate) -> Job {
        Job {
            id: "b3f7a2c".parse().unwrap(),
            kind: JobKind::LocalBash,
            description: "make\x1b[2J".into(),
            name: None,
            fate,
            started: Timestamp(0),
            output_file: "/tmp/x".into(),
            form: ClientVersion::default(),
            output: JobOutput::default(),
            output_offset: 0,
            notified: false,
            task: Some(TaskId::number(7)),
            reopens_task: false,
            command: vec!["make".into()],
            directory: "/".into(),
            agent: AgentName::new("ana").unwrap(),
            list: ListId::new("rocket").unwrap(),
            store: "claude:".into(),
            tool_use: None,
            time_limit: None,
            max_output: 1,
            last_seen: Timestamp(0),
            machine: None,
        }
    }

    #[test]
    fn a_job_is_told_with_how_it_ended_and_what_it_is_for() {
        let ended = |how| JobFate::Ended { how, at: Timestamp(60_000), usage: JobUsage::default() };
        let text = |fate| job_line("", &job(fate), &Look::PIPE).to_string();
        assert_eq!(
            text(ended(JobEnding::Exited(2))),
            "✘ b3f7a2c   failed    make\\x1b[2J · exit code 2 · 1970-01-01T00:01:00.000Z · for #7"
        );
        assert_eq!(
            text(JobFate::Pending),
            "○ b3f7a2c   pending   make\\x1b[2J · since 1970-01-01T00:00:00.000Z · for #7"
        );
        assert_eq!(
            text(JobFate::Lost { at: Timestamp(60_000) }),
            "? b3f7a2c   lost      make\\x1b[2J · last seen 1970-01-01T00:00:00.000Z · for #7"
        );
        let elsewhere = Job { machine: Some("atlas".into()), ..job(JobFate::Pending) };
        assert_eq!(
            job_line("", &elsewhere, &Look::PIPE).to_string(),
            "○ b3f7a2c   pending   make\\x1b[2J · since 1970-01-01T00:00:00.000Z · for #7 · on atlas"
        );
    }
}
