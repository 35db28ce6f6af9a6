//! The `TaskRun` tool.

use std::time::Duration;

use serde_json::{Value, json};

use super::refusing::{Surroundings, explain};
use super::schema::{Field, Object, Shape, Unknown};
use super::{Annotations, Answer, InputError, Scope, Tool, ToolSet};
use crate::rules::hooks::System;
use crate::rules::refusal::Refusal;
use crate::tools::refusing::task_id;
use crate::{ClientVersion, Job, Rules, TaskId};

/// The tool under strict rules.
pub const TOOL: Tool = Tool {
    name: "TaskRun",
    description: "Run a shell command in the background: for builds, tests and servers that take longer than you want to \
        wait. It outlives this session. You are told when it ends; TaskOutput shows what it wrote, TaskStop ends it.",
    input: Object {
        fields: &[
            Field::required("command", Shape::FilledText("Command cannot be empty")),
            Field::optional("description", Shape::Text).saying("A few words"),
            Field::optional("task", Shape::Text).saying("Id of the task it is run for"),
            Field::optional("timeout", Shape::Number { minimum: 1, maximum: LONGEST }).saying("ms until it is ended"),
        ],
        unknown: Unknown::Refused,
    },
    output: Object::answer(&[Field::required("task_id", Shape::Text), Field::required("output_file", Shape::Text)]),
    annotations: Annotations { read_only: false, destructive: true, idempotent: false },
    scope: Scope::All,
    set: ToolSet::Core,
    system: System::Tasks,
};

/// The tool under the rules of 2.1.34, where no answer reports that a job has ended.
const OLD_TOOL: Tool = Tool {
    description: "Run a shell command in the background: for builds, tests and servers that take longer than you want to \
        wait. It outlives this session. TaskOutput shows whether it has ended and what it wrote, TaskStop ends it.",
    ..TOOL
};

/// The tool under the rules of 2.1.325, which has no `TaskOutput`.
const NEW_TOOL: Tool = Tool {
    description: "Run a shell command in the background: for builds, tests and servers that take longer than you want to \
        wait. It outlives this session. The answer names the file it writes to; read that file to see what it wrote. TaskStop \
        ends it.",
    ..TOOL
};

/// Returns the variant of the tool that these rules use.
pub(crate) const fn tool(rules: Rules) -> &'static Tool {
    match rules {
        Rules::Strict => &TOOL,
        Rules::Client(ClientVersion::V2_1_34) => &OLD_TOOL,
        Rules::Client(ClientVersion::V2_1_325) => &NEW_TOOL,
    }
}

/// The maximum timeout in milliseconds: thirty days.
const LONGEST: i64 = 30 * 24 * 3600 * 1000;

/// A checked input of `TaskRun`.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// The shell command.
    pub command: String,
    /// A short description.
    pub description: Option<String>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The timeout after which it is stopped.
    pub time_limit: Option<Duration>,
}

/// Parses an input.
pub fn read(input: &Value, rules: Rules) -> Result<TaskRun, InputError> {
    let mut fields = TOOL.check(input, None, rules)?;
    let limit = fields.take("timeout").and_then(|limit| limit.as_f64());
    Ok(TaskRun {
        command: fields.required_text("command"),
        description: fields.text("description").filter(|description| !description.trim().is_empty()),
        task: fields.text("task").map(|task| task_id(task, rules)),
        time_limit: limit.and_then(|limit| Duration::try_from_secs_f64(limit / 1000.0).ok()),
    })
}

/// Returns the answer for a started job, in the wording of the client's `Bash`.
pub fn started(job: &Job, rules: Rules) -> Answer {
    let path = job.output_file.display();
    let mut text = format!("Command running in background with ID: {}. Output is being written to: {path}", job.id);
    if rules.client_version() >= ClientVersion::V2_1_325 {
        text.push_str(". You will be notified when it completes. To check interim output, use Read on that file path.");
    }
    Answer::new(text, json!({ "task_id": job.id.as_str(), "output_file": path.to_string() }))
}

/// Returns the answer if its task does not exist.
pub fn refused(refusal: &Refusal, around: &Surroundings<'_>) -> Answer {
    Answer::error(explain(refusal, around))
}

/// Returns the answer if it could not be started.
pub fn not_started(why: &str) -> Answer {
    Answer::error(format!("Error: not started: {why}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{TaskRun, read, started};
    use crate::job_samples::running;
    use crate::{ClientVersion, Rules, TaskId};

    #[test]
    fn a_command_comes_with_what_it_is_for() {
        let input = json!({ "command": "make", "description": " ", "task": "#7", "timeout": 1500 });
        let run = TaskRun {
            command: "make".into(),
            description: None,
            task: Some(TaskId::number(7)),
            time_limit: Some(Duration::from_millis(1500)),
        };
        assert_eq!(read(&input, Rules::Strict), Ok(run));
        assert!(read(&json!({ "command": "" }), Rules::Strict).is_err());
        assert!(read(&json!({}), Rules::Strict).is_err());
    }

    #[test]
    fn what_runs_is_told_in_the_words_of_each_client() {
        let old = "Command running in background with ID: b3f0874. Output is being written to: /tmp/x/b3f0874.output";
        assert_eq!(started(&running(), Rules::Client(ClientVersion::V2_1_34)).text, old);
        let new = format!(
            "{old}. You will be notified when it completes. To check interim output, use Read on that file path."
        );
        assert_eq!(started(&running(), Rules::Client(ClientVersion::V2_1_325)).text, new);
        assert_eq!(started(&running(), Rules::Strict).text, new);
    }
}
