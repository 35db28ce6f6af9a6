//! One job on one line.

use crate::{Job, JobEnding, JobFate, JobState};

use super::{Line, Look, Tone};

/// Returns the colour of a state, the client's: yellow at work, green completed, red failed, others dim.
pub(crate) fn job_tone(state: JobState) -> Tone {
    match state {
        JobState::Running => Tone::Warning,
        JobState::Completed => Tone::Done,
        JobState::Failed => Tone::Error,
        JobState::Pending | JobState::Killed | JobState::Lost => Tone::Dim,
    }
}

/// Returns a job on one line: id, state, what it is for, how it ended, since when.
pub fn job_line(indent: &str, job: &Job, look: &Look) -> Line {
    let state = job.state();
    let mut line = Line::plain(indent).with(job_tone(state), job_mark(state, look)).with(Tone::Plain, " ");
    line.push(Tone::Id, &format!("{:<9}", job.id.as_str()));
    line.push(job_tone(state), &format!(" {:<9} ", state.as_str()));
    line.push(Tone::Plain, &job.description);
    let mut facts: Vec<String> = how_job_ended(job).into_iter().collect();
    facts.push(match &job.fate {
        JobFate::Ended { at, .. } => look.time(*at),
        // When that was found out is of no interest.
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

/// Returns how a job ended, in words; none where its state says it all.
pub(crate) fn how_job_ended(job: &Job) -> Option<String> {
    match &job.fate {
        JobFate::Ended { how, .. } => match how {
            JobEnding::Exited(0) | JobEnding::Stopped(_) => None,
            JobEnding::Exited(code) => Some(format!("exit code {code}")),
            JobEnding::Signalled(signal) => Some(format!("signal {signal}")),
            JobEnding::TimedOut(_) => Some("its time was up".to_owned()),
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
