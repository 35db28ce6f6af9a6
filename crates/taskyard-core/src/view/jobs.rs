//! Background commands as rows.

use crate::render::Tone;
use crate::render::{Line, Look, how_job_ended, job_mark, job_tone};
use crate::{Job, JobFate, JobId, JobState, TaskId, Timestamp};

/// A background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// What it is for.
    pub description: String,
    /// The command as it was typed.
    pub command: String,
    /// How it stands.
    pub state: JobState,
    /// How it ended, in words; none where its state says it all.
    pub how: Option<String>,
    /// When it was started.
    pub started: Timestamp,
    /// When it ended; for one that was lost, when it was last seen.
    pub ended: Option<Timestamp>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The host name of the machine it runs on; `None` for a job of this machine.
    pub machine: Option<String>,
    /// Whether it failed or was lost, and no agent has been told yet.
    pub needs_a_person: bool,
}

impl JobRow {
    /// Looks at a job.
    pub fn of(job: &Job) -> Self {
        let state = job.state();
        let ended = match &job.fate {
            JobFate::Ended { at, .. } => Some(*at),
            JobFate::Lost { .. } => Some(job.last_seen),
            JobFate::Pending | JobFate::Running { .. } => None,
        };
        Self {
            id: job.id.clone(),
            description: job.description.clone(),
            command: job.command_line(),
            state,
            how: how_job_ended(job),
            started: job.started,
            ended,
            task: job.task.clone(),
            machine: job.machine.clone(),
            needs_a_person: matches!(state, JobState::Failed | JobState::Lost) && !job.notified,
        }
    }

    /// Tells whether it runs, or will.
    pub fn is_going_on(&self) -> bool {
        !self.state.is_over()
    }
}

/// Returns a job on one line: how it stands, what it is for, how long it ran or runs, for which task.
pub fn job_row_line(row: &JobRow, look: &Look) -> Line {
    let tone = job_tone(row.state);
    let mut line = Line::new().with(tone, job_mark(row.state, look)).with(Tone::Plain, " ");
    line.push(Tone::Id, &format!("{:<9}", row.id.as_str()));
    line.push(tone, &format!(" {:<9} ", row.state.as_str()));
    line.push(Tone::Plain, &row.description);
    let mut facts: Vec<String> = row.how.clone().into_iter().collect();
    facts.push(match (row.ended, row.state) {
        (Some(seen), JobState::Lost) => format!("last seen {}", look.time(seen)),
        (Some(ended), _) => format!("{} after {}", look.time(ended), super::short_span(ended.0 - row.started.0)),
        (None, _) => look.now.map_or_else(
            || format!("since {}", look.time(row.started)),
            |now| format!("for {}", super::short_span(now.0.saturating_sub(row.started.0))),
        ),
    });
    facts.extend(row.task.as_ref().map(|task| format!("for #{task}")));
    facts.extend(row.machine.as_ref().map(|machine| format!("on {machine}")));
    facts.iter().for_each(|fact| line.push(Tone::Dim, &format!("{}{fact}", look.dot())));
    look.fitted(line)
}

#[cfg(test)]
mod tests {
    use super::{JobRow, job_row_line};
    use crate::Job;
    use crate::job_samples::running;
    use crate::render::Look;

    #[test]
    fn only_other_machines_are_shown() {
        let line = |job: &Job| job_row_line(&JobRow::of(job), &Look::PIPE).to_string();
        assert!(!line(&running()).contains(" on "));
        assert!(line(&Job { machine: Some("atlas".into()), ..running() }).ends_with(" · on atlas"));
    }
}
