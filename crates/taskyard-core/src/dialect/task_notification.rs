//! The block with which the client tells a model that a background command has ended.
//!
//! What is told to whom and how often is not decided here.

use crate::{ClientVersion, Job, JobEnding, JobKind, JobState};

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
            Some(JobEnding::TimedOut(_)) => format!("{what} was stopped: its time was up"),
            _ => format!("{what} was stopped"),
        },
        (JobState::Lost, _) => {
            format!("{what} was lost: the machine or what watched over it ended before it did")
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
        assert_eq!(late, "Background command \"bg fail\" was stopped: its time was up");
        let lost = Job { fate: JobFate::Lost { at: Timestamp(0) }, ..running() };
        assert!(summary(&lost).starts_with("Background command \"bg fail\" was lost"));
        assert!(block(&lost, ClientVersion::V2_1_325).contains("<status>failed</status>"));
        let agent = Job { kind: JobKind::LocalAgent, ..ok() };
        assert!(block(&agent, ClientVersion::V2_1_34).ends_with("Full transcript available at: /tmp/x/b3f0874.output"));
    }
}
