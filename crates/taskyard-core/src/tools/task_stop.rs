//! The `TaskStop` tool.

use serde_json::{Value, json};

use super::schema::{Field, Object, Shape, Unknown};
use super::task_output::not_found;
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::System;
use crate::tools::refusing::with_job_id;
use crate::{ClientVersion, Job, JobKind, Rules};

/// Stops a job.
pub const TOOL: Tool = Tool {
    name: "TaskStop",
    description: "Stop a running background command by its id; every process it started ends.",
    input: Object {
        fields: &[
            Field::optional("task_id", Shape::Text),
            Field::optional("shell_id", Shape::Text).saying("Deprecated: task_id"),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[
        Field::required("message", Shape::Text),
        Field::required("task_id", Shape::Text),
        Field::required("task_type", Shape::Text),
        Field::required("command", Shape::Text),
    ]),
    annotations: Annotations::REPLACES,
    scope: Scope::Work,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// Parses an input: the job's id or name, or `None` if none is given.
pub fn read(input: &Value, rules: Rules) -> Result<Option<String>, InputError> {
    let mut fields = TOOL.check(&with_job_id(input, &["taskId", "id", "bash_id"], rules), None, rules)?;
    let (task_id, shell_id) = (fields.text("task_id"), fields.text("shell_id"));
    if !rules.is_client() && task_id.is_some() && shell_id.is_some() && task_id != shell_id {
        TOOL.refuse_clash(&["shell_id"], "task_id", rules)?;
    }
    Ok(task_id.or(shell_id).filter(|job| !job.is_empty()))
}

/// Returns the answer for a stopped job.
pub fn stopped(job: &Job) -> Answer {
    // Jobs that are not commands are identified by their description.
    let command = match job.kind {
        JobKind::LocalBash => job.command_line(),
        _ => job.description.clone(),
    };
    let told = json!({
        "message": format!("Successfully stopped task: {} ({command})", job.id),
        "task_id": job.id.as_str(),
        "task_type": job.kind.as_str(),
        "command": command,
    });
    Answer::new(told.to_string(), told)
}

/// Returns the answer if the job had already ended. The newest client forgets such jobs.
pub fn not_running(named: &str, job: &Job, rules: Rules) -> Answer {
    match rules {
        Rules::Client(version) if version >= ClientVersion::V2_1_325 => not_found(named),
        _ => Answer::error(format!("Task {named} is not running (status: {})", job.state())),
    }
}

/// Returns the answer to a caller that may only stop its own jobs and named another agent's.
pub fn not_own(named: &str) -> Answer {
    Answer::error(format!(
        "Error: task {named} belongs to another agent; stopping it needs a token with the scope `{}`. Nothing was done.",
        Scope::All.as_str()
    ))
}

/// Returns the answer to a call that names no job.
pub fn without_id() -> Answer {
    Answer::error("Missing required parameter: task_id")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{not_running, read, stopped};
    use crate::job_samples::{ended, running};
    use crate::{ClientVersion, CommandEnd, JobEnding, JobKind, Rules};

    #[test]
    fn a_job_is_named_in_the_new_way_or_the_old() {
        let read = |input| read(&input, Rules::Client(ClientVersion::V2_1_34)).unwrap();
        assert_eq!(read(json!({ "task_id": "b1" })).as_deref(), Some("b1"));
        assert_eq!(read(json!({ "shell_id": "b2" })).as_deref(), Some("b2"));
        assert_eq!(read(json!({ "task_id": "b1", "shell_id": "b2" })).as_deref(), Some("b1"));
        assert_eq!(read(json!({})), None);
    }

    #[test]
    fn what_was_stopped_is_told_as_one_line_of_json() {
        assert_eq!(
            stopped(&running()).text,
            r#"{"message":"Successfully stopped task: b3f0874 (make; exit 3)","task_id":"b3f0874","task_type":"local_bash","command":"make; exit 3"}"#
        );
        let agent = super::Job { kind: JobKind::LocalAgent, ..running() };
        assert!(stopped(&agent).text.contains("b3f0874 (bg fail)"));
    }

    #[test]
    fn only_the_newest_client_forgets_what_has_ended() {
        let job = ended(JobEnding::Stopped(CommandEnd::Unseen));
        let told = |rules| not_running("b3f0874", &job, rules).text;
        let killed = "Task b3f0874 is not running (status: killed)";
        assert_eq!(told(Rules::Client(ClientVersion::V2_1_34)), killed);
        assert_eq!(told(Rules::Strict), killed);
        assert_eq!(told(Rules::Client(ClientVersion::V2_1_325)), "No task found with ID: b3f0874");
    }
}
